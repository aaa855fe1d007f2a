"""`MockBroker.cluster`: what a test does to the brokers of a cluster, from any thread.

Each call is one step of the cluster (see `mockbroker.cluster.controls`): when it returns, what
follows from it has happened, unless a link or the session time-out delays it. Nodes go by their
ids. `LocalClusterView` has how it is done in this process.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from mockbroker.cluster.links.link import CONTROLLER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.cluster.controls import ClusterControls
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.state.reading import Record
    from mockbroker.testing.bridge import Caller

__tracebackhide__ = True

S = TypeVar("S")
T = TypeVar("T")


class NodesView(ABC, Generic[S]):
    """What is done to brokers as a whole, to their links and clocks."""

    def __init__(self, bridge: Caller[S]) -> None:
        self._bridge = bridge

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._bridge!r}>"

    @property
    def brokers(self) -> list[int]:
        """The ids of the brokers that run."""
        return self._bridge.call(self._running)

    def kill(self, node_id: int, *, fence: bool = True, lose: str = "nothing") -> None:
        """Crash a broker; with `fence` False it is found out by its session time-out only.

        With `lose="unflushed"` each of its logs keeps what was flushed alone: rolled segments, and
        what flush.messages says.
        """
        return self._do(lambda controls: controls.kill(node_id, fence=fence, lose=lose))

    def stop(self, node_id: int) -> None:
        """Stop a broker cleanly: its leaders move away first."""
        return self._do(lambda controls: controls.stop(node_id))

    def revive(self, node_id: int) -> None:
        """Start a broker that was killed or stopped, on its old port with its old logs."""
        return self._do(lambda controls: controls.revive(node_id))

    def fence(self, node_id: int) -> None:
        """Let the controller take a running broker for lost."""
        return self._do(lambda controls: controls.fence(node_id))

    def unfence(self, node_id: int) -> None:
        """Undo `fence`."""
        return self._do(lambda controls: controls.unfence(node_id))

    def cut_link(self, source: int, target: int) -> None:
        """Lose what `source` sends to `target`, one way."""
        return self._do(lambda controls: controls.cut_link(source, target))

    def hold_link(self, source: int, target: int) -> None:
        """Let what `source` sends to `target` wait."""
        return self._do(lambda controls: controls.hold_link(source, target))

    def slow_link(self, source: int, target: int, *, seconds: float) -> None:
        """Let what `source` sends take so long to `target`."""
        return self._do(lambda controls: controls.slow_link(source, target, seconds * 1000.0))

    def restore_link(self, source: int, target: int) -> None:
        """Let the link work as before."""
        return self._do(lambda controls: controls.restore_link(source, target))

    def isolate(self, node_id: int) -> None:
        """Cut a broker off from all others and the controller; clients still reach it."""
        return self._do(lambda controls: controls.isolate(node_id))

    def reconnect(self, node_id: int) -> None:
        """Undo `isolate`."""
        return self._do(lambda controls: controls.reconnect(node_id))

    def skew_clock(self, node_id: int, *, seconds: float) -> None:
        """Put a broker's wall clock ahead, or behind."""
        return self._do(lambda controls: controls.skew_clock(node_id, int(seconds * 1000)))

    def _do(self, action: Callable[[ClusterControls], None]) -> None:
        return self._bridge.call(lambda source: action(self._controls(source)))

    # -- how it is done where the bridge leads -------------------------------------------------

    @abstractmethod
    def _controls(self, source: S) -> ClusterControls:
        """What carries the controls out."""

    @abstractmethod
    def _running(self, source: S) -> list[int]: ...


class ClusterView(NodesView[S]):
    """The brokers of one cluster. A call that cannot be carried out raises `ControlError`."""

    CONTROLLER = CONTROLLER
    """The controller's end of a link."""

    # -- look --------------------------------------------------------------------------------

    def leader(self, topic: str, partition: int) -> int:
        """Who leads a partition; -1 when nobody does."""
        return self._state(topic, partition, lambda state: state.leader)

    def isr(self, topic: str, partition: int) -> list[int]:
        """The in-sync set of a partition."""
        return self._state(topic, partition, lambda state: list(state.isr))

    def replicas(self, topic: str, partition: int) -> list[int]:
        """The replicas of a partition, the preferred leader first."""
        return self._state(topic, partition, lambda state: list(state.replicas))

    def coordinator(self, group_id: str) -> int:
        """Who coordinates a consumer group; -1 when nobody does."""
        return self._bridge.call(lambda source: self._controls(source).coordinator(group_id))

    def records(self, topic: str, partition: int, node_id: int) -> list[Record]:
        """What one broker has stored of a partition, up to the end of its log, also if it is down.

        What stands behind the high watermark is there too: a consumer may never see it.
        """
        return self._bridge.call(lambda source: self._stored(source, topic, partition, node_id))

    def wait_in_sync(
        self,
        topic: str,
        partition: int,
        replicas: Sequence[int] | None = None,
        *,
        timeout: float = 10.0,
    ) -> list[int]:
        """Wait until all replicas of a partition are in sync, and are `replicas` if given.

        Returns the in-sync set. Raises WaitTimeoutError, an AssertionError, after `timeout`
        seconds.
        """
        wanted = None if replicas is None else list(replicas)

        def settled(source: S) -> list[int] | None:
            state = self._controls(source).partition_state(topic, partition)
            in_place = not state.adding and set(state.isr) == set(state.replicas)
            return list(state.isr) if in_place and wanted in (None, list(state.replicas)) else None

        def instead(source: S) -> str:
            state = self._controls(source).partition_state(topic, partition)
            where = list(state.replicas) if wanted is None else wanted
            return (
                f"waited {timeout:g} s for {topic}-{partition} in sync on {where}: its"
                f" replicas are {list(state.replicas)}, in sync {list(state.isr)}"
            )

        return self._bridge.wait(settled, timeout, instead)

    def _state(self, topic: str, partition: int, take: Callable[[PartitionState], T]) -> T:
        return self._bridge.call(
            lambda source: take(self._controls(source).partition_state(topic, partition))
        )

    # -- partitions --------------------------------------------------------------------------

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Make an in-sync replica the leader."""
        return self._do(lambda controls: controls.move_leader(topic, partition, to))

    def move_coordinator(self, group_id: str, *, to: int) -> None:
        """Make another broker coordinate a group."""
        return self._do(lambda controls: controls.move_coordinator(group_id, to))

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Put a partition's replicas on these brokers, the preferred leader first.

        It has begun when this returns; `wait_in_sync` with these replicas says when it has ended.
        """
        return self._do(lambda controls: controls.reassign(topic, partition, replicas))

    def elect_preferred(self, topic: str, partition: int) -> None:
        """Let the first of a partition's replicas lead again, as `kafka-leader-election` does.

        Raises ControlError when it leads already, or is not in sync.
        """
        return self._do(lambda controls: controls.elect_preferred(topic, partition))

    def elect_unclean(self, topic: str, partition: int) -> None:
        """Let the first live replica lead a partition without a leader.

        Records that it lacks are lost, acknowledged or not; the others truncate their logs to its.
        """
        return self._do(lambda controls: controls.elect_unclean(topic, partition))

    def shrink_isr(self, topic: str, partition: int, *, without: int) -> None:
        """Take a follower out of the in-sync set; it returns with its next fetch unless held."""
        return self._do(lambda controls: controls.shrink_isr(topic, partition, without))

    def hold_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let a follower fall behind."""
        return self._do(lambda controls: controls.hold_follower(topic, partition, node_id))

    def release_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let it catch up."""
        return self._do(lambda controls: controls.release_follower(topic, partition, node_id))

    def hold_high_watermark(self, topic: str, partition: int) -> None:
        """Let the high watermark stand still on the present leader."""
        return self._do(lambda controls: controls.hold_high_watermark(topic, partition))

    def release_high_watermark(self, topic: str, partition: int) -> None:
        """Let it move again."""
        return self._do(lambda controls: controls.release_high_watermark(topic, partition))

    def tell_high_watermark(self, tell: bool) -> None:
        """Whether followers fetch by v18 and tell their high watermark, or by v17."""
        return self._do(lambda controls: controls.tell_high_watermark(tell))

    @abstractmethod
    def _stored(self, source: S, topic: str, partition: int, node_id: int) -> list[Record]: ...


class LocalClusterView(ClusterView["Cluster"]):
    """The brokers of a cluster in this process."""

    def _controls(self, source: Cluster) -> ClusterControls:
        return source.controls

    def _running(self, source: Cluster) -> list[int]:
        return [each.broker_id for each in source.brokers]

    def _stored(self, source: Cluster, topic: str, partition: int, node_id: int) -> list[Record]:
        from mockbroker.state.reading import read_replica_page

        return read_replica_page(source, topic, partition, 0, node_id, limit=sys.maxsize).records
