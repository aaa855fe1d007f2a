"""The file of `--mockbroker-report`: the console on what a broker holds when a test has failed.

Called by `plugin` for each broker of a failed test. It is read only and needs no server; a broker
in the test's process is asked in its loop, one elsewhere over its admin API. An Apache Kafka has
neither.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from mockbroker.testing.mock_broker import MockBroker
from mockbroker.testing.remote.broker import RemoteViews

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.admin.client import AdminClient
    from mockbroker.testing.broker_views import BrokerViews

_ANSWER_SECONDS: Final = 60.0
_MAX_NAME: Final = 150


def lacks() -> str | None:
    """What a broker in this process lacks to be asked; None when all is installed."""
    from mockbroker.admin.listener import missing_extra

    return missing_extra()


def write(
    folder: str,
    broker: BrokerViews,
    test: str,
    failure: str,
    sections: Sequence[tuple[str, str]] = (),
) -> str | None:
    """Write the page of a test that failed; its path, None where there is nothing to show.

    `sections` are those of pytest's report, title and text: what the test printed and logged.
    """
    told = [{"title": title, "text": text} for title, text in sections if text.strip()]
    facts = {"test": test, "failure": failure, "sections": told}
    found = _captured(broker, facts)
    if found is None:
        return None
    from mockbroker.admin.console.page import whole_page

    os.makedirs(folder, exist_ok=True)
    path = _free_path(folder, test)
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole_page(found))
    return path


def _captured(broker: BrokerViews, facts: Mapping[str, object]) -> dict[str, Any] | None:
    import asyncio

    from mockbroker.admin.console.capture import captured, in_process

    if isinstance(broker, RemoteViews):
        caller = broker._caller  # noqa: SLF001 -- one thing with the views
        since = caller.journal_since

        async def get(path: str) -> Any:
            return caller.call(lambda client: _found(client, path))

        return asyncio.run(captured(get, since, facts))
    if not isinstance(broker, MockBroker):
        return None
    bridge = broker._bridged()  # noqa: SLF001 -- as above
    loop = bridge.running.loop
    if not loop.is_running() or bridge.is_inside():
        return None
    asking = captured(in_process(bridge.running), bridge.journal_since, facts)
    return asyncio.run_coroutine_threadsafe(asking, loop).result(_ANSWER_SECONDS)


def _found(client: AdminClient, path: str) -> Any:
    from mockbroker.admin.client import AdminApiError

    try:
        return client.find(path)
    except AdminApiError as error:
        if error.status in (404, 409, 422):
            return None
        raise


def _free_path(folder: str, test: str) -> str:
    """By the test's name; a number behind it where a test has several brokers, or ran before."""
    name = re.sub(r"[^\w.\-\[\]]+", "-", test).strip("-.")[-_MAX_NAME:] or "test"
    path = os.path.join(folder, f"{name}.html")
    number = 2
    while os.path.exists(path):
        path = os.path.join(folder, f"{name}-{number}.html")
        number += 1
    return path
