"""The command runs one seed with its story, or many with a line of progress."""

from __future__ import annotations

import pytest

from mockbroker.log.unified_log import UnifiedLog
from simulation import __main__ as command
from simulation.simulation import simulate

pytestmark = pytest.mark.sim


def break_the_log(patch: pytest.MonkeyPatch) -> None:
    """Every high watermark is that of a log without records."""
    patch.setattr(UnifiedLog, "advance_high_watermark", lambda _log, _offset: False)


def test_one_seed_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seed", "2"]) == 0
    out = capsys.readouterr().out
    assert "0 violations" in out
    assert f"trace {simulate(2).trace_hash}" in out


def test_many_seeds_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seeds", "2..4"]) == 0
    assert "2/2 seeds, failed: []" in capsys.readouterr().out


def test_a_cluster_is_run_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--cluster", "--seeds", "3:4"]) == 0
    assert "1/1 seeds" in capsys.readouterr().out
    assert command.main(["--cluster", "--seed", "3"]) == 0
    assert "python -m simulation --cluster --seed 3" in capsys.readouterr().out


def test_a_seed_that_breaks_no_rule_does_not_shrink(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seed", "2", "--shrink"]) == 0
    assert "breaks no rule" in capsys.readouterr().out


def test_a_failing_seed_prints_as_a_test(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_the_log(monkeypatch)
    assert command.main(["--seed", "3", "--shrink"]) == 1
    out, err = capsys.readouterr()
    assert "def test_seed_3" in out
    assert "0 steps became 0" in err
