"""The broker's own thread: what it leaves behind, and what it does not."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.server.launch import RunningBroker, launch
from mockbroker.testing import broker_thread

if TYPE_CHECKING:
    from mockbroker.server.settings import Settings


def test_a_start_that_takes_too_long_leaves_nothing_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = set(threading.enumerate())
    gave_up = threading.Event()

    async def late(settings: Settings) -> RunningBroker:
        while not gave_up.is_set():  # noqa: ASYNC110 -- an event of another thread
            await asyncio.sleep(0)
        return await launch(settings)

    monkeypatch.setattr(broker_thread, "launch", late)
    monkeypatch.setattr(broker_thread, "START_TIMEOUT_SECONDS", 0.0)
    with pytest.raises(TimeoutError, match="did not start"):
        MockBroker().start()
    gave_up.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
