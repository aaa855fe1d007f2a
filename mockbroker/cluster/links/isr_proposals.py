"""A broker's in-sync sets on their way to the controller (Kafka: AlterPartitionManager).

A leader proposes; what the controller decides comes back with the metadata. Without news it sends
the proposal again: the controller may have agreed, and then a leader that forgot it would let its
high watermark pass replicas that may lead (KIP-497). Only what the controller refused while both
knew the same state is forgotten, and the leader may propose another. Every half of
replica.lag.time.max.ms the leader looks for followers that lag.
"""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.replica.manager import ReplicaManager
    from mockbroker.replica.partition import Partition

    Send = Callable[[Callable[[], None]], None]
    Propose = Callable[[bytes, int, int, int, list[int], list[int]], ErrorCode]

RETRY_MS: Final = 1000
"""Without news for so long, a proposal is sent again."""

_NEWS_COMES: Final = frozenset(
    (
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
"""The controller decided something that the leader has not heard of (handleAlterPartitionError)."""


class IsrProposals:
    """`propose(topic_id, index, leader epoch, partition epoch, isr, broker epochs)` is the
    controller's end.

    `send(action)` runs an action there: over a link, or at the end of the step when the controller
    is in the same broker.
    """

    def __init__(
        self, clock: Clock, timer: Timer, replicas: ReplicaManager, send: Send, propose: Propose
    ) -> None:
        self._clock = clock
        self._timer = timer
        self._replicas = replicas
        self._send = send
        self._propose = propose
        self.interval_ms = 0
        self.task: TimerTask | None = None
        """The next look for followers that lag."""
        self._look_later()

    @property
    def is_idle(self) -> bool:
        """Whether looking for followers that lag finds none, however late it is."""
        return all(partition.is_in_step for partition in self._replicas.led_partitions())

    def propose(self, partition: Partition, isr: list[int]) -> None:
        """Ask for an in-sync set, of brokers in the registrations that they have now."""
        followers = partition.followers
        assert followers is not None
        self._ask(partition, isr, [followers.broker_epoch(node) for node in isr])

    def _ask(self, partition: Partition, isr: list[int], broker_epochs: list[int]) -> None:
        epochs = partition.leader_epoch, partition.state.partition_epoch
        self._send(partial(self._arrive, partition, epochs, isr, broker_epochs))
        again = partial(self._propose_again, partition, isr, broker_epochs)
        self._timer.schedule(self._clock.now_ms + RETRY_MS, again)

    def _propose_again(
        self, partition: Partition, isr: list[int], broker_epochs: list[int]
    ) -> None:
        followers = partition.followers
        if followers is not None and followers.proposed is isr and not partition.deleted:
            self._ask(partition, isr, broker_epochs)

    def _arrive(
        self,
        partition: Partition,
        epochs: tuple[int, int],
        isr: list[int],
        broker_epochs: list[int],
    ) -> None:
        error = self._propose(partition.topic_id, partition.index, *epochs, isr, broker_epochs)
        if error and error not in _NEWS_COMES:
            self._forget(partition, isr)

    def _forget(self, partition: Partition, isr: list[int]) -> None:
        followers = partition.followers
        if followers is not None and followers.proposed is isr:
            followers.proposed = None

    def _look_later(self) -> None:
        self.interval_ms = ceil(self._replicas.max_lag_ms() / 2)
        self.task = self._timer.schedule(self._clock.now_ms + self.interval_ms, self._look)

    def _look(self) -> None:
        for partition in self._replicas.led_partitions():
            partition.shrink_in_sync()
        self._look_later()
