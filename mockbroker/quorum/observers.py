"""How far those who follow the metadata log have come, as their fetches tell (Kafka: LeaderState).

For DescribeQuorum. A replica is known by id and directory; one that has not fetched for five
minutes is forgotten, as in Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mockbroker.clock import Clock

OBSERVER_SESSION_TIMEOUT_MS: Final = 300_000
"""Kafka: LeaderState.OBSERVER_SESSION_TIMEOUT_MS."""


@dataclass(slots=True)
class ReplicaProgress:
    """One replica; times are wall times in ms, -1 for never."""

    replica_id: int
    directory_id: bytes
    log_end_offset: int = -1
    last_fetch_ms: int = -1
    last_fetch_end_offset: int = -1
    last_caught_up_ms: int = -1


class Observers:
    """The replicas that fetch and do not vote."""

    __slots__ = ("_clock", "_replicas")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._replicas: dict[tuple[int, bytes], ReplicaProgress] = {}

    def fetched(
        self, replica_id: int, directory_id: bytes, fetch_offset: int, log_end_offset: int
    ) -> None:
        """A replica fetches from `fetch_offset` while the leader's log ends at `log_end_offset`.

        Caught up is who has all there was at its last fetch (ReplicaState.updateFollowerState).
        """
        if replica_id < 0:
            return
        now_ms = self._clock.wall_ms()
        replica = self._replicas.get((replica_id, directory_id))
        if replica is None:
            replica = ReplicaProgress(replica_id, directory_id)
            self._replicas[replica_id, directory_id] = replica
        if fetch_offset >= log_end_offset:
            replica.last_caught_up_ms = max(replica.last_caught_up_ms, now_ms)
        elif 0 < replica.last_fetch_end_offset <= fetch_offset:
            replica.last_caught_up_ms = max(replica.last_caught_up_ms, replica.last_fetch_ms)
        replica.last_fetch_ms = max(replica.last_fetch_ms, now_ms)
        replica.last_fetch_end_offset = log_end_offset
        replica.log_end_offset = fetch_offset

    def current(self) -> list[ReplicaProgress]:
        """Those heard of lately, by id."""
        oldest_ms = self._clock.wall_ms() - OBSERVER_SESSION_TIMEOUT_MS
        for key, replica in list(self._replicas.items()):
            if replica.last_fetch_ms < oldest_ms:
                del self._replicas[key]
        return [replica for _, replica in sorted(self._replicas.items())]

    def clear(self) -> None:
        """A new leader knows nobody."""
        self._replicas.clear()
