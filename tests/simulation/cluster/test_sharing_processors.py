"""Offsets that are committed in transactions count with them, or come again."""

from __future__ import annotations

import pytest

from mockbroker.coop.ic_shard import IndividualCommitShard
from simulation.cluster.sharing_processors import SharingProcessor
from tests.support.simulated_sharing import crew_of, sharing_run

pytestmark = pytest.mark.sim


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors do not wait, and abort one in three."""
    make = SharingProcessor.__init__

    def made(self: SharingProcessor, *given: object) -> None:
        make(self, *given)  # type: ignore[arg-type]
        self.pause_ms, self.abort_chance, self.leaves = 10.0, 0.3, False

    monkeypatch.setattr(SharingProcessor, "__init__", made)


def test_offsets_are_committed_in_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    run = sharing_run(monkeypatch, "transactions", protocol="alone")
    run.live()
    assert not run.world.violations
    crew = crew_of(run)
    assert crew.counts()["in transactions"] > 5
    ended = {one.ended for line in crew.ledger.lineages.values() for one in line.transactions}
    assert {True, False} <= ended


def test_an_abort_that_counts_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    end = IndividualCommitShard.end_transaction

    def commit_all(self: IndividualCommitShard, producer_id: int, *, commit: bool) -> None:
        del commit
        end(self, producer_id, commit=True)

    monkeypatch.setattr(IndividualCommitShard, "end_transaction", commit_all)
    run = sharing_run(monkeypatch, "transactions", protocol="alone")
    run.live()
    assert any("nobody committed" in text for text in run.world.violations)
