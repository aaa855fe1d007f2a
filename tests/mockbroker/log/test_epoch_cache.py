"""Where leader epochs begin and end (cases of Kafka's LeaderEpochFileCacheTest)."""

from __future__ import annotations

import pytest

from mockbroker.log.epoch_cache import LeaderEpochCache


def _cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    cache = LeaderEpochCache()
    for epoch, start_offset in entries:
        cache.assign(epoch, start_offset)
    return cache


def _entries(cache: LeaderEpochCache) -> list[tuple[int, int]]:
    return list(zip(cache.epochs, cache.start_offsets, strict=True))


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (-1, None),
        (1, (1, 10)),  # older than all: ends where the first begins
        (2, (2, 20)),
        (3, (2, 20)),  # unknown in between: the largest below it
        (4, (4, 30)),
        (7, (7, 55)),  # the latest ends at the log end
        (8, None),
    ],
)
def test_end_offset_of_an_epoch(epoch: int, expected: tuple[int, int] | None) -> None:
    assert _cache((2, 10), (4, 20), (7, 30)).end_offset_for(epoch, 55) == expected


def test_an_empty_cache_knows_no_epoch() -> None:
    cache = LeaderEpochCache()
    assert cache.end_offset_for(0, 10) is None
    assert cache.latest_epoch() == -1
    assert cache.epoch_for_offset(0) == -1


def test_the_same_epoch_again_changes_nothing() -> None:
    assert _entries(_cache((1, 5), (1, 9))) == [(1, 5)]


def test_an_epoch_that_wrote_nothing_gives_way_to_the_next() -> None:
    assert _entries(_cache((1, 5), (2, 5))) == [(2, 5)]


def test_an_older_epoch_or_offset_drops_what_contradicts_it() -> None:
    assert _entries(_cache((1, 5), (3, 8), (2, 9))) == [(1, 5), (2, 9)]
    assert _entries(_cache((1, 5), (3, 8), (4, 6))) == [(1, 5), (4, 6)]


def test_epoch_for_offset_is_the_one_it_was_written_in() -> None:
    cache = _cache((2, 10), (4, 20))
    assert [cache.epoch_for_offset(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 2, 2, 4, 4]


def test_truncation_from_the_end_forgets_later_epochs() -> None:
    cache = _cache((2, 10), (4, 20), (7, 30))
    cache.truncate_from_end(20)
    assert _entries(cache) == [(2, 10)]


def test_truncation_from_the_start_keeps_the_epoch_at_the_new_start() -> None:
    cache = _cache((2, 10), (4, 20), (7, 30))
    cache.truncate_from_start(25)
    assert _entries(cache) == [(4, 25), (7, 30)]
    cache.truncate_from_start(30)
    assert _entries(cache) == [(7, 30)]
    cache.truncate_from_start(3)
    assert _entries(cache) == [(7, 30)]
    cache.clear()
    assert _entries(cache) == []
