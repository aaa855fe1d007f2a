"""Each room is asked in a run, and what it finds is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn import verification
from simulation.cluster.audits.crew import AuditCrew
from tests.support.transaction_run import transaction_run

if TYPE_CHECKING:
    import pytest


def test_each_room_is_asked() -> None:
    run, _ = transaction_run(transactors=2, processors=1, seed=3)
    run.live()
    (audits,) = (each for each in run.crews if isinstance(each, AuditCrew))
    probes = audits.transaction_probes
    rooms = probes.decisions, probes.shards, probes.markers, probes.verifications
    assert all(room.asked for room in rooms)
    assert run.world.violations == []


def test_what_a_room_finds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "_append_error", lambda error, _: error)
    run, _ = transaction_run(transactors=2, seed=3)
    run.plan.active_ms = 2_000.0
    run.live()
    assert any("is answered" in one for one in run.world.violations)
