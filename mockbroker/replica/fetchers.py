"""Which fetcher of this node follows which partition (Kafka: ReplicaFetcherManager).

The replica manager tells each change of a role; `run` then sends what the changes call for, at the
end of the step, once the metadata of the step have reached everybody.

Invariant: a partition is in the fetcher of its leader exactly while another broker leads it, this
node has a replica, and nobody holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.replica.fetcher import (
    FETCH_VERSION,
    FETCH_VERSION_WITHOUT_HIGH_WATERMARK,
    ReplicaFetcher,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.replica.fetcher import FetchChannel
    from mockbroker.replica.partition import Partition


class ReplicaFetchers:
    """The fetchers by leader. `connect(leader_id)` makes the channel of a new one."""

    __slots__ = (
        "_by_leader",
        "_clock",
        "_config",
        "_connect",
        "_held",
        "_leader_of",
        "_node_id",
        "_timer",
        "_version",
        "broker_epoch",
        "ready",
    )

    def __init__(
        self,
        node_id: int,
        broker_epoch: int,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        connect: Callable[[int], FetchChannel],
    ) -> None:
        self._node_id = node_id
        self.broker_epoch = broker_epoch
        self._clock = clock
        self._timer = timer
        self._config = config
        self._connect = connect
        self._version = FETCH_VERSION
        self._by_leader: dict[int, ReplicaFetcher] = {}
        self._leader_of: dict[Partition, int] = {}
        self._held: dict[tuple[str, int], None] = {}
        self.ready: dict[int, None] = {}
        """The leaders whose fetchers `run` has to poll."""

    def run(self) -> None:
        """Poll with every fetcher whose partitions changed; drop those that are left without."""
        ready, self.ready = self.ready, {}
        for leader_id in ready:
            fetcher = self._by_leader.get(leader_id)
            if fetcher is None:
                continue
            if len(fetcher):
                fetcher.poll()
            else:
                del self._by_leader[leader_id]
                fetcher.close()

    def role_changed(self, partition: Partition) -> None:
        """The partition came, went, or has another leader or epoch. A hold ends with it."""
        if partition.deleted and self._held:
            self._held.pop((partition.topic, partition.index), None)
        wanted = self._wanted_leader(partition)
        current = self._leader_of.get(partition)
        if current is not None and current != wanted:
            del self._leader_of[partition]
            self._by_leader[current].remove(partition)
            self.ready[current] = None
        if wanted is not None:
            fetcher = self._by_leader.get(wanted)
            if fetcher is None:
                fetcher = self._by_leader[wanted] = self._new_fetcher(wanted)
            self._leader_of[partition] = wanted
            fetcher.add(partition)
            self.ready[wanted] = None

    @property
    def held(self) -> frozenset[tuple[str, int]]:
        """What is not fetched until `release`, by topic and index."""
        return frozenset(self._held)

    def hold(self, partition: Partition) -> None:
        """Let it fall behind: it is not fetched until `release`."""
        self._held[partition.topic, partition.index] = None
        self.role_changed(partition)

    def release(self, partition: Partition) -> None:
        """Fetch it again."""
        self._held.pop((partition.topic, partition.index), None)
        self.role_changed(partition)

    def pin_version(self, *, tell_high_watermark: bool) -> None:
        """Whether fetches carry the high watermark (v18, KIP-1166) or do not (v17)."""
        self._version = (
            FETCH_VERSION if tell_high_watermark else FETCH_VERSION_WITHOUT_HIGH_WATERMARK
        )
        for fetcher in self._by_leader.values():
            fetcher.version = self._version

    def idle(self) -> list[ReplicaFetcher]:
        """Those that wait for records and have nothing to tell."""
        return [fetcher for fetcher in self._by_leader.values() if fetcher.is_idle]

    def close(self) -> None:
        """Stop all of them."""
        for fetcher in self._by_leader.values():
            fetcher.close()
        self._by_leader.clear()
        self._leader_of.clear()
        self.ready.clear()

    def _wanted_leader(self, partition: Partition) -> int | None:
        leader_id = partition.leader_id
        if (
            partition.deleted
            or partition.is_leader
            or leader_id < 0
            or (partition.topic, partition.index) in self._held
        ):
            return None
        return leader_id

    def _new_fetcher(self, leader_id: int) -> ReplicaFetcher:
        fetcher = ReplicaFetcher(
            self._connect(leader_id),
            self._clock,
            self._timer,
            self._config,
            self._node_id,
            self.broker_epoch,
        )
        fetcher.version = self._version
        return fetcher
