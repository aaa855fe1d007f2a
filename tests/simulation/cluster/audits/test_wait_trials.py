"""What parked fetches wait for is asked, and what is told wrong noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.replica.delayed_fetch import COMPLETE
from simulation.cluster.audits import wait_trials
from simulation.cluster.audits.wait_trials import WaitTrials
from tests.support.trials import tried


def found() -> str:
    return tried(WaitTrials(Random(1)), 200, 3)


def test_nothing_is_wrong() -> None:
    assert found() == ""


@pytest.mark.parametrize("told", [COMPLETE, 0, 1 << 20])
def test_what_is_told_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch, told: int) -> None:
    monkeypatch.setattr(wait_trials, "bytes_available", lambda *_: told)
    assert f"{told} are there, not" in found()
