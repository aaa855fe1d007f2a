"""The command runs one seed with its story, or many with a line of progress."""

from __future__ import annotations

import pytest

from simulation import __main__ as command
from simulation.runner import Report
from simulation.simulation import simulate

pytestmark = pytest.mark.sim


def test_one_seed_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seed", "2"]) == 0
    out = capsys.readouterr().out
    assert "0 violations" in out
    assert f"trace {simulate(2).trace_hash}" in out


def test_many_seeds_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seeds", "2:4"]) == 0
    assert "\r2/2 seeds" in capsys.readouterr().out


def test_a_failed_seed_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(seed: int) -> Report:
        report = simulate(seed)
        report.violations.append("broken on purpose")
        return report

    monkeypatch.setattr(command, "simulate", failing)
    assert command.main(["--seeds", "2:3"]) == 1
    out = capsys.readouterr().out
    assert "broken on purpose" in out
    assert "failed: [2]" in out


def test_a_cluster_is_run_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--cluster", "--seeds", "3:4"]) == 0
    assert "1/1 seeds" in capsys.readouterr().out
    assert command.main(["--cluster", "--seed", "3"]) == 0
    assert "python -m simulation --cluster --seed 3" in capsys.readouterr().out
