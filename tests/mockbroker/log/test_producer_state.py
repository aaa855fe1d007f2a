"""Idempotence and transactions, row by row of the table in Kafka's ProducerAppendInfo."""

from __future__ import annotations

import pytest

from mockbroker.log.producer_state import ProducerStateManager
from mockbroker.log.results import AppendOrigin
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import BatchHeader, read_batch_header
from tests.mockbroker.log.batches import NOW, produced

CLIENT = AppendOrigin.CLIENT
OK = ErrorCode.NONE
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
FENCED = ErrorCode.INVALID_PRODUCER_EPOCH


def _header(
    sequence: int,
    *,
    epoch: int = 0,
    count: int = 1,
    offset: int = 0,
    producer_id: int = 7,
    transactional: bool = False,
) -> BatchHeader:
    batch = produced(producer_id, epoch, sequence, count=count, transactional=transactional)
    header = read_batch_header(batch)
    header.base_offset = offset
    return header


def _check(state: ProducerStateManager, header: BatchHeader, *, v2: bool = False) -> ErrorCode:
    return state.check_data_batch(header, CLIENT, new_producer_starts_at_zero=v2)


def _state(*headers: BatchHeader) -> ProducerStateManager:
    state = ProducerStateManager()
    for header in headers:
        state.append_data_batch(header)
    return state


@pytest.mark.parametrize(
    ("sequence", "epoch", "expected"),
    [
        (10, 1, OK),
        (11, 1, OUT_OF_ORDER),
        (9, 1, OUT_OF_ORDER),
        (0, 1, OUT_OF_ORDER),
        (0, 2, OK),
        (10, 2, OUT_OF_ORDER),
        (10, 0, FENCED),
        (0, 0, FENCED),
    ],
)
def test_what_may_follow_sequences_0_to_9_of_epoch_1(
    sequence: int, epoch: int, expected: ErrorCode
) -> None:
    state = _state(_header(0, epoch=1, count=10))
    assert _check(state, _header(sequence, epoch=epoch)) is expected


@pytest.mark.parametrize(("sequence", "v2", "expected"), [(5, False, OK), (5, True, OUT_OF_ORDER)])
def test_an_unknown_producer_may_begin_anywhere_but_under_transactions_v2(
    sequence: int, v2: bool, expected: ErrorCode
) -> None:
    header = _header(sequence, transactional=v2)
    assert _check(ProducerStateManager(), header, v2=v2) is expected
    assert _check(ProducerStateManager(), _header(0), v2=v2) is OK


def test_sequences_wrap_to_zero() -> None:
    state = _state(_header(0x7FFFFFFE, count=2))
    assert _check(state, _header(0)) is OK
    assert _check(state, _header(1)) is OUT_OF_ORDER
    across = _state(_header(0x7FFFFFFF, count=3))
    assert across.producers[7].last_sequence == 1
    assert _check(across, _header(2)) is OK


def test_replicas_and_coordinators_are_not_held_to_sequences() -> None:
    state = _state(_header(0, epoch=1))
    header = _header(99, epoch=1)
    for origin in (AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION):
        assert state.check_data_batch(header, origin, new_producer_starts_at_zero=False) is OK


def test_the_last_five_batches_are_known_again() -> None:
    state = _state(*(_header(n, offset=100 + n) for n in range(6)))
    for n in range(1, 6):
        found = state.find_duplicate(_header(n))
        assert found is not None
        assert (found.base_offset, found.last_offset, found.timestamp) == (100 + n, 100 + n, NOW)
    assert state.find_duplicate(_header(0)) is None, "older than five"
    assert state.find_duplicate(_header(5, epoch=1)) is None, "another epoch"
    assert state.find_duplicate(_header(4, count=2)) is None, "another range"
    assert state.find_duplicate(_header(5, producer_id=8)) is None


def test_a_new_epoch_forgets_the_batches_of_the_old_one() -> None:
    state = _state(_header(0), _header(0, epoch=1, offset=1))
    assert state.find_duplicate(_header(0)) is None
    assert _check(state, _header(1, epoch=1)) is OK


def test_plain_data_is_refused_while_the_transaction_is_open() -> None:
    state = _state(_header(0, transactional=True))
    assert _check(state, _header(1)) is ErrorCode.INVALID_TXN_STATE
    assert _check(state, _header(1, transactional=True)) is OK
    assert state.has_ongoing_transaction(7, 0)
    assert not state.has_ongoing_transaction(7, 1)
    assert not state.has_ongoing_transaction(8, 0)


def test_a_marker_ends_the_transaction_and_waits_for_the_high_watermark() -> None:
    state = _state(_header(0, transactional=True, offset=3))
    completed = state.append_marker(7, 0, 0, 5, NOW)
    assert completed is not None
    assert (completed.first_offset, completed.last_offset) == (3, 5)
    assert completed.last_stable_offset == 6
    assert not state.has_ongoing_transaction(7, 0)
    assert state.first_unstable_offset() == 3
    state.on_high_watermark_updated(5)
    assert state.first_unstable_offset() == 3
    state.on_high_watermark_updated(6)
    assert state.first_unstable_offset() == -1


def test_the_oldest_open_transaction_is_the_first_unstable_one() -> None:
    state = _state(
        _header(0, transactional=True, offset=1, producer_id=1),
        _header(0, transactional=True, offset=2, producer_id=2),
    )
    completed = state.append_marker(2, 0, 0, 3, NOW)
    assert completed is not None
    assert completed.last_stable_offset == 1
    assert state.first_unstable_offset() == 1
    state.append_marker(1, 0, 0, 4, NOW)
    state.on_high_watermark_updated(4)
    assert state.first_unstable_offset() == 1
    state.on_high_watermark_updated(5)
    assert state.first_unstable_offset() == -1


def test_a_marker_without_data_changes_no_offset() -> None:
    state = ProducerStateManager()
    assert state.append_marker(7, 3, 0, 0, NOW) is None
    assert state.first_unstable_offset() == -1
    assert _check(state, _header(0, epoch=2)) is FENCED
    assert _check(state, _header(0, epoch=3)) is OK
    assert _check(state, _header(1, epoch=3)) is OUT_OF_ORDER


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "grows", "expected"),
    [
        (1, 5, False, OK),
        (2, 6, False, OK),
        (0, 5, False, FENCED),
        (1, 4, False, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
        (1, 5, True, FENCED),
        (2, 5, True, OK),
    ],
)
def test_which_marker_may_end_an_open_transaction(
    epoch: int, coordinator_epoch: int, grows: bool, expected: ErrorCode
) -> None:
    state = ProducerStateManager()
    assert state.check_marker(7, 0, 0, epoch_grows=grows) is OK
    state.append_marker(7, 1, 5, 0, NOW)
    state.append_data_batch(_header(0, epoch=1, transactional=True, offset=1))
    assert state.check_marker(7, epoch, coordinator_epoch, epoch_grows=grows) is expected


def test_the_retry_of_a_marker_with_its_own_epoch_is_tolerated() -> None:
    state = ProducerStateManager()
    state.append_marker(7, 1, 0, 0, NOW)
    assert state.check_marker(7, 1, 0, epoch_grows=True) is OK


def test_idle_producers_expire_unless_a_transaction_is_open() -> None:
    state = _state(_header(0), _header(0, producer_id=8, transactional=True, offset=1))
    state.remove_expired(NOW + 99, 100)
    assert set(state.producers) == {7, 8}
    state.remove_expired(NOW + 100, 100)
    assert set(state.producers) == {8}
    state.clear()
    assert not state.producers
    assert state.first_unstable_offset() == -1


def test_a_batch_of_an_older_epoch_is_no_duplicate_of_one_of_the_next() -> None:
    """Under transactions V2 each transaction has an epoch, and begins at sequence 0."""
    state = _state(_header(0, transactional=True))
    state.append_marker(7, 1, 0, 1, NOW)
    assert state.find_duplicate(_header(0, epoch=1)) is None
    state.append_data_batch(_header(0, epoch=1, offset=2))
    found = state.find_duplicate(_header(0, epoch=1))
    assert found is not None
    assert found.base_offset == 2
