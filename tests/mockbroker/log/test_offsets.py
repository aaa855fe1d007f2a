"""Offsets with places compare as the purgatory needs them."""

from __future__ import annotations

from mockbroker.log.offsets import (
    UNKNOWN_OFFSET_METADATA,
    FetchIsolation,
    LogOffsetMetadata,
    LogOffsetSnapshot,
    TimestampAndOffset,
)


def test_places_compare_by_segment_and_position() -> None:
    old, new = LogOffsetMetadata(5, 0, 100), LogOffsetMetadata(9, 7, 40)
    assert old.on_older_segment(new)
    assert not new.on_older_segment(old)
    assert LogOffsetMetadata(6, 0, 130).position_diff(old) == 30
    assert old == LogOffsetMetadata(5, 0, 100) != new
    assert repr(old) == "LogOffsetMetadata(5, 0, 100)"


def test_the_unknown_place_has_an_offset_only() -> None:
    assert UNKNOWN_OFFSET_METADATA.message_offset_only
    assert not LogOffsetMetadata(0, 0, 0).message_offset_only


def test_a_snapshot_gives_each_reader_its_bound() -> None:
    end, high, stable = (LogOffsetMetadata(offset, 0, offset) for offset in (3, 2, 1))
    snapshot = LogOffsetSnapshot(0, end, high, stable)
    assert snapshot.end_of(FetchIsolation.LOG_END) is end
    assert snapshot.end_of(FetchIsolation.HIGH_WATERMARK) is high
    assert snapshot.end_of(FetchIsolation.TXN_COMMITTED) is stable


def test_an_answer_by_timestamp_is_a_value() -> None:
    assert TimestampAndOffset(1, 2, 3) == TimestampAndOffset(1, 2, 3) != TimestampAndOffset(1, 2, 4)
    assert repr(TimestampAndOffset(1, 2, 3)) == "TimestampAndOffset(1, 2, 3)"
