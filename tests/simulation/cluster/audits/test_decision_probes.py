"""Decisions as they are agree with the model; each that is another is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn import end_txn, init_producer, metadata
from mockbroker.coordinator.txn.metadata import TransactionMetadata
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits import decision_probes
from simulation.cluster.audits.decision_probes import DecisionProbes, copy_of
from simulation.cluster.audits.transaction_model import id_of

if TYPE_CHECKING:
    from types import ModuleType

KNOWN = TransactionMetadata(
    "one",
    producer_id=5,
    previous_producer_id=5,
    producer_epoch=2,
    timeout_ms=1000,
    state=TransactionState.ONGOING,
    partitions={("t0", 0): None},
    start_ms=100,
    last_update_ms=100,
)


def told(count: int = 2_000) -> list[str]:
    """What is found of so many decisions."""
    probes = DecisionProbes(Random(1))
    found = [wrong for _ in range(count) for wrong in probes.look(KNOWN, 10_000)]
    assert probes.asked == count
    return found


def test_decisions_agree_with_the_model() -> None:
    before = id_of(KNOWN)
    assert told() == []
    assert id_of(KNOWN) == before


def test_a_copy_is_the_same_and_another() -> None:
    copy = copy_of(KNOWN)
    assert id_of(copy) == id_of(KNOWN)
    copy.partitions.clear()
    assert KNOWN.partitions


@pytest.mark.parametrize(
    ("module", "name", "other", "wrong"),
    [
        (init_producer, "is_epoch_exhausted", lambda _: True, "InitProducerId"),
        (metadata, "is_epoch_exhausted", lambda epoch: epoch >= 9, "a fence"),
        (end_txn, "_LAST_CLIENT_EPOCH", 7, "EndTxn v5"),
        (decision_probes, "decide_init_producer", lambda *_: ErrorCode.NONE, "InitProducerId"),
        (decision_probes, "decide_add_partitions", lambda *_: ErrorCode.NONE, "AddPartitions"),
        (decision_probes, "decide_end_v1", lambda *_: ErrorCode.NONE, "EndTxn v4"),
    ],
)
def test_another_decision_is_noticed(
    module: ModuleType, name: str, other: object, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, other)
    assert any(wrong in one for one in told())


def test_a_change_before_it_is_written_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = metadata.complete

    def hasty(current: TransactionMetadata, now_ms: int) -> metadata.Transition:
        made = complete(current, now_ms)
        current.partitions.clear()
        return made

    monkeypatch.setattr(metadata, "complete", hasty)
    assert any("before it is written" in one for one in told())
