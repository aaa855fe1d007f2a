"""Keys of erasers are tombstones in the end, and a cleaner that takes these early is noticed."""

from __future__ import annotations

import pytest

from mockbroker.log.cleaner import _Cleaning
from simulation.cluster.plan import COMPACTED
from tests.simulation.cluster.test_storage import log_of, storage_run

pytestmark = pytest.mark.sim


def violations(*, tombstones_stay: bool) -> list[str]:
    run, crew = storage_run("compaction")
    run.plan.tombstones_stay = tombstones_stay
    run.live()
    assert crew.counts()["erased"] > 5
    assert crew.counts()["compacted away"]
    truth, log = run.truth.find(COMPACTED, 0), log_of(crew, COMPACTED, 0, 1)
    assert truth is not None
    erased = [each for each in truth.mirrors[1].entries if each and each[1].startswith(b"eraser")]
    assert len(erased) > 10
    assert log.config.delete_retention_ms == (86_400_000 if tombstones_stay else 100)
    return run.world.violations


def test_a_cleaner_by_the_rules_is_let_pass() -> None:
    assert violations(tombstones_stay=True) == []
    assert violations(tombstones_stay=False) == []


def test_tombstones_that_go_at_once_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stays = _Cleaning._stays
    monkeypatch.setattr(
        _Cleaning,
        "_stays",
        lambda self, record, _: record.value is not None and stays(self, record, 0),
    )
    assert violations(tombstones_stay=False) == []
    assert "lost the last value of b'eraser0:" in violations(tombstones_stay=True)[0]
