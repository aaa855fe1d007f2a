"""What a filter left over, kept for the next one (KF-25, KF-27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coop import remainders as module
from mockbroker.coop.filtered_read import FilteredRead, Limits
from mockbroker.coop.key_filter import KeyFilter, KeyRange
from mockbroker.coop.remainders import RECORD_OVERHEAD, Remainders, Source, without
from mockbroker_protocol.records.batch import (
    GZIP,
    build_batch,
    iterate_batches,
    iterate_records,
    read_batch_header,
)
from tests.support.keyed_log import HIGH, LOW, keyed, log_k, spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PLACE = (b"t" * 16, 0)
BIG = 1 << 20
WHOLE = KeyRange(LOW.lo, HIGH.hi)


LOG = log_k()
PACKED = [
    build_batch(list(iterate_records(batch, 0, read_batch_header(batch))), compression=GZIP)
    for batch in LOG
    if not read_batch_header(batch).is_control
]


def read(
    cache: Remainders,
    *ranges: KeyRange,
    offset: int = 0,
    budget: int = BIG,
    keys: Iterable[bytes | None] = (),
    keeps_keys: bool = False,
    log: Sequence[bytes] = LOG,
) -> tuple[list[int], int]:
    """The offsets of the records found, and how many batches came from the cache."""
    batches = []
    for batch in log:
        ((_, header),) = iterate_batches(batch)
        if header.last_offset >= offset:
            batches.append((header, memoryview(batch)))
    found = FilteredRead(offset).scan(
        batches,
        KeyFilter(ranges, keys),
        Limits(BIG, True, BIG, cache, PLACE, cache_bytes=budget, keeps_keys=keeps_keys),
    )
    data = [each for each in spans([bytes(one) for one in found.chunks]) if each[0] != 10]
    return [record for _, _, records in data for record in records], found.cache_hits


LOWS, HIGHS = [0, 2, 7, 8, 9, 11], [1, 3, 4, 5, 6, 12]


def test_kf_25_who_comes_second_finds_what_the_first_left() -> None:
    cache = Remainders()
    assert read(cache, LOW) == (LOWS, 0)
    assert (cache.misses, len(cache), cache.size_bytes) == (4, 3, 220)
    assert read(cache, HIGH) == (HIGHS, 4)
    # That nothing is left of the third batch is known too.
    assert (cache.hits, cache.misses, len(cache), cache.size_bytes) == (4, 4, 0, 0)
    # Sent is forgotten: the same again comes from the log.
    assert read(cache, HIGH) == (HIGHS, 0)
    assert (cache.hits, cache.misses, cache.size_bytes) == (4, 8, 198)


def test_kf_27_a_budget() -> None:
    cache = Remainders()
    assert read(cache, LOW, budget=100) == (LOWS, 0)
    assert (len(cache), cache.size_bytes, cache.evictions) == (1, 38, 1)
    assert read(cache, HIGH, budget=100)[0] == HIGHS


def test_where_records_are_is_enough() -> None:
    """The same with `range.fetch.load=key`: less is kept, and the batch is inflated again."""
    cache = Remainders()
    assert read(cache, LOW, keeps_keys=True) == (LOWS, 0)
    assert (len(cache), cache.size_bytes) == (3, 6 * RECORD_OVERHEAD + 28)
    assert read(cache, HIGH, keeps_keys=True) == (HIGHS, 4)
    assert (len(cache), cache.size_bytes) == (0, 0)
    assert read(cache, HIGH, keeps_keys=True) == (HIGHS, 0)
    assert (len(cache), cache.size_bytes) == (3, 6 * RECORD_OVERHEAD + 6)
    assert read(cache, LOW, offset=8) == ([8, 9, 11], 2)


def test_what_is_kept_may_change() -> None:
    cache = Remainders()
    read(cache, LOW, keeps_keys=True)
    assert read(cache, HIGH, keeps_keys=False) == (HIGHS, 4)


def test_a_fetch_that_is_sent_again_loses_nothing() -> None:
    cache = Remainders()
    for _ in range(3):
        assert read(cache, LOW)[0] == LOWS
    assert cache.hits == 0


def test_thirds_take_what_is_theirs() -> None:
    cache = Remainders()
    quarter = KeyRange(HIGH.lo, HIGH.lo + (1 << 29) - 1)
    last = KeyRange(quarter.hi + 1, HIGH.hi)
    assert read(cache, LOW)[0] == LOWS
    first, hits = read(cache, quarter)
    assert hits == 4
    second, hits = read(cache, last)
    assert hits == 4
    assert sorted(first + second) == HIGHS


def test_what_lies_before_the_offset_is_not_given() -> None:
    cache = Remainders()
    read(cache, LOW)
    assert read(cache, HIGH, offset=3) == ([3, 4, 5, 6, 12], 4)


def test_keys_are_found_by_their_slots() -> None:
    cache = Remainders()
    read(cache, LOW)
    assert read(cache, keys=[b"foobar"]) == ([1, 4], 4)
    assert read(cache, keys=[b"foobar"]) == ([1, 4], 0)  # it went out
    assert read(cache, LOW, keys=[b"foobar"]) == ([0, 1, 2, 4, 7, 8, 9, 11], 0)
    assert read(cache, HIGH, keys=[b"a"]) == (sorted([*HIGHS, 0, 7]), 0)


def test_a_key_is_told_from_another_of_its_slot() -> None:
    log = [keyed(0, "k30719", "k54508", "k30719")]
    cache = Remainders()
    assert read(cache, KeyRange(0, 9), log=log) == ([], 0)
    assert read(cache, keys=[b"k54508"], log=log) == ([1], 1)
    assert read(cache, keys=[b"k30719"], log=log) == ([0, 2], 0)  # its slot went out


def test_keys_are_looked_for_one_by_one_where_nothing_is_kept_or_null_is_one() -> None:
    cache = Remainders()
    assert read(cache, keys=[b"foobar"], budget=0) == ([1, 4], 0)
    assert read(cache, keys=[b"foobar", None]) == ([1, 4], 0)
    assert len(cache) == 0


def test_another_batch_at_the_same_offset_is_no_match() -> None:
    cache = Remainders()
    read(cache, LOW)
    ((_, header),) = iterate_batches(log_k()[0])
    there = Source((*PLACE, 0), header.crc, "spread")
    assert cache.find(there._replace(crc=1), [HIGH]) is None
    assert cache.find(there._replace(null_keys="first"), [HIGH]) is None
    assert cache.find(there._replace(key=(PLACE[0], 1, 0)), [HIGH]) is None
    assert cache.find(there, [WHOLE]) is None
    assert cache.find(there, [HIGH]) is not None


def test_what_is_forgotten() -> None:
    cache = Remainders()
    read(cache, LOW)
    cache.forget_topic(b"u" * 16)
    assert len(cache) == 3
    cache.forget_topic(PLACE[0])
    assert (len(cache), cache.size_bytes) == (0, 0)
    read(cache, LOW)
    cache.clear()
    assert (len(cache), cache.size_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ([], [(0, 99)]),
        ([(0, 99)], []),
        ([(0, 9)], [(10, 99)]),
        ([(90, 200)], [(0, 89)]),
        ([(10, 19), (30, 39)], [(0, 9), (20, 29), (40, 99)]),
        ([(200, 300)], [(0, 99)]),
    ],
)
def test_ranges_without_others(taken: list[tuple[int, int]], left: list[tuple[int, int]]) -> None:
    found = without([KeyRange(0, 99)], [KeyRange(*each) for each in taken])
    assert found == tuple(KeyRange(*each) for each in left)


EIGHTHS = [KeyRange(part << 28, ((part + 1) << 28) - 1) for part in range(8)]


KEYS = st.sets(st.sampled_from([b"a", b"foobar", b"21", b"c", b"zzz"]), max_size=2)


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from(EIGHTHS), min_size=1), KEYS, st.integers(0, 12), st.booleans()
        )
    ),
    st.integers(0, 400),
    st.sampled_from([LOG, PACKED]),
)
def test_the_cache_changes_no_answer(
    fetches: list[tuple[set[KeyRange], set[bytes], int, bool]], budget: int, log: list[bytes]
) -> None:
    cache = Remainders()
    for ranges, keys, offset, keeps_keys in fetches:
        expected, _ = read(Remainders(), *ranges, keys=keys, offset=offset, budget=0, log=log)
        found = read(
            cache,
            *ranges,
            keys=keys,
            offset=offset,
            budget=budget,
            keeps_keys=keeps_keys,
            log=log,
        )
        assert found[0] == expected
        assert cache.size_bytes == sum(one.charge for one in cache._entries.values()) <= budget


def test_batches_of_which_nothing_is_left_are_known_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_SPENT", 2)
    cache = Remainders()
    log = [keyed(offset, "a") for offset in range(3)]
    assert read(cache, LOW, log=log) == ([0, 1, 2], 0)
    assert (len(cache), cache.size_bytes) == (0, 0)
    assert read(cache, HIGH, log=log) == ([], 2)


def test_inflated_records_that_went_out_are_thrown_away() -> None:
    cache = Remainders()
    batch = keyed(0, *[f"key-{number}" for number in range(64)], compression=GZIP)
    for at, part in enumerate(EIGHTHS):
        assert read(cache, part, log=[batch])[1] == (at > 0)
        for entry in cache._entries.values():
            assert entry.plain is not None
            assert len(entry.plain) <= 2 * entry.charge
    assert (len(cache), cache.size_bytes, cache.misses) == (0, 0, 1)
