"""Places and bytes across segments, against one plain string of bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.config.log_config import LogConfig
from mockbroker.log.local_log import LocalLog
from mockbroker.log.offsets import LogOffsetMetadata
from tests.mockbroker.log.batches import LOG_END, bytes_of, log_with, plain

SMALL_SEGMENTS = LogConfig(segment_bytes=300)


def test_a_log_without_batches_has_a_place_for_its_end() -> None:
    log = LocalLog("t", 3, SMALL_SEGMENTS)
    assert log.log_end_offset_metadata() == LogOffsetMetadata(0, 0, 0)
    assert log.offset_metadata(0) is log.log_end_offset_metadata()
    assert (log.size_bytes, log.segment_count) == (0, 0)


def test_places_name_their_segment() -> None:
    log = log_with(*[plain()] * 5, config=SMALL_SEGMENTS)
    assert [log.offset_metadata(offset) for offset in range(6)] == [
        LogOffsetMetadata(0, 0, 0),
        LogOffsetMetadata(1, 0, 118),
        LogOffsetMetadata(2, 2, 0),
        LogOffsetMetadata(3, 2, 118),
        LogOffsetMetadata(4, 4, 0),
        LogOffsetMetadata(5, 4, 118),
    ]


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 5)), min_size=1, max_size=20))
def test_walking_a_log_by_its_reads_gives_every_byte_once(batches: list[tuple[int, int]]) -> None:
    log = log_with(
        *[plain(size, count=count) for size, count in batches],
        config=LogConfig(segment_bytes=2000),
    )
    stored = b"".join(bytes(batch) for _, batch in log.iterate_batches(0))
    read = []
    offset = 0
    while offset < log.log_end_offset:
        data = bytes_of(log.read(offset, 1 << 20, LOG_END, min_one=True))
        read.append(data)
        offset += sum(
            header.record_count
            for header, _ in log.iterate_batches(offset)
            if header.base_offset < _next_segment(log, offset)
        )
    assert b"".join(read) == stored
    assert log.size_bytes == len(stored)


def _next_segment(log: LocalLog, offset: int) -> int:
    base = log.offset_metadata(offset).segment_base_offset
    return min(
        (
            later
            for later in range(offset, log.log_end_offset)
            if log.offset_metadata(later).segment_base_offset > base
        ),
        default=log.log_end_offset,
    )
