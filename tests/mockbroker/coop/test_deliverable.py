"""Where a log has records to commit, and where holes."""

from __future__ import annotations

from mockbroker.coop.deliverable import Deliverable
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.records.batch import build_batch, control_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.keyed_log import keyed, log_k


def filled(*batches: bytes) -> UnifiedLog:
    log = UnifiedLog()
    for batch in batches:
        log.append_as_follower(bytearray(batch), 0)
    log.set_high_watermark(log.log_end_offset)
    return log


def of(log: UnifiedLog | None, *, read_committed: bool = False) -> list[int]:
    look = Deliverable(log, read_committed=read_committed)
    return [look.next(offset) for offset in range(15)]


def test_a_marker_is_a_hole() -> None:
    log = filled(*log_k())
    expected = [*range(10), 11, 11, 12, 13, 14]
    assert of(log) == of(log, read_committed=True) == expected
    look = Deliverable(log, read_committed=False)
    assert [look.next(offset) for offset in (12, 3, 11, 4)] == [12, 3, 11, 4]
    assert (look.log_start, look.high_watermark) == (0, 13)


def test_what_was_compacted_away_is_a_hole() -> None:
    thin = build_batch([Record(at, 0, b"k", b"v") for at in (1, 4, 5)])
    found = of(filled(thin, keyed(8, "a", "b")))
    assert found == [1, 1, 4, 4, 4, 5, 8, 8, 8, 9, 10, 11, 12, 13, 14]


def aborted() -> UnifiedLog:
    data = build_batch(
        [Record(at, 0, b"k", b"v") for at in range(2, 5)],
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    marker = control_batch(7, 0, False, 0, 0, base_offset=5)
    return filled(keyed(0, "a", "b"), data, marker, keyed(6, "c"))


def test_aborted_data_is_a_hole_for_who_reads_committed_records() -> None:
    log = aborted()
    assert of(log)[:8] == [0, 1, 2, 3, 4, 6, 6, 7]
    assert of(log, read_committed=True)[:8] == [0, 1, 6, 6, 6, 6, 6, 7]


def test_where_nobody_can_be_asked_nothing_is_a_hole() -> None:
    assert of(None) == list(range(15))
    assert Deliverable(None, read_committed=True).log_start == 0
    assert Deliverable(None, read_committed=True).high_watermark > 1 << 60


def test_before_the_logs_start_there_is_nothing() -> None:
    log = filled(*log_k())
    log.delete_records_before(8)
    assert of(log)[:10] == [8] * 9 + [9]
