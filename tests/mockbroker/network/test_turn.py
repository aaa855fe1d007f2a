"""A turn of the loop: over after its time, begun anew, without end for who waits."""

from __future__ import annotations

import pytest

from mockbroker.network import turn
from mockbroker.network.turn import TURN_SECONDS, Turn


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(turn, "monotonic", lambda: now[0])
    return now


def test_it_is_over_after_its_time(seconds: list[float]) -> None:
    own = Turn()
    assert not own.over()
    seconds[0] += TURN_SECONDS / 2
    assert not own.over()
    seconds[0] += TURN_SECONDS
    assert own.over()
    assert own.over()


def test_the_next_one_begins_with_its_first_question(seconds: list[float]) -> None:
    own = Turn()
    assert not own.over()
    seconds[0] += 2 * TURN_SECONDS
    own.ends = 0.0
    assert not own.over()


def test_it_has_no_end_while_somebody_in_the_process_acts(seconds: list[float]) -> None:
    own = Turn()
    own.unlimited = True
    assert not own.over()
    seconds[0] += 2 * TURN_SECONDS
    assert not own.over()
    own.unlimited = False
    assert own.over()
