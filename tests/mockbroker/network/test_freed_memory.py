"""What logs gave back is handed on to the machine, once for many deletions."""

from __future__ import annotations

import asyncio

import pytest

from mockbroker.network import freed_memory
from mockbroker.network.freed_memory import TRIM_BYTES, FreedMemory


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []
    monkeypatch.setattr(freed_memory, "TRIM_SECONDS", 0)
    monkeypatch.setattr(freed_memory, "trim", lambda: made.append(1))
    return made


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_is_handed_on_once_when_there_is_much(trims: list[int]) -> None:
    freed = FreedMemory()
    freed.gave_back(TRIM_BYTES - 1)
    await turns()
    assert trims == []
    freed.gave_back(1)
    freed.gave_back(TRIM_BYTES)
    await turns()
    assert trims == [1]
    freed.gave_back(TRIM_BYTES - 1)
    await turns()
    assert trims == [1]
    freed.gave_back(TRIM_BYTES)
    freed.stop()
    freed.stop()
    await turns()
    assert trims == [1]


def test_any_library_may_be_asked() -> None:
    freed_memory.trim()
