"""What a filter gives of a partition: records, covers, sizes, and where it stops."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coop.filtered_read import BUDGET, SIZE, FilteredRead, Limits
from mockbroker.coop.key_filter import KeyFilter, KeyRange
from mockbroker.coop.remainders import Remainders
from mockbroker_protocol.records.batch import (
    GZIP,
    iterate_batches,
    read_batch_header,
    verify_crc,
)
from tests.support.keyed_log import HIGH, LOG_END, LOW, keyed, log_k, spans

if TYPE_CHECKING:
    from collections.abc import Sequence

LOG = log_k()
NOBODY = KeyFilter([], [b"zzz"])
WIDE = 1 << 20


def read(
    offset: int = 0,
    key_filter: KeyFilter | None = None,
    *,
    log: Sequence[bytes] = LOG,
    upper: int = LOG_END,
    max_bytes: int = WIDE,
    min_one: bool = True,
    budget: int = WIDE,
    **limits: Any,
) -> FilteredRead:
    headers = [(read_batch_header(batch), batch) for batch in log]
    wanted = [each for each in headers if offset <= each[0].last_offset < upper]
    return FilteredRead(offset).scan(
        wanted,
        key_filter or KeyFilter([LOW]),
        Limits(max_bytes, min_one, budget, Remainders(), **limits),
    )


def test_the_log_of_the_cases() -> None:
    assert [len(batch) for batch in LOG] == [103, 99, 88, 78, 84]


def test_a_half_of_the_slots() -> None:
    """KF-01."""
    found = read()
    assert spans(found.chunks) == [
        (0, 6, [0, 2]), (7, 9, [7, 8, 9]), (10, 10, [10]), (11, 12, [11])
    ]  # fmt: skip
    assert (found.size_bytes, found.next_offset, found.stopped) == (315, LOG_END, "")
    assert (found.matched_records, found.matched_bytes) == (6, 315 - 78)


def test_the_first_batch_byte_for_byte() -> None:
    """KF-08."""
    first = bytes(read().chunks[0])
    assert len(first) == 79
    begin = "000000000000000000000043000000000285e66caf000000000006"
    assert first.hex().startswith(begin)
    assert verify_crc(first, 0, read_batch_header(first))


@pytest.mark.parametrize("offset", [4, 5])
def test_what_does_not_match_is_covered(offset: int) -> None:
    """KF-03."""
    found = read(offset)
    assert spans(found.chunks) == [
        (4, 6, []), (7, 9, [7, 8, 9]), (10, 10, [10]), (11, 12, [11])
    ]  # fmt: skip
    assert (found.size_bytes, found.next_offset) == (297, LOG_END)


def test_covers_one_after_the_other_are_one() -> None:
    """KF-05."""
    found = read(0, NOBODY)
    assert spans(found.chunks) == [(0, 9, []), (10, 10, [10]), (11, 12, [])]
    assert (found.size_bytes, found.matched_records, found.next_offset) == (200, 0, LOG_END)


def test_keys_themselves() -> None:
    """KF-06."""
    found = read(0, KeyFilter([], [b"a", b"user-1"]))
    assert spans(found.chunks) == [
        (0, 3, [0]), (4, 6, [6]), (7, 9, [7]), (10, 10, [10]), (11, 12, [])
    ]  # fmt: skip
    assert found.size_bytes == 354


def test_nothing_above_the_high_watermark_is_looked_at() -> None:
    """KF-09."""
    found = read(upper=7)
    assert (spans(found.chunks), found.size_bytes) == ([(0, 6, [0, 2])], 79)
    assert found.next_offset == 7


@pytest.mark.parametrize(
    ("max_bytes", "min_one", "size", "next_offset"), [(80, True, 79, 7), (1, True, 79, 7),
                                                     (1, False, 0, 0)],
)  # fmt: skip
def test_sizes(max_bytes: int, min_one: bool, size: int, next_offset: int) -> None:
    """KF-10."""
    found = read(max_bytes=max_bytes, min_one=min_one)
    assert (found.size_bytes, found.next_offset, found.stopped) == (size, next_offset, SIZE)


@pytest.mark.parametrize("budget", [1, 180])
def test_a_pass_looks_at_so_much_and_at_one_batch_at_least(budget: int) -> None:
    """KF-12."""
    found = read(0, NOBODY, budget=budget)
    assert (spans(found.chunks), found.next_offset) == ([(0, 3, [])], 4)
    assert found.stopped == BUDGET


def test_nothing_is_folded_where_that_is_off() -> None:
    """KF-13."""
    found = read(fold=False)
    assert spans(found.chunks) == [
        (0, 3, [0, 2]), (4, 6, []), (7, 9, [7, 8, 9]), (10, 10, [10]), (11, 12, [11])
    ]  # fmt: skip
    assert found.size_bytes == 376


def test_a_compressed_batch_goes_out_uncompressed() -> None:
    """KF-16."""
    found = read(20, log=[keyed(20, "a", "foobar", compression=GZIP)], upper=22)
    assert (spans(found.chunks), found.size_bytes) == ([(20, 21, [20])], 70)


@pytest.mark.parametrize(
    ("policy", "kept"), [("spread", [5, 7]), ("first", list(range(8))), ("exclude", [])]
)
def test_records_without_a_key(policy: str, kept: list[int]) -> None:
    """KF-17."""
    nulls = [keyed(0, *[None] * 8)]
    assert spans(read(log=nulls, null_keys=policy).chunks) == [(0, 7, kept)]
    named = read(0, KeyFilter([], [None]), log=nulls, null_keys=policy)
    assert spans(named.chunks) == [(0, 7, list(range(8)))]


@pytest.mark.parametrize("offset", range(LOG_END))
def test_the_halves_are_the_whole(offset: int) -> None:
    """KF-20."""
    halves = [
        [at for _, _, records in spans(read(offset, KeyFilter([half])).chunks) for at in records]
        for half in (LOW, HIGH)
    ]
    data = [[at for at in half if at != 10] for half in halves]
    assert sorted(data[0] + data[1]) == [at for at in range(offset, LOG_END) if at != 10]
    assert all(half == sorted(half) for half in data)


@given(
    keys=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5), max_size=8),
    cuts=st.lists(st.integers(0, (1 << 31) - 2), max_size=4, unique=True),
    start=st.integers(0, 20),
    max_bytes=st.integers(1, 400),
    budget=st.integers(1, 400),
    fold=st.booleans(),
)
def test_any_division_gives_each_record_once(
    keys: list[list[str]],
    cuts: list[int],
    start: int,
    max_bytes: int,
    budget: int,
    fold: bool,
) -> None:
    """Pass after pass, each reader gets its keys in order, and the batches lie end to end."""
    log, end = [], 0
    for batch in keys:
        log.append(keyed(end, *batch))
        end += len(batch)
    start = min(start, end)
    edges = [-1, *sorted(cuts), (1 << 31) - 1]
    seen: list[int] = []
    for lo, hi in pairwise(edges):
        mine, offset = KeyFilter([KeyRange(lo + 1, hi)]), start
        while offset < end:
            found = read(
                offset, mine, log=log, upper=end, max_bytes=max_bytes, budget=budget, fold=fold
            )
            assert found.size_bytes == sum(map(len, found.chunks))
            tiles = spans(found.chunks)
            assert tiles[0][0] <= offset
            for (_, last, _), (first, _, _) in pairwise(tiles):
                assert first == last + 1
            assert tiles[-1][1] + 1 == found.next_offset > offset
            data = b"".join(found.chunks)
            assert all(verify_crc(data, at, header) for at, header in iterate_batches(data))
            seen += [at for _, _, records in tiles for at in records]
            offset = found.next_offset
    assert sorted(seen) == list(range(start, end))


def test_what_is_only_looked_at_is_kept_for_those_who_read_it() -> None:
    cache = Remainders()
    limits = Limits(WIDE, True, WIDE, cache, cache_bytes=WIDE)
    batches = [(read_batch_header(batch), batch) for batch in LOG]
    looked = FilteredRead(0).scan(batches, KeyFilter([LOW]), limits._replace(takes=False))
    assert (looked.cache_hits, len(cache)) == (0, 4)
    for half in (HIGH, LOW):
        assert FilteredRead(0).scan(batches, KeyFilter([half]), limits).cache_hits == 4
    assert len(cache) == 0


def test_what_does_not_fit_is_kept_for_the_next_fetch() -> None:
    cache = Remainders()
    limits = Limits(80, True, WIDE, cache, cache_bytes=WIDE)
    batches = [(read_batch_header(batch), batch) for batch in LOG]
    found = FilteredRead(0).scan(batches, KeyFilter([LOW]), limits)
    assert (found.stopped, found.next_offset) == (SIZE, 7)
    again = FilteredRead(7).scan(batches[2:3], KeyFilter([LOW]), limits)
    assert (again.cache_hits, again.matched_records) == (1, 3)
