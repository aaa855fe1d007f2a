"""Last stable offset, markers and aborted lists: the isolation cases (G) on a log."""

from __future__ import annotations

import pytest

from mockbroker.config.log_config import LogConfig
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import iterate_records, parse_control_record
from tests.mockbroker.log.batches import (
    HIGH_WATERMARK,
    LOG_END,
    NOW,
    TXN_COMMITTED,
    abort,
    base_offsets,
    bytes_of,
    log_with,
    plain,
    produced,
    put,
)

UNLIMITED = 0x7FFFFFFF
P, A, B = 7, 1, 2


def _open() -> UnifiedLog:
    """Offset 0 plain, 1 transactional and open, 2 plain."""
    return log_with(plain(), produced(P, 0, 0, transactional=True), plain())


def _committed(log: UnifiedLog, offset: int, *, max_bytes: int = UNLIMITED) -> list[int]:
    return base_offsets(bytes_of(log.read(offset, max_bytes, TXN_COMMITTED, min_one=True)))


def _aborted(log: UnifiedLog, offset: int) -> list[tuple[int, int]] | None:
    found = log.read(offset, UNLIMITED, TXN_COMMITTED, min_one=True).aborted
    return None if found is None else [(entry.producer_id, entry.first_offset) for entry in found]


def test_read_uncommitted_sees_all_and_no_list() -> None:
    log = _open()
    result = log.read(0, UNLIMITED, HIGH_WATERMARK, min_one=True)
    assert base_offsets(bytes_of(result)) == [0, 1, 2]
    assert result.aborted is None
    assert log.last_stable_offset == 1


def test_read_committed_stops_at_the_first_open_transaction() -> None:
    log = _open()
    assert _committed(log, 0) == [0]
    assert _aborted(log, 0) == []
    assert (log.high_watermark, log.last_stable_offset) == (3, 1)
    assert _committed(log, 1) == []
    assert _aborted(log, 1) == []
    assert log.read(4, 1, TXN_COMMITTED, min_one=True).error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_abort_releases_what_was_held_back_and_is_listed() -> None:
    log = _open()
    assert abort(log, P) == 3
    assert log.last_stable_offset == log.high_watermark == 4
    assert _committed(log, 1) == [1, 2, 3]
    assert [_aborted(log, offset) for offset in range(5)] == [[(P, 1)]] * 4 + [[]]


def test_a_commit_is_not_listed() -> None:
    log = _open()
    abort(log, P, commit=True)
    assert _committed(log, 0) == [0, 1, 2, 3]
    assert _aborted(log, 0) == []


def test_a_marker_is_a_control_batch_of_78_bytes() -> None:
    log = _open()
    abort(log, P)
    ((header, batch),) = log.iterate_batches(3)
    assert len(batch) == 78
    assert (header.is_control, header.is_transactional, header.producer_id) == (True, True, P)
    (record,) = iterate_records(batch, 0, header)
    assert parse_control_record(record) == (0, 0)
    assert record.timestamp == NOW


def test_aborts_are_listed_in_the_order_of_their_markers() -> None:
    log = log_with(
        produced(A, 0, 0, transactional=True),
        produced(B, 0, 0, transactional=True),
    )
    abort(log, B)
    assert log.last_stable_offset == 0
    assert _committed(log, 0) == []
    assert _aborted(log, 0) == []
    abort(log, A)
    assert _aborted(log, 0) == [(B, 1), (A, 0)]


def test_a_first_batch_that_does_not_fit_comes_without_a_list() -> None:
    log = _open()
    abort(log, P)
    incomplete = log.read(1, 117, TXN_COMMITTED, min_one=False)
    assert (incomplete.aborted, incomplete.size_bytes) == (None, 0)
    spent = log.read(1, 0, TXN_COMMITTED, min_one=False)
    assert spent.aborted is not None
    assert [entry.producer_id for entry in spent.aborted] == [P]
    assert spent.size_bytes == 0


def test_a_marker_counts_once_it_is_replicated() -> None:
    log = _open()
    abort(log, P, commit=True, advance=False)
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 4


def test_the_last_stable_offset_is_at_most_the_high_watermark() -> None:
    log = UnifiedLog("t", 0)
    log.append_as_leader(plain(count=5), 0, NOW)
    log.append_as_leader(produced(P, 0, 0, transactional=True), 0, NOW)
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 3
    log.advance_high_watermark(6)
    assert log.last_stable_offset == 5


def test_entries_behind_the_bytes_read_may_be_listed() -> None:
    """The offset index has an entry each 4096 bytes only, so the bound is coarse as in Kafka."""
    log = log_with(plain())
    put(log, produced(P, 0, 0, transactional=True))
    abort(log, P)
    assert _committed(log, 0, max_bytes=118) == [0]
    short = log.read(0, 118, TXN_COMMITTED, min_one=True).aborted
    assert short is not None
    assert len(short) == 1


def test_entries_far_behind_the_bytes_read_are_not_listed() -> None:
    log = log_with(*[plain()] * 80)
    put(log, produced(P, 0, 0, transactional=True))
    abort(log, P)
    assert log.read(0, 118, TXN_COMMITTED, min_one=True).aborted == []
    assert _aborted(log, 0) == [(P, 80)]


def test_the_next_segment_bounds_the_list() -> None:
    config = LogConfig(segment_bytes=240)
    log = log_with(plain(), plain(), produced(P, 0, 0, transactional=True), config=config)
    abort(log, P)
    assert log.segment_count == 2
    assert _aborted(log, 0) == []
    assert _aborted(log, 2) == [(P, 2)]


def test_a_plain_batch_within_the_transaction_is_refused() -> None:
    log = _open()
    assert put(log, produced(P, 0, 1)).error is ErrorCode.INVALID_TXN_STATE
    assert log.has_ongoing_transaction(P, 0)
    assert not log.has_ongoing_transaction(A, 0)


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "version", "error"),
    [
        (0, 0, 1, ErrorCode.NONE),
        (0, 0, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, 0, 2, ErrorCode.NONE),
        (-1, 0, 1, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_which_markers_are_accepted(
    epoch: int, coordinator_epoch: int, version: int, error: ErrorCode
) -> None:
    log = _open()
    result = log.append_end_of_transaction(
        P, epoch, coordinator_epoch, 0, NOW, commit=True, transaction_version=version
    )
    assert result.error is error
    assert log.log_end_offset == (4 if error is ErrorCode.NONE else 3)


def test_a_marker_of_a_deposed_coordinator_is_fenced() -> None:
    log = _open()
    assert log.append_end_of_transaction(P, 0, 5, 0, NOW, commit=True).error is ErrorCode.NONE
    late = log.append_end_of_transaction(P, 0, 4, 0, NOW, commit=False)
    assert late.error is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_after_a_v2_marker_the_old_epoch_is_fenced() -> None:
    log = _open()
    log.append_end_of_transaction(P, 1, 0, 0, NOW, commit=True, transaction_version=2)
    old = put(log, produced(P, 0, 1, transactional=True))
    assert old.error is ErrorCode.INVALID_PRODUCER_EPOCH
    assert put(log, produced(P, 1, 0, transactional=True)).error is ErrorCode.NONE


def test_a_follower_learns_transactions_from_the_bytes() -> None:
    leader = _open()
    abort(leader, P)
    put(leader, produced(A, 0, 0, transactional=True))
    follower = UnifiedLog("t", 0)
    data = bytes_of(leader.read(0, UNLIMITED, LOG_END, min_one=True))
    follower.append_as_follower(data, NOW)
    assert follower.last_stable_offset == 0
    follower.set_high_watermark(5)
    assert follower.last_stable_offset == 4
    assert _aborted(follower, 0) == [(P, 1)]


def test_truncation_reopens_a_transaction_whose_marker_is_gone() -> None:
    log = _open()
    abort(log, P)
    log.truncate_to(3)
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)
    assert log.has_ongoing_transaction(P, 0)
    log.truncate_to(1)
    assert log.last_stable_offset == 1
    assert not log.has_ongoing_transaction(P, 0)


def test_an_open_transaction_begins_at_the_log_start_at_the_earliest() -> None:
    log = _open()
    log.delete_records_before(2)
    assert log.last_stable_offset == 2
    abort(log, P)
    assert log.last_stable_offset == 4
    log.delete_records_before(4)
    assert _aborted(log, 4) == []


def test_the_last_stable_offset_has_a_place() -> None:
    log = _open()
    place = log.offset_metadata(log.last_stable_offset)
    assert (place.message_offset, place.relative_position) == (1, 118)
