"""Who a producer is to be: the table of `init_producer`, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn.init_producer import (
    Fence,
    ProducerIdAndEpoch,
    decide_init_producer,
)
from mockbroker.coordinator.txn.states import TransactionState
from tests.mockbroker.coordinator.txn.making import NOW_MS, STATES, Ids, outcome, transaction

if TYPE_CHECKING:
    from mockbroker.coordinator.txn.metadata import TransactionMetadata

FENCE = Fence.FENCE


def decide(current: TransactionMetadata, expected: tuple[int, int] | None) -> object:
    given = None if expected is None else ProducerIdAndEpoch(*expected)
    return outcome(decide_init_producer(current, 700, given, Ids(), NOW_MS))


@pytest.mark.parametrize(
    ("state", "expected", "answer"),
    [
        ("Empty", None, ("Empty", 7, 6)),
        ("Empty", (7, 5), ("Empty", 7, 6)),
        ("Empty", (7, 4), 90),
        ("Empty", (7, 6), 90),
        ("Empty", (8, 5), 90),
        ("CompleteCommit", None, ("Empty", 7, 6)),
        ("CompleteAbort", (7, 5), ("Empty", 7, 6)),
        ("PrepareCommit", None, 51),
        ("PrepareAbort", (7, 5), 51),
        ("PrepareAbort", (8, 5), 51),
        ("Ongoing", None, FENCE),
        ("Ongoing", (7, 5), FENCE),
        ("Ongoing", (7, 1), FENCE),
        ("Ongoing", (8, 5), 90),
    ],
)
def test_each_state(state: str, expected: tuple[int, int] | None, answer: object) -> None:
    kind = STATES[state]
    assert kind is not None
    assert decide(transaction(kind), expected) == answer
    assert decide(transaction(kind, pending=TransactionState.EMPTY), expected) == 51


@pytest.mark.parametrize("expected", [None, (55, 3)])
def test_an_id_without_an_epoch_begins_with_the_first(expected: tuple[int, int] | None) -> None:
    assert decide(transaction(epoch=-1), expected) == ("Empty", 7, 0)


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (None, ("Empty", 100, 0)),
        ((7, 32766), ("Empty", 100, 0)),
        ((7, 32765), 90),
        ((8, 32766), 90),
    ],
)
def test_used_up_epochs(expected: tuple[int, int] | None, answer: object) -> None:
    assert decide(transaction(epoch=32766), expected) == answer


def test_a_retry_of_the_call_that_changed_the_producer_id() -> None:
    current = transaction(producer_id=100, epoch=0, last_epoch=32766, previous_producer_id=7)
    assert decide(current, (7, 32766)) == ("Empty", 100, 0)
    assert decide(current, (7, 32765)) == 90


def test_a_retry_gets_the_same_epoch_again() -> None:
    assert decide(transaction(epoch=5, last_epoch=4), (7, 4)) == ("Empty", 7, 5)


def test_an_id_before_that_was_not_used_up_is_fenced() -> None:
    current = transaction(producer_id=100, epoch=3, previous_producer_id=7)
    assert decide(current, (7, 3)) == 90
    assert decide(current, (100, 3)) == ("Empty", 100, 4)
