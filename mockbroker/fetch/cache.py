"""The sessions of one node: slots, ids and who must go when they are full.

`FetchManager` looks sessions up, touches and removes them; a full fetch's context asks for a new
one when its answer is made. As in Kafka there are eight shards, each with an eighth of the slots
and of the ids: nothing here needs them for locking, but clients can see them (fewer than eight
slots mean no sessions, and a full shard refuses although its neighbour has room).

Where Kafka keeps three sorted indexes, the victim is searched among the sessions of one full
shard: creation into a full shard is rare, and a poll then pays for no index.

Invariants: a session is in its shard exactly from `try_create` to `remove`; `total_size` is the sum
of the sizes sampled at the last touch of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.fetch.session import INVALID_SESSION_ID

if TYPE_CHECKING:
    from random import Random

    from mockbroker.fetch.session import FetchSession

NUM_SHARDS: Final = 8
EVICTION_MS: Final = 120_000
"""Kafka's min.incremental.fetch.session.eviction.ms, a constant there too."""

_ID_RANGE: Final = (2**31 - 1) // NUM_SHARDS


class FetchSessionCacheShard:
    """One shard (Kafka: FetchSessionCacheShard); its ids are `[first_id, end_id)`."""

    __slots__ = (
        "_end_id",
        "_eviction_ms",
        "_first_id",
        "_max_entries",
        "_rng",
        "evicted",
        "evictions",
        "sessions",
        "total_size",
    )

    def __init__(
        self,
        rng: Random,
        max_entries: int,
        eviction_ms: int,
        first_id: int,
        end_id: int,
        evicted: list[tuple[FetchSession, str]],
    ) -> None:
        """`evicted` collects whom it had to let go, and by which rule, for the journal."""
        self.evicted = evicted
        self._rng = rng
        self._max_entries = max_entries
        self._eviction_ms = eviction_ms
        self._first_id = first_id
        self._end_id = end_id
        self.sessions: dict[int, FetchSession] = {}
        self.total_size = 0
        self.evictions = 0

    def try_create(self, session: FetchSession, now_ms: int) -> bool:
        """Take the session in under a new id, if need be in place of another."""
        if len(self.sessions) >= self._max_entries and not self._try_evict(session, now_ms):
            return False
        session.id = self._new_id()
        session.created_ms = now_ms
        self.sessions[session.id] = session
        self.touch(session, now_ms)
        return True

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """It is used now: its size and its right to stay are sampled anew."""
        session.last_used_ms = now_ms
        size = session.size
        self.total_size += size - session.cached_size
        session.cached_size = size
        aged = now_ms - session.created_ms > self._eviction_ms
        session.evictable_by_all = aged
        session.evictable_by_privileged = aged or not session.privileged

    def remove(self, session_id: int) -> bool:
        """Drop a session; False when there is none of this id."""
        session = self.sessions.pop(session_id, None)
        if session is None:
            return False
        self.total_size -= session.cached_size
        session.close()
        return True

    def _new_id(self) -> int:
        while True:
            session_id = self._rng.randrange(self._first_id, self._end_id)
            if session_id not in self.sessions:
                return session_id

    def _try_evict(self, newcomer: FetchSession, now_ms: int) -> bool:
        """Make room by Kafka's rules (FetchSessionCacheShard.tryEvict); at most one is tried."""
        sessions = self.sessions.values()
        stalest = min(sessions, key=lambda s: (s.last_used_ms, s.id), default=None)
        if stalest is None:
            return False
        if now_ms - stalest.last_used_ms > self._eviction_ms:
            return self._evict(stalest, "idle")
        candidates = (
            [s for s in sessions if s.evictable_by_privileged]
            if newcomer.privileged
            else [s for s in sessions if s.evictable_by_all]
        )
        if not candidates:
            return False
        victim = min(candidates, key=lambda s: (s.privileged, s.cached_size, s.id))
        if (newcomer.privileged, newcomer.size, INVALID_SESSION_ID) < (
            victim.privileged,
            victim.cached_size,
            victim.id,
        ):
            return False
        return self._evict(victim, "aged" if victim.evictable_by_all else "unprivileged")

    def _evict(self, session: FetchSession, rule: str) -> bool:
        self.evictions += 1
        self.evicted.append((session, rule))
        return self.remove(session.id)


class FetchSessionCache:
    """All shards (Kafka: FetchSessionCache). New sessions go round the shards."""

    __slots__ = ("_attempts", "evicted", "shards")

    def __init__(self, rng: Random, slots: int, eviction_ms: int = EVICTION_MS) -> None:
        self.evicted: list[tuple[FetchSession, str]] = []
        self.shards = [
            FetchSessionCacheShard(
                rng,
                slots // NUM_SHARDS,
                eviction_ms,
                max(1, number * _ID_RANGE),
                (number + 1) * _ID_RANGE,
                self.evicted,
            )
            for number in range(NUM_SHARDS)
        ]
        self._attempts = 0

    def get(self, session_id: int) -> FetchSession | None:
        """The session of this id. Ids that no shard owns are simply unknown."""
        return self.shards[session_id // _ID_RANGE % NUM_SHARDS].sessions.get(session_id)

    def try_create(self, session: FetchSession, now_ms: int) -> bool:
        """Give the session an id and a slot. A refused attempt moves on to the next shard too."""
        shard = self.shards[self._attempts % NUM_SHARDS]
        self._attempts += 1
        return shard.try_create(session, now_ms)

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """Each poll of the session does."""
        self.shards[session.id // _ID_RANGE % NUM_SHARDS].touch(session, now_ms)

    def remove(self, session_id: int) -> bool:
        """Drop a session; False when there is none of this id."""
        return self.shards[session_id // _ID_RANGE % NUM_SHARDS].remove(session_id)

    @property
    def num_sessions(self) -> int:
        """Kafka: NumIncrementalFetchSessions."""
        return sum(len(shard.sessions) for shard in self.shards)

    @property
    def num_partitions(self) -> int:
        """Kafka: NumIncrementalFetchPartitionsCached, by the sizes at the last touch."""
        return sum(shard.total_size for shard in self.shards)

    @property
    def evictions(self) -> int:
        """Kafka: IncrementalFetchSessionEvictionsPerSec; a client's own close does not count."""
        return sum(shard.evictions for shard in self.shards)
