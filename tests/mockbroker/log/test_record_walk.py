"""Counting by lengths agrees with reading every record, whatever their sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.log.record_walk import check_record_sizes, count_records
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records.record_codec import Record, encode_records

_SIZES = st.sampled_from([0, 1, 7, 50, 51, 57, 58, 100, 8180, 8190, 8200])
_RUNS = st.lists(st.tuples(_SIZES, st.integers(1, 60)), min_size=1, max_size=6)


def _records(sizes: list[int]) -> memoryview:
    records = [Record(n, 1000 + n, None, bytes(size)) for n, size in enumerate(sizes)]
    return memoryview(encode_records(records, 0, 1000))


@given(_RUNS)
def test_counts_runs_of_any_sizes(runs: list[tuple[int, int]]) -> None:
    sizes = [size for size, count in runs for _ in range(count)]
    data = _records(sizes)
    assert count_records(data, 0, len(data)) == len(sizes)


@given(_RUNS, st.data())
def test_a_cut_batch_is_an_error(runs: list[tuple[int, int]], data: st.DataObject) -> None:
    encoded = _records([size for size, count in runs for _ in range(count)])
    end = data.draw(st.integers(0, len(encoded) - 1))
    try:
        counted = count_records(encoded, 0, end)
    except ProtocolError:
        return
    assert counted < sum(count for _, count in runs), "it ended between two records"


def test_many_records_of_one_size_are_hopped_over_by_slices() -> None:
    data = memoryview(bytes(_records([90])) * 30_000)
    assert count_records(data, 0, len(data)) == 30_000


def test_values_that_look_like_lengths_do_not_mislead() -> None:
    data = _records([50] * 40 + [20] * 3 + [50] * 40)
    assert count_records(data, 0, len(data)) == 83
    # One record whose value repeats the length byte at every stride.
    length = data[0]
    lookalike = Record(0, 1000, None, bytes([length]) * 5000)
    records = [Record(n, 1000, None, bytes(50)) for n in range(20)]
    encoded = memoryview(encode_records([*records, lookalike], 0, 1000))
    assert count_records(encoded, 0, len(encoded)) == 21


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",  # negative length
        b"\x10",  # longer than what is there
        b"\x80",  # ends within a length
        b"\xff\xff\xff\xff\xff\x01",  # six bytes of length
        b"\x0e\x00\x00\x00\x01\x01\x00\xff",  # one byte more than the fields need
        b"\x0c\x00\x00\x00\x01\x01\x00\x01",  # a second record of negative length
        b"\x0c\x00\x00\x00\x7e\x01\x00",  # a key longer than the record
    ],
)
def test_bytes_that_are_no_records_are_an_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        count_records(memoryview(data), 0, len(data))


def test_nothing_is_no_record() -> None:
    assert count_records(memoryview(b""), 0, 0) == 0


def test_the_largest_record_decides_whether_sizes_pass() -> None:
    records = encode_records([Record(0, 0, None, b"v" * size) for size in (5, 300, 70)], 0, 0)
    largest = 300 + 7
    check_record_sizes(records, 0, len(records), largest)
    with pytest.raises(ProtocolError, match=f"{largest} bytes"):
        check_record_sizes(records, 0, len(records), largest - 1)
