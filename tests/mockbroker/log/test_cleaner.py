"""What is left of a log when it was compacted: keys, tombstones, transactions, producers."""

from __future__ import annotations

import pytest

from mockbroker.config.log_config import LogConfig
from mockbroker.log.cleaner import clean
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.records.batch import build_batch, iterate_records
from mockbroker_protocol.records.record_codec import Record
from tests.mockbroker.log.batches import NOW, TXN_COMMITTED, abort, base_offsets, bytes_of, put

RETENTION_MS = 1000
CONFIG = LogConfig(compact=True, delete=False, delete_retention_ms=RETENTION_MS)


class Cleaned:
    """A compacted log that is written record by record, and cleaned up to its end."""

    def __init__(self, config: LogConfig = CONFIG) -> None:
        self.log = UnifiedLog("t", 0, config)
        self.sequences: dict[int, int] = {}
        self.now = NOW

    def put(
        self, *pairs: str, producer_id: int = -1, transactional: bool = False, compression: int = 0
    ) -> None:
        """One batch of `key=value` records; a key alone is a tombstone."""
        records = []
        for index, pair in enumerate(pairs):
            key, equals, value = pair.partition("=")
            content = value.encode() if equals else None
            records.append(Record(index, NOW, key.encode(), content, [("h", b"x")]))
        sequence = self.sequences.get(producer_id, 0) if producer_id >= 0 else -1
        self.sequences[producer_id] = sequence + len(records)
        batch = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            transactional=transactional,
            compression=compression,
        )
        assert not put(self.log, batch).error

    def roll(self) -> None:
        """Begin another active segment."""
        self.log._roll(self.log.log_end_offset, self.now)

    def clean(self) -> str:
        """Compact all that there is, in a round whose last batch need not stay; what is left."""
        self.roll()
        self.put("end=")
        end = self.log.log_end_offset
        self.roll()
        clean(self.log, self.log.first_dirty_offset, end, self.now)
        return self.left()

    def left(self) -> str:
        words = []
        for header, batch in self.log.iterate_batches(0):
            if header.is_control and header.record_count:
                words.append(f"{header.base_offset}:marker")
                continue
            found = list(iterate_records(batch, 0, header))
            if not found:
                words.append(f"{header.base_offset}-{header.last_offset}:empty")
            for record in found:
                key, value = (record.key or b"").decode(), record.value
                if key != "end":
                    text = key if value is None else f"{key}={value.decode()}"
                    words.append(f"{record.offset}:{text}")
        return " ".join(words)


@pytest.fixture
def log() -> Cleaned:
    return Cleaned()


def test_the_last_value_of_each_key_stays_at_its_offset(log: Cleaned) -> None:
    log.put("a=1", "b=1", "c=1")
    log.put("a=2")
    log.put("b=2", "d=1")
    assert log.clean() == "2:c=1 3:a=2 4:b=2 5:d=1"
    assert (log.log.log_start_offset, log.log.log_end_offset) == (0, 7)


def test_a_batch_keeps_its_offsets_when_records_go(log: Cleaned) -> None:
    log.put("a=1", "b=1", "a=2")
    log.put("b=2")
    log.clean()
    (header, _), *_ = log.log.iterate_batches(0)
    assert (header.base_offset, header.last_offset, header.record_count) == (0, 2, 1)
    assert base_offsets(bytes_of(log.log.read(0, 10_000, TXN_COMMITTED, min_one=True)))[0] == 0


def test_headers_and_times_survive_a_rewrite(log: Cleaned) -> None:
    log.put("a=1", "b=1")
    log.put("a=2")
    log.clean()
    (header, batch), *_ = log.log.iterate_batches(0)
    (record,) = iterate_records(batch, 0, header)
    assert (record.offset, record.timestamp) == (1, NOW)
    assert [(key, bytes(value or b"")) for key, value in record.headers] == [("h", b"x")]


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_compressed_batch_stays_compressed(log: Cleaned, codec: int) -> None:
    log.put("a=1", "b=1", compression=codec)
    log.put("a=2")
    assert log.clean() == "1:b=1 2:a=2"
    (header, _), *_ = log.log.iterate_batches(0)
    assert header.compression == codec


def test_what_is_clean_is_not_read_for_its_keys_again(log: Cleaned) -> None:
    log.put("a=1")
    assert log.clean() == "0:a=1"
    log.put("b=1")
    assert log.clean() == "0:a=1 2:b=1"
    log.put("a=2")
    assert log.clean() == "2:b=1 4:a=2"


def test_a_tombstone_goes_when_its_time_after_the_first_cleaning_is_over(log: Cleaned) -> None:
    log.put("a=1")
    log.put("a")
    assert log.clean() == "1:a"
    (header, batch), *_ = log.log.iterate_batches(0)
    assert header.delete_horizon_ms == NOW + RETENTION_MS
    assert [record.timestamp for record in iterate_records(batch, 0, header)] == [NOW]
    log.now += RETENTION_MS - 1
    assert log.clean() == "1:a"
    log.now += 1
    assert log.clean() == ""


def test_records_behind_the_bound_are_left_alone(log: Cleaned) -> None:
    log.put("a=1")
    log.roll()
    log.put("a=2")
    clean(log.log, 0, 1, NOW)
    assert log.left() == "0:a=1 1:a=2"


def test_the_last_batch_of_a_round_stays_even_empty(log: Cleaned) -> None:
    log.put("a=1")
    log.put("b=1")
    log.put("b")
    log.roll()
    log.put("x=1")
    clean(log.log, 0, 3, NOW)
    clean(log.log, 0, 3, NOW + RETENTION_MS)
    assert log.left() == "0:a=1 2-2:empty 3:x=1"
    empty = [header for header, _ in log.log.iterate_batches(0)][1]
    assert (empty.max_timestamp, empty.record_count, empty.compression) == (NOW, 0, 0)


def test_a_living_producers_last_batch_stays_empty(log: Cleaned) -> None:
    log.put("a=1", producer_id=5)
    log.put("a=2", producer_id=5)
    log.put("a=3")
    assert log.clean() == "1-1:empty 2:a=3"
    assert not put(log.log, _next(log, 5)).error
    log.log.expire_producers(NOW + 10, 10)
    log.roll()
    assert log.clean() == "2:a=3 4:z=1"


def _next(log: Cleaned, producer_id: int) -> bytes:
    return build_batch(
        [Record(0, NOW, b"z", b"1")],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=log.sequences[producer_id],
    )


def test_aborted_data_goes_at_once_and_its_marker_later(log: Cleaned) -> None:
    log.put("a=1")
    log.put("a=2", "b=2", producer_id=7, transactional=True)
    abort(log.log, 7)
    log.log.expire_producers(NOW + 10, 10)
    assert log.clean() == "0:a=1 3:marker"
    assert len(log.log.aborted_transactions(0, 100)) == 1  # its marker is kept
    assert log.clean() == "0:a=1 3:marker"  # empty now: its time begins
    assert log.log.aborted_transactions(0, 100) == []
    log.now += RETENTION_MS
    assert log.clean() == "0:a=1"


def test_a_commit_marker_stays_as_long_as_its_data(log: Cleaned) -> None:
    log.put("a=1", producer_id=7, transactional=True)
    abort(log.log, 7, commit=True)
    log.log.expire_producers(NOW + 10, 10)
    assert log.clean() == "0:a=1 1:marker"
    log.put("a=2")
    assert log.clean() == "1:marker 3:a=2"
    assert log.clean() == "1:marker 3:a=2"
    log.now += RETENTION_MS
    assert log.clean() == "3:a=2"


def test_a_living_producers_marker_stays(log: Cleaned) -> None:
    log.put("a=1", producer_id=7, transactional=True)
    abort(log.log, 7)
    log.clean()
    log.clean()
    log.now += RETENTION_MS
    # What is kept is the data's batch, for its sequence: so the marker still ends something.
    assert log.clean() == "0-0:empty 1:marker"


def test_a_reader_of_committed_data_is_told_of_kept_aborts(log: Cleaned) -> None:
    log.put("a=1", producer_id=7, transactional=True)
    abort(log.log, 7)
    log.clean()
    result = log.log.read(0, 1000, TXN_COMMITTED, min_one=True)
    assert [each.producer_id for each in result.aborted or ()] == [7]


def test_small_neighbours_become_one_segment() -> None:
    cleaned = Cleaned(LogConfig(compact=True, delete=False, segment_bytes=400))
    for key in "abcdefgh":
        cleaned.put(f"{key}=1")
        cleaned.roll()
    before = cleaned.log.segment_count
    cleaned.clean()
    assert cleaned.log.segment_count < before
    assert max(each.size_bytes for each in cleaned.log.segments()) <= 400
    assert cleaned.left() == "0:a=1 1:b=1 2:c=1 3:d=1 4:e=1 5:f=1 6:g=1 7:h=1"
    assert cleaned.log.segments()[0].base_offset == 0


def test_neighbours_far_apart_stay_apart(log: Cleaned) -> None:
    log.put("a=1")
    for far in (1, 2):
        log.roll()
        log.log.log_end_offset = far * 0x60000000
        log.put(f"{far}=1")
    assert log.clean() == f"0:a=1 {0x60000000}:1=1 {0xC0000000}:2=1"
    assert [each.base_offset for each in log.log.segments() if len(each)][:2] == [0, 0x60000001]


def test_readers_keep_the_bytes_that_they_hold(log: Cleaned) -> None:
    log.put("a=" + "x" * 100_000)
    log.put("a=2")
    held = log.log.read(0, 200_000, TXN_COMMITTED, min_one=True)
    before = bytes_of(held)
    log.clean()
    assert bytes_of(held) == before


def test_a_large_batch_that_stays_is_not_changed(log: Cleaned) -> None:
    log.put("a=" + "x" * 100_000)
    before = bytes_of(log.log.read(0, 200_000, TXN_COMMITTED, min_one=True))
    log.clean()
    after = bytes_of(log.log.read(0, len(before), TXN_COMMITTED, min_one=True))
    assert after == before


def test_truncation_makes_the_rest_dirty_again(log: Cleaned) -> None:
    log.put("a=1")
    log.put("b=1")
    log.clean()
    assert log.log.first_dirty_offset == 3
    log.log.truncate_to(1)
    assert log.log.first_dirty_offset == 1
