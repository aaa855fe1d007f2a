"""Many seeds are counted, failures explained, and processes change nothing but the time."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import pytest

from mockbroker.log.unified_log import UnifiedLog
from simulation import many
from simulation.stage import Stage

pytestmark = pytest.mark.sim


def test_processes_change_nothing_but_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for jobs in (1, 2):
        assert many.run_seeds(range(2, 5), jobs=jobs) == 0
        told.append(re.findall("(?:did|had): .*", capsys.readouterr().out))
    assert told[0] == told[1]
    assert "answers" in told[0][0]


def test_a_failed_seed_is_explained_and_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(UnifiedLog, "advance_high_watermark", lambda _log, _offset: False)
    assert many.run_seeds(range(3, 4)) == 1
    out = capsys.readouterr().out
    assert "failed: [3]" in out
    assert "run it again: python -m simulation --seed 3" in out
    assert "--seed 3 --shrink" in out


@pytest.mark.parametrize("cluster", [False, True])
def test_a_run_that_is_over_takes_no_memory(cluster: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand seeds in one process each would have left some megabytes."""
    stages: list[weakref.ref[Stage]] = []
    begin = Stage.__init__

    def note(self: Stage, *args: Any, **kwargs: Any) -> None:
        stages.append(weakref.ref(self))
        begin(self, *args, **kwargs)

    monkeypatch.setattr(Stage, "__init__", note)
    for seed in (3, 4):
        assert many.run_one(seed, cluster=cluster).failure is None
        assert stages
        assert all(stage() is None for stage in stages)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_what_was_there_before_is_not_looked_through(
    is_frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: counts.append(gc.get_freeze_count()))
    (gc.freeze if is_frozen else gc.unfreeze)()
    try:
        many.run_one(3, cluster=False)
        assert (gc.get_freeze_count() > 0) == is_frozen
    finally:
        gc.freeze()  # as it is for all tests
    assert len(counts) == 1
    assert counts[0] > 0


def test_what_a_seed_raises_is_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("simulation.simulation.Run.live", fall)
    outcome = many.run_one(3, cluster=False)
    assert outcome.failure is not None
    assert outcome.failure.endswith("ZeroDivisionError: on purpose")
