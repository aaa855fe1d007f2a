"""Where `--mockbroker=…` says that tests find their broker, and what there is not to be had there.

Called by `plugin`. With xdist each worker has a broker of its own where one is started; one that
runs already is shared, and then a test takes away what begins with its own prefix.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.testing.broker_views import BrokerViews
    from mockbroker.testing.mock_broker import MockBroker

NEEDS: Final = {
    "client_metrics": "metrics that clients push",
    "clock": "a time that can be moved",
    "cluster": "brokers that can be killed",
    "delegation_tokens": "delegation tokens that the broker makes",
    "faults": "fault rules",
    "journal": "the journal of requests",
    "metadata_log": "the metadata log",
    "metrics": "the broker's own metrics",
    "own_broker": "a broker of the test's own, with its arguments",
    "reset": "a reset",
    "snapshots": "snapshots",
    "transactions": "a look at transactional ids",
}
"""What a test can need that not every broker has: the words of the marker `mockbroker_needs`."""
_OF_KAFKA: Final = frozenset(NEEDS)
_OF_ADMIN_API: Final = frozenset({"metadata_log"})
_OF_SHARED: Final = frozenset({"clock", "cluster", "faults", "metrics", "reset", "snapshots"})
_FORMS: Final = "in-process, process, container[:IMAGE], http://HOST:PORT, kafka://HOST:PORT"
_ADDRESS: Final = re.compile(r"[^/\s:]+:\d+|\[[^\]]+\]:\d+")


def lacks(where: str) -> frozenset[str]:
    """What is not to be had there, of `NEEDS`."""
    kind = _kind(where)
    if kind == "kafka":
        return _OF_KAFKA
    if kind == "http":
        return _OF_ADMIN_API | {"own_broker"} | (_OF_SHARED if _has_workers() else set())
    if kind == "container":
        return _OF_ADMIN_API | {"own_broker"}
    return _OF_ADMIN_API if kind == "process" else frozenset()


def is_shared(where: str) -> bool:
    """Whether other workers use the same broker."""
    return _kind(where) in ("http", "kafka") and _has_workers()


class Opened(NamedTuple):
    """A broker; `restart` makes it a new one, None where it costs too much or others use it."""

    broker: BrokerViews
    restart: Callable[[], object] | None = None


@contextmanager
def opened(where: str, options: dict[str, Any]) -> Iterator[Opened]:
    """The broker of a session, or of one test; `options` are those of one that is started."""
    kind = _kind(where)
    if kind == "kafka":
        from mockbroker.testing.kafka.broker import Kafka

        parts = urlsplit(where if "://" in where else f"kafka://{where}")
        yield Opened(Kafka.connect(parts.netloc, config=dict(parse_qsl(parts.query))))
    elif kind == "http":
        from mockbroker.testing.mock_broker import MockBroker

        yield Opened(MockBroker.connect(where, token=os.environ.get("MOCKBROKER_ADMIN_TOKEN")))
    elif kind == "process":
        from mockbroker.testing.remote.process import BrokerProcess

        process = BrokerProcess(**options)
        with process as broker:
            yield Opened(broker, process.restart)
    elif kind == "container":
        yield from _contained(where.partition(":")[2], options)
    else:
        from mockbroker.testing.mock_broker import MockBroker

        with MockBroker(**options) as local:
            yield Opened(local, partial(_start_anew, local))


def _start_anew(broker: MockBroker) -> None:
    broker.stop()
    broker.start()


def _contained(image: str, options: dict[str, Any]) -> Iterator[Opened]:
    # A room above this one, and an extra: whoever asks for a container has it.
    from importlib import import_module

    kind = import_module("mockbroker.testcontainers").MockBrokerContainer
    arguments = {"topics": options.get("topics"), "config": options.get("config")}
    with kind(**({"image": image} if image else {}), **arguments) as container:
        yield Opened(container, container.restart)


def prefix_of(item: pytest.Item) -> str:
    """Names that begin so are this test's and nobody else's."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", item.name).strip("-")[:40]
    return f"{name}-{secrets.token_hex(3)}-"


def check_needs(item: pytest.Item, where: str) -> None:
    """Skip a test that needs what is not to be had there, by the name of that."""
    missing = lacks(where)
    for need in _needs(item):
        if need not in NEEDS:
            allowed = ", ".join(NEEDS)
            raise pytest.UsageError(f"mockbroker_needs: {need!r} is unknown; allowed: {allowed}")
        if need in missing:
            pytest.skip(f"needs {need}: {NEEDS[need]}, which --mockbroker={where} has not")


def _needs(item: pytest.Item) -> Iterator[str]:
    for marker in item.iter_markers("mockbroker_needs"):
        yield from marker.args
    if item.get_closest_marker("mockbroker_faults") is not None:
        yield "faults"
    if any(marker.kwargs for marker in item.iter_markers("mockbroker")):
        yield "own_broker"


def _kind(where: str) -> str:
    if where in ("", "in-process"):
        return "in-process"
    if where == "process":
        return where
    if where.partition(":")[0] == "container":
        return "container"
    if where.startswith(("http://", "https://")):
        return "http"
    if where.startswith("kafka://") or all(map(_ADDRESS.fullmatch, where.split(","))):
        return "kafka"
    raise pytest.UsageError(f"--mockbroker: {where!r}; allowed: {_FORMS}")


def _has_workers() -> bool:
    return "PYTEST_XDIST_WORKER" in os.environ
