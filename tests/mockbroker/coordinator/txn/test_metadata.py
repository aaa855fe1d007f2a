"""The record of each next state, and what replaying it makes of a transaction."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.metadata import (
    TransactionMetadata,
    Transition,
    add_partitions,
    complete,
    increment_epoch,
    prepare_end,
    rotate_producer_id,
)
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_records import PartitionsSchema, TransactionLogValue
from tests.mockbroker.coordinator.txn.making import NOW_MS, STATES, transaction

ONGOING = TransactionState.ONGOING


def test_a_record_becomes_the_state() -> None:
    made = TransactionMetadata("tx")
    made.apply(
        TransactionLogValue(
            producer_id=7,
            producer_epoch=2,
            transaction_timeout_ms=500,
            transaction_status=1,
            transaction_partitions=[PartitionsSchema("t", [1, 0]), PartitionsSchema("u", [3])],
            transaction_last_update_timestamp_ms=20,
            transaction_start_timestamp_ms=10,
            previous_producer_id=6,
            next_producer_id=8,
            client_transaction_version=2,
        )
    )
    assert list(made.partitions) == [("t", 1), ("t", 0), ("u", 3)]
    assert (made.state, made.producer_id, made.producer_epoch, made.timeout_ms) == (
        ONGOING,
        7,
        2,
        500,
    )
    assert (made.previous_producer_id, made.next_producer_id, made.bumps_epochs) == (6, 8, True)
    assert (made.start_ms, made.last_update_ms, made.last_producer_epoch) == (10, 20, -1)


@pytest.mark.parametrize(
    ("epoch", "last", "expected", "answer"),
    [
        (-1, -1, None, (0, -1)),
        (-1, -1, 3, (0, -1)),
        (5, -1, None, (6, -1)),
        (5, 4, None, (6, -1)),
        (5, -1, 5, (6, 5)),
        (5, 4, 4, (5, 4)),
        (5, -1, 4, ErrorCode.PRODUCER_FENCED),
        (5, 4, 6, ErrorCode.PRODUCER_FENCED),
        (5, 4, 3, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_the_next_epoch(
    epoch: int, last: int, expected: int | None, answer: tuple[int, int] | ErrorCode
) -> None:
    current = transaction(epoch=epoch, last_epoch=last)
    decided = increment_epoch(current, 700, expected, NOW_MS)
    if isinstance(decided, Transition):
        value = decided.value
        assert (value.producer_epoch, decided.last_producer_epoch) == answer
        assert (value.transaction_status, value.transaction_timeout_ms) == (0, 700)
        assert (value.transaction_partitions, value.transaction_start_timestamp_ms) == (None, -1)
    else:
        assert decided is answer


@pytest.mark.parametrize("remember", [False, True])
def test_another_producer_id_begins_at_epoch_0(remember: bool) -> None:
    decided = rotate_producer_id(
        transaction(epoch=32766), 100, 700, NOW_MS, remember_last_epoch=remember
    )
    value = decided.value
    assert (value.producer_id, value.producer_epoch, value.previous_producer_id) == (100, 0, 7)
    assert decided.last_producer_epoch == (32766 if remember else -1)


def test_the_first_partition_begins_the_transaction_and_more_join_it() -> None:
    current = transaction()
    current.apply(add_partitions(current, [("t", 1)], 0, NOW_MS).value)
    assert (current.state, current.start_ms, list(current.partitions)) == (
        ONGOING,
        NOW_MS,
        [("t", 1)],
    )
    current.apply(add_partitions(current, [("u", 0), ("t", 1)], 0, NOW_MS + 5).value)
    assert list(current.partitions) == [("t", 1), ("u", 0)]
    assert (current.start_ms, current.last_update_ms) == (NOW_MS, NOW_MS + 5)


@pytest.mark.parametrize(("version", "epochs"), [(0, (5, 5, -1)), (2, (6, 6, 5))], ids=["v1", "v2"])
@pytest.mark.parametrize("commit", [False, True])
def test_an_end_bumps_the_epoch_of_transactions_v2_alone(
    version: int, epochs: tuple[int, int, int], commit: bool
) -> None:
    current = transaction(ONGOING)
    prepared = prepare_end(current, commit, version, -1, NOW_MS)
    assert (prepared.value.producer_epoch, prepared.last_producer_epoch) == epochs[1:]
    current.apply(prepared.value)
    assert current.state.name == ("PREPARE_COMMIT" if commit else "PREPARE_ABORT")
    assert list(current.partitions) == [("t", 0)]
    current.apply(complete(current, NOW_MS).value)
    assert current.producer_epoch == epochs[0]
    assert current.state.name == ("COMPLETE_COMMIT" if commit else "COMPLETE_ABORT")
    assert (current.partitions, current.start_ms) == ({}, NOW_MS - 10)


def test_a_used_up_producer_id_is_exchanged_at_the_end() -> None:
    current = transaction(ONGOING, epoch=32766)
    assert current.is_epoch_exhausted
    current.apply(prepare_end(current, True, 2, 100, NOW_MS).value)
    assert (current.producer_id, current.producer_epoch, current.next_producer_id) == (
        7,
        32767,
        100,
    )
    current.apply(complete(current, NOW_MS).value)
    assert (current.producer_id, current.producer_epoch) == (100, 0)
    assert (current.previous_producer_id, current.next_producer_id) == (7, -1)


def test_an_abort_of_nothing_has_begun_when_it_came() -> None:
    current = transaction(TransactionState.COMPLETE_COMMIT)
    assert prepare_end(current, False, 2, -1, NOW_MS).value.transaction_start_timestamp_ms == NOW_MS


def test_the_last_epoch_of_all_does_not_overflow() -> None:
    current = transaction(ONGOING, epoch=32767)
    assert prepare_end(current, False, 2, 100, NOW_MS).value.producer_epoch == 32767


def test_a_marker_that_is_written_takes_its_partition_out() -> None:
    current = transaction(TransactionState.PREPARE_COMMIT)
    current.remove_partition(("t", 0))
    current.remove_partition(("t", 0))
    assert current.partitions == {}
    with pytest.raises(AssertionError):
        transaction(ONGOING).remove_partition(("t", 0))


def test_a_state_that_may_not_follow_is_our_bug() -> None:
    with pytest.raises(AssertionError):
        complete(transaction(ONGOING), NOW_MS)


@pytest.mark.parametrize("pending", [None, ONGOING, TransactionState.DEAD])
@pytest.mark.parametrize("name", [name for name, state in STATES.items() if state is not None])
def test_who_waits_for_a_decision_and_who_may_be_forgotten(
    name: str, pending: TransactionState | None
) -> None:
    state = STATES[name]
    assert state is not None
    current = transaction(state, pending=pending)
    is_pending = pending is not None
    assert current.is_in_transition == (is_pending or name.startswith("Prepare"))
    at_rest = name == "Empty" or name.startswith("Complete")
    assert current.may_be_forgotten == (at_rest and not is_pending)


def test_a_producer_that_begins_anew_has_no_start_of_a_transaction() -> None:
    current = transaction(TransactionState.COMPLETE_COMMIT)
    current.start_ms = NOW_MS
    decided = increment_epoch(current, 700, None, NOW_MS)
    assert isinstance(decided, Transition)
    assert decided.value.transaction_start_timestamp_ms == -1
