"""Who gets a slot, and who must go."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.fetch.cache import FetchSessionCache, FetchSessionCacheShard
from mockbroker.fetch.session import FetchSession
from mockbroker_protocol.messages.fetch import FetchRequestPartition, FetchRequestTopic

if TYPE_CHECKING:
    from collections.abc import Callable


def session(size: int, *, privileged: bool = False) -> FetchSession:
    made = FetchSession(privileged=privileged, uses_topic_ids=False)
    made.update(
        [FetchRequestTopic("t", bytes(16), [FetchRequestPartition(i) for i in range(size)])], []
    )
    return made


def shard(slots: int, eviction_ms: int) -> FetchSessionCacheShard:
    return FetchSessionCacheShard(Random(1), slots, eviction_ms, 1, 2**28, [])


@pytest.fixture
def create() -> Callable[..., FetchSession | None]:
    def attempt(
        cache: FetchSessionCacheShard, now_ms: int, size: int, *, privileged: bool = False
    ) -> FetchSession | None:
        made = session(size, privileged=privileged)
        return made if cache.try_create(made, now_ms) else None

    return attempt


def test_stale_small_and_unprivileged_sessions_go_first(
    create: Callable[..., FetchSession | None],
) -> None:
    """Cases 66 and 67 (FetchSessionTest.testSessionCache)."""
    cache = shard(3, 100)
    s1, s2, s3 = create(cache, 0, 10), create(cache, 10, 20), create(cache, 20, 30)
    assert s1 is not None
    assert s2 is not None
    assert s3 is not None
    assert create(cache, 30, 40) is None
    assert create(cache, 40, 5) is None
    cache.touch(s1, 200)
    s4 = create(cache, 210, 11)
    assert s4 is not None
    assert s2.id not in cache.sessions
    assert cache.evictions == 1
    cache.touch(s1, 400)
    cache.touch(s3, 390)
    cache.touch(s4, 400)
    s5 = create(cache, 410, 50)
    assert s5 is not None
    assert s1.id not in cache.sessions
    assert create(cache, 410, 5) is None
    s6 = create(cache, 410, 5, privileged=True)
    assert s6 is not None
    assert s4.id not in cache.sessions
    assert set(cache.sessions) == {s3.id, s5.id, s6.id}


def test_the_total_of_partitions_follows_at_each_touch(
    create: Callable[..., FetchSession | None],
) -> None:
    """Case 68."""
    cache = shard(2, 100)
    s1, s2 = create(cache, 0, 2), create(cache, 0, 4)
    assert s1 is not None
    assert s2 is not None
    assert cache.total_size == 6
    cache.touch(s1, 200)
    cache.touch(s2, 200)
    s3 = create(cache, 200, 5)
    assert s3 is not None
    assert s1.id not in cache.sessions
    assert (cache.evictions, cache.total_size) == (1, 9)
    cache.remove(s3.id)
    assert (cache.evictions, cache.total_size) == (1, 4)
    s2.size = 3
    assert cache.total_size == 4
    cache.touch(s2, 201)
    assert cache.total_size == 3


def test_the_session_unused_for_longest_goes_when_it_is_stale(
    create: Callable[..., FetchSession | None],
) -> None:
    """Case 69: not before its time is over, and not one that was touched."""
    cache = shard(2, 1_000)
    s1, s2 = create(cache, 0, 1), create(cache, 500, 1)
    assert s1 is not None
    assert s2 is not None
    cache.touch(s1, 1_000)
    assert create(cache, 1_500, 1) is None
    assert create(cache, 1_501, 1) is not None
    assert s2.id not in cache.sessions


def test_followers_displace_young_consumers_and_not_each_other(
    create: Callable[..., FetchSession | None],
) -> None:
    """Cases 70 and 72."""
    cache = shard(2, 1_000)
    s1 = create(cache, 0, 1, privileged=True)
    s2 = create(cache, 500, 100)
    s3 = create(cache, 1_000, 1, privileged=True)
    assert s1 is not None
    assert s2 is not None
    assert s3 is not None
    assert s2.id not in cache.sessions
    assert create(cache, 1_000, 50, privileged=True) is None
    assert create(cache, 1_501, 1, privileged=True) is not None
    assert s1.id not in cache.sessions


def test_new_sessions_go_round_the_shards_and_a_refused_one_counts() -> None:
    """Cases 74 and 76."""
    cache = FetchSessionCache(Random(1), slots=8)
    for _ in range(8):
        assert cache.try_create(session(1), 0)
    assert [len(one.sessions) for one in cache.shards] == [1] * 8
    removed = next(iter(cache.shards[1].sessions))
    assert cache.remove(removed)
    assert not cache.remove(removed)
    assert not cache.try_create(session(1), 0), "shard 0 is full, though shard 1 has room"
    assert cache.try_create(session(1), 0)
    assert (cache.num_sessions, cache.num_partitions, cache.evictions) == (8, 8, 0)


def test_ids_are_positive_unique_and_of_their_shard() -> None:
    """Case 42."""
    cache = FetchSessionCache(Random(7), slots=80_000)
    ids = set()
    for number in range(1_000):
        made = session(0)
        assert cache.try_create(made, 0)
        assert made.id // ((2**31 - 1) // 8) == number % 8
        assert cache.get(made.id) is made
        ids.add(made.id)
    assert len(ids) == 1_000
    assert min(ids) > 0


@pytest.mark.parametrize("session_id", [0, 5, -1, 2**31 - 1, 2**31 - 8, -(2**31)])
def test_ids_that_no_shard_owns_are_unknown(session_id: int) -> None:
    cache = FetchSessionCache(Random(7), slots=8)
    assert cache.get(session_id) is None
    assert not cache.remove(session_id)


def test_a_session_gets_a_free_slot_only_where_slots_reach_every_shard() -> None:
    """Case 75."""
    cache = FetchSessionCache(Random(7), slots=7)
    assert not any(cache.try_create(session(1), 0) for _ in range(16))
