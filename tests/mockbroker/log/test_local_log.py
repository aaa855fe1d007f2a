"""Places and bytes across segments, against one plain string of bytes."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.config.log_config import LogConfig
from mockbroker.log.local_log import LocalLog
from mockbroker.log.offsets import LogOffsetMetadata
from mockbroker.log.unified_log import UnifiedLog
from tests.mockbroker.log.batches import LOG_END, NOW, bytes_of, log_with, plain, put

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
        found = log.read(offset, 1 << 20, LOG_END, min_one=True)
        read.append(bytes_of(found))
        assert found.next_offset == _next_segment(log, offset)
        offset = found.next_offset
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


def test_jitter_spreads_the_rolls_of_partitions_and_repeats() -> None:
    config = LogConfig(segment_ms=1000, max_segment_ms=1000, segment_jitter_ms=900)

    def first_roll(partition: int) -> int:
        return bisect_left(
            range(1002), 1, key=lambda ms: _rolls_after(UnifiedLog("t", partition, config), ms)
        )

    rolls = [first_roll(partition) for partition in range(8)]
    assert rolls == [first_roll(partition) for partition in range(8)]
    assert len(set(rolls)) > 4
    assert all(100 <= roll <= 1001 for roll in rolls)


def _rolls_after(log: UnifiedLog, milliseconds: int) -> bool:
    put(log, plain(timestamp=NOW))
    put(log, plain(timestamp=NOW + milliseconds))
    return log.segment_count == 2


def test_a_compacted_log_rolls_in_time_for_its_maximum_lag() -> None:
    config = LogConfig(compact=True, delete=False, max_segment_ms=500)
    log = UnifiedLog("t", 0, config)
    for milliseconds in (0, 500):
        put(log, plain(key=b"k", timestamp=NOW + milliseconds))
    assert log.segment_count == 1
    put(log, plain(key=b"k", timestamp=NOW + 501))
    assert log.segment_count == 2
