"""Which partitions of its topic a coordinator owns, where there are other brokers.

A broker coordinates what is in the partitions that it leads (Kafka: onElection, onResignation). On
becoming the leader it replays the partition's log before it owns it; on losing the lead whoever is
parked there is sent away. What it writes counts for clients once it is replicated: the partition
tells when its high watermark moves. `peers` makes one for each coordinator; a broker alone owns
everything and needs none.

A long log is replayed in pieces, so that neither clients nor heartbeats wait for it.

Invariant: a partition is owned only while this broker leads it, and after its log was replayed.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.lazy import LazyCoordinator
    from mockbroker.coordinator.log_port import InternalLog
    from mockbroker.coordinator.partition_load import PartitionLoad
    from mockbroker.replica.manager import ReplicaManager
    from mockbroker.replica.partition import Partition


RECORDS_A_STEP: Final = 500
"""So many records of a log are replayed before others get their turn: some 10 ms of work."""


class CoordinatorLeadership:
    """The partitions of `topic` that this broker coordinates."""

    def __init__(
        self,
        topic: str,
        coordinator: LazyCoordinator[Any],
        log: InternalLog,
        replicas: ReplicaManager,
        config: BrokerConfig,
        clock: Clock,
        timer: Timer,
        defer: Callable[[Callable[[], None]], None],
    ) -> None:
        self.topic = topic
        self._coordinator = coordinator
        self._log = log
        self._replicas = replicas
        self._timeout_ms = config.int("offsets.commit.timeout.ms")
        self._clock = clock
        self._timer = timer
        self._defer = defer
        self._led: set[int] = set()
        self._owned: set[int] = set()
        self._loads: dict[int, PartitionLoad[Any]] = {}
        self._load_is_scheduled = False

    def owns(self, partition_index: int) -> bool:
        """Whether requests for the partition are answered here."""
        return partition_index in self._owned

    def high_watermark(self, partition_index: int) -> int:
        """Up to where the in-sync replicas have the partition's log."""
        partition = self._replicas.partition(self.topic, partition_index)
        return 0 if partition is None else partition.high_watermark

    def expire_write(self, expire: Callable[[], None], timeout_ms: float | None) -> TimerTask:
        """Call `expire` when a write has waited for the in-sync replicas too long."""
        if timeout_ms is None:
            timeout_ms = self._timeout_ms
        return self._timer.schedule(self._clock.now_ms + timeout_ms, expire)

    def _high_watermark_updated(self, partition: Partition) -> None:
        if self._coordinator.in_use:
            self._coordinator.service.runtime.high_watermark_updated(
                partition.index, partition.high_watermark
            )

    def role_changed(self, partition: Partition) -> None:
        """The broker leads a partition of the topic from now on, or no longer."""
        index = partition.index
        leads = partition.is_leader and not partition.deleted
        if leads == (index in self._led):
            return
        partition.high_watermark_listener = self._high_watermark_updated if leads else None
        if leads:
            self._led.add(index)
            if partition.log is None or not partition.log.log_end_offset:
                self._owned.add(index)
            else:
                self._defer(lambda: self._load(partition))
        else:
            self._led.discard(index)
            self._owned.discard(index)
            self._loads.pop(index, None)
            if self._coordinator.in_use:
                self._defer(lambda: self._unload(index))

    def _load(self, partition: Partition) -> None:
        index = partition.index
        if index in self._led and index not in self._owned and index not in self._loads:
            self._loads[index] = self._coordinator.service.runtime.begin_load(index)
            if not self._load_is_scheduled:
                self._go_on_loading()

    def _go_on_loading(self) -> None:
        """Replay some of what is to be loaded, one partition after the other."""
        self._load_is_scheduled = False
        left = RECORDS_A_STEP
        runtime = self._coordinator.service.runtime
        while self._loads:
            index, loading = next(iter(self._loads.items()))
            if not runtime.loads(loading):  # a test replaced the log, and it was loaded at once
                del self._loads[index]
                self._owned.add(index)
                continue
            left -= loading.replay(islice(self._log.read(index, loading.next_offset), left))
            if left <= 0:
                self._load_is_scheduled = True
                self._timer.schedule(self._clock.now_ms, self._go_on_loading)
                return
            del self._loads[index]
            self._owned.add(index)
            runtime.end_load(loading)

    def _unload(self, index: int) -> None:
        if index not in self._owned and index not in self._loads:  # the lead is back
            self._coordinator.service.runtime.unload(index)
