"""Waits that look again and again."""

from __future__ import annotations

import pytest

from mockbroker import WaitTimeoutError
from mockbroker.testing.polling import AsyncPollingBridge, PollingBridge


def bridge() -> PollingBridge[list[int]]:
    return PollingBridge([], (0.001, 0.002))


def grown(source: list[int]) -> int | None:
    source.append(len(source))
    return sum(source) if len(source) > 4 else None


def test_a_wait_looks_until_there_is_something() -> None:
    assert bridge().wait(grown, 10, str, begin=[lambda source: source.append(7)]) == 17


def test_a_wait_in_vain_explains() -> None:
    with pytest.raises(WaitTimeoutError, match="there is nothing"):
        bridge().wait(lambda _: None, 0, lambda _: "there is nothing")


def test_a_call_is_given_the_source() -> None:
    assert bridge().call(len) == 0


async def test_coroutines_have_the_same() -> None:
    blocking = bridge()
    blocking.journal_since = 7
    awaited = AsyncPollingBridge(blocking)
    assert await awaited.call(len) == 0
    assert await awaited.wait(grown, 10, str) == 10
    assert awaited.journal_since == 7
