"""Adding and verifying partitions: the table of `partitions`."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.partitions import decide_add_partitions, verify_partitions
from mockbroker.coordinator.txn.states import TransactionState
from tests.mockbroker.coordinator.txn.making import NOW_MS, STATES, outcome, transaction

IN, OUT = ("t", 0), ("u", 1)


@pytest.mark.parametrize(
    ("state", "producer", "added", "verified"),
    [
        ("none", (7, 5), 49, 49),
        ("Ongoing", (8, 5), 49, 49),
        ("Ongoing", (7, 4), 90, 90),
        ("Ongoing", (7, 6), 90, 90),
        ("PrepareCommit", (7, 5), 51, 51),
        ("PrepareCommit", (8, 0), 51, 49),
        ("PrepareAbort", (7, 4), 51, 90),
        ("PrepareAbort", (7, 5), 51, 51),
        ("Ongoing", (7, 5), 0, 0),
        ("Empty", (7, 5), ("Ongoing", 7, 5), 120),
        ("CompleteCommit", (7, 5), ("Ongoing", 7, 5), 120),
        ("CompleteAbort", (7, 5), ("Ongoing", 7, 5), 120),
    ],
)
def test_each_state(state: str, producer: tuple[int, int], added: object, verified: int) -> None:
    kind = STATES[state]
    current = None if kind is None else transaction(kind)
    assert outcome(decide_add_partitions(current, *producer, [IN], 2, NOW_MS)) == added
    assert verify_partitions(current, *producer, [IN]) == {IN: verified}


def test_a_pending_transition_goes_before_an_addition() -> None:
    current = transaction(TransactionState.ONGOING, pending=TransactionState.ONGOING)
    for producer in ((7, 5), (7, 4), (8, 5)):
        assert outcome(decide_add_partitions(current, *producer, [IN], 2, NOW_MS)) == 51
    assert verify_partitions(current, 7, 5, [IN, OUT]) == {IN: 0, OUT: 120}


def test_a_new_partition_joins_what_is_open() -> None:
    current = transaction(TransactionState.ONGOING)
    assert outcome(decide_add_partitions(current, 7, 5, [IN, OUT], 2, NOW_MS)) == ("Ongoing", 7, 5)
    assert verify_partitions(current, 7, 5, [IN, OUT]) == {IN: 0, OUT: 120}
