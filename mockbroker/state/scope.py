"""Scopes: nothing that happens in one is left when it ends.

`begin` notes what is small and may change at any time, such as links, faults and the clock; of
records and metadata it notes nothing: these are kept when they change for the first time (see
`replica.kept_logs` and `metadata_marks`). So a scope costs what was touched in it, not what there
is. The end goes back in the order in which things hang on each other: faults, so that nothing
comes between; brokers and links, so that all hear of it; metadata; logs, under a new leader epoch
each; then the coordinators, which take over what their logs say.

Connections live on. Their clients are told what Kafka would tell them: that a topic, a member or an
offset is unknown, that a log was truncated. What does not come back is told by `end`.

A broker's life is a scope too: `reset` goes back to its beginning.

Invariant: scopes lie in each other; who ends one ends those that began in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from mockbroker.cluster.marks import ClusterMarks, quorum_of
from mockbroker.state.metadata_marks import MetadataMarks
from mockbroker.state.reloading import reload_coordinators

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.cluster.nodes import Node
    from mockbroker.faults.fault_set import FaultsMark
    from mockbroker.log.checkpoint import LogCheckpoint
    from mockbroker.replica.kept_logs import LogKey

MarkT = TypeVar("MarkT")
_FAILED = "the end of the scope failed"


class ScopedTime(Protocol[MarkT]):
    """The clock, as `network.timekeeper.TimeKeeper` has it."""

    def mark(self) -> MarkT:
        """The time, how it passes, and what it would be now if nobody had moved it."""

    def back_to(self, mark: MarkT, /) -> None:
        """Let the wall time be, and pass, as if nobody had moved it since."""


class Scope(Generic[MarkT]):
    """What a cluster was when the scope began, as far as it changed since."""

    def __init__(self, cluster: Cluster, time: ScopedTime[MarkT]) -> None:
        self._cluster = cluster
        self._time = time
        self._metadata = MetadataMarks(cluster)
        self._logs = [node.kept_logs.begin(self._metadata) for node in cluster.nodes]
        cluster.metadata.watch_before(self._metadata.before)
        self._outer_began_ms = cluster.journal.began_ms
        self._note()

    def left_over(self) -> tuple[str, ...]:
        """What `restore` does not take back, in words; nothing, as a rule."""
        epoch = _metadata_epoch(self._cluster)
        if epoch == self._metadata_epoch:
            return ()
        return (f"the metadata log is in epoch {epoch}, where it was in {self._metadata_epoch}",)

    def _note(self) -> None:
        """Note what is not kept at its first change; the journal tells times since now."""
        cluster = self._cluster
        cluster.journal.began_ms = cluster.clock.now_ms
        self._began_ms = cluster.clock.now_ms
        self._metadata_epoch = _metadata_epoch(cluster)
        self._time_mark = self._time.mark()
        self._faults: FaultsMark | None = cluster.faults.mark() if cluster.has_faults else None
        self._nodes = ClusterMarks(cluster)
        self._rooms = {broker.broker_id: broker.services.mark() for broker in cluster.brokers}

    def close(self) -> None:
        """Note nothing more."""
        self._cluster.journal.began_ms = self._outer_began_ms
        self._cluster.metadata.unwatch_before(self._metadata.before)
        for node, kept in zip(self._cluster.nodes, self._logs, strict=True):
            node.kept_logs.end(kept)

    def start_anew(self) -> None:
        """Go on as if the scope began now."""
        self._metadata.start_anew()
        for node, kept in zip(self._cluster.nodes, self._logs, strict=True):
            node.kept_logs.start_anew(kept)
        self._note()

    def restore(self) -> None:
        """Make the cluster what it was."""
        cluster = self._cluster
        if cluster.has_faults:
            cluster.faults.back_to(self._faults, cluster.clock.now_ms - self._began_ms)
        self._nodes.bring_up()
        self._nodes.take_down()
        self._metadata.restore()
        cluster.interconnect.drain()
        changed = self._restore_logs()
        self._metadata.begin_epochs(changed)
        cluster.interconnect.drain()
        self._reload_coordinators(changed)
        cluster.interconnect.drain()
        self._nodes.hold_back()
        for broker in cluster.brokers:
            broker.services.back_to(self._rooms[broker.broker_id])
        self._time.back_to(self._time_mark)
        cluster.interconnect.drain()

    # -- logs ----------------------------------------------------------------------------------

    def _restore_logs(self) -> list[LogKey]:
        """Put back the logs that are others now; the partitions of which some replica was."""
        changed: dict[LogKey, None] = {}
        for node, kept in zip(self._cluster.nodes, self._logs, strict=True):
            for key, checkpoint in kept.checkpoints.copy().items():
                if self._restore_log(node, key, checkpoint):
                    changed[key] = None
        return list(changed)

    def _restore_log(self, node: Node, key: LogKey, checkpoint: LogCheckpoint) -> bool:
        """Whether the node's log was another."""
        if node.broker is None:
            now = node.logs.get(key)
            if now is not None and checkpoint.is_state_of(now):
                return False
            node.logs[key] = checkpoint.restored(now)
            return True
        topic = node.broker.services.metadata.topics_by_id.get(key[0])
        replicas = node.broker.services.replicas
        partition = None if topic is None else replicas.partition(topic.name, key[1])
        if topic is None or partition is None:
            return False
        if partition.log is not None and checkpoint.is_state_of(partition.log):
            return False
        log = checkpoint.restored(partition.log)
        log.config = topic.config.log_config
        partition.replace_log(log)
        return True

    def _reload_coordinators(self, changed: list[LogKey]) -> None:
        by_topic: dict[bytes, list[int]] = {}
        for topic_id, index in changed:
            by_topic.setdefault(topic_id, []).append(index)
        for topic_id, indexes in by_topic.items():
            topic = self._cluster.metadata.topics_by_id[topic_id]
            reload_coordinators(self._cluster, topic.name, indexes)


def _metadata_epoch(cluster: Cluster) -> int:
    """That of the metadata log, as observers have met it; 0 without one."""
    quorum = quorum_of(cluster)
    return 0 if quorum is None else quorum.epoch


class Scopes(Generic[MarkT]):
    """The open scopes of one cluster; the outermost is its life."""

    def __init__(self, cluster: Cluster, time: ScopedTime[MarkT]) -> None:
        self._cluster = cluster
        self._time = time
        self._open = [Scope(cluster, time)]
        self.left_over: tuple[str, ...] = ()
        """What the end of the last scope, or a reset, could not take back."""

    def begin(self) -> Scope[MarkT]:
        """Open a scope in those that are open."""
        scope = Scope(self._cluster, self._time)
        self._open.append(scope)
        return scope

    def is_open(self, scope: Scope[MarkT]) -> bool:
        """Whether it has not ended yet, by itself or with one around it."""
        return scope in self._open[1:]

    def end(self, scope: Scope[MarkT]) -> None:
        """Make the cluster what it was when the scope began; nothing if it has ended before."""
        if self.is_open(scope):
            found, self.left_over = scope.left_over(), (_FAILED,)
            try:
                scope.restore()
            finally:
                self._close_from(self._open.index(scope))
            self.left_over = found

    def reset(self) -> None:
        """Make the cluster what it was at the start; all scopes end."""
        life = self._open[0]
        self._cluster.journal.take_refusals()
        if self._cluster.has_faults:
            self._cluster.faults.reset()
        self.left_over = life.left_over()
        life.restore()
        self._close_from(1)
        life.start_anew()

    def _close_from(self, index: int) -> None:
        while len(self._open) > index:
            self._open.pop().close()
