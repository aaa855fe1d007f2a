"""The ledger of transactions knows who may succeed, and what may be read."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn import metadata
from simulation.cluster.transaction_ledger import TransactionLedger
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim
PART = "t0", 0


@pytest.fixture
def cluster() -> SimulatedCluster:
    return SimulatedCluster()


def test_epochs_only_grow(cluster: SimulatedCluster) -> None:
    lineage = TransactionLedger(cluster.world).lineage("txn")
    lineage.initialized(7, 0, lineage.epoch, bumps=True)
    lineage.initialized(7, 1, lineage.epoch, bumps=True)
    lineage.initialized(7, 1, lineage.epoch, bumps=False)
    lineage.check_current("a commit", 1, sent_at=1)
    assert not cluster.world.violations
    lineage.initialized(7, 1, lineage.epoch, bumps=True)
    lineage.initialized(8, 2, lineage.epoch, bumps=True)
    lineage.check_current("a commit", 1, sent_at=2)
    told = [text.partition(": ")[2] for text in cluster.world.violations]
    assert told == [
        "txn is told epoch 1 of 7, after 1 was acknowledged",
        "txn was 7 and is 8",
        "a commit succeeds in epoch 1, although 2 is in force",
    ]


def test_an_id_whose_epochs_are_used_up_is_exchanged(
    cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "MAX_PRODUCER_EPOCH", 6)
    lineage = TransactionLedger(cluster.world).lineage("txn")
    lineage.initialized(7, 5, lineage.epoch, bumps=True)
    before = lineage.epoch
    assert lineage.initialized(9, 0, lineage.epoch, bumps=True) > before
    assert lineage.is_past(7, 5)
    assert not lineage.is_past(9, 1)
    assert not lineage.is_past(11, 0)
    assert not cluster.world.violations
    lineage.initialized(9, 6, lineage.epoch, bumps=True)
    assert "is told epoch 6 of 9" in cluster.world.violations[0]


def test_only_what_somebody_commits_may_be_read(cluster: SimulatedCluster) -> None:
    ledger = TransactionLedger(cluster.world)
    lineage = ledger.lineage("txn")
    first, second, third = (ledger.begin(lineage, "txn.1") for _ in range(3))
    assert [each.number for each in (first, second, third)] == [1, 2, 3]
    for value, each in ((b"1", first), (b"2", second), (b"3", third)):
        ledger.sends(each, PART, [value])
    first.commit_tried = second.commit_tried = True
    second.ended = False
    ledger.was_read("reader", b"of nobody")
    ledger.was_read("reader", b"1")
    assert not cluster.world.violations
    ledger.was_read("reader", b"2")
    ledger.was_read("reader", b"3")
    assert "transaction 2 of txn.1 was aborted" in cluster.world.violations[0]
    assert "nobody commits transaction 3 of txn.1" in cluster.world.violations[1]


def test_a_producer_that_is_let_in_fences_what_nobody_commits(cluster: SimulatedCluster) -> None:
    ledger = TransactionLedger(cluster.world)
    lineage = ledger.lineage("txn")
    committing, opened = (ledger.begin(lineage, "txn.1") for _ in range(2))
    committing.commit_tried = True
    lineage.fence()
    assert (committing.fenced, opened.fenced) == (False, True)
