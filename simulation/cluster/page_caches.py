"""Whether Kafka promises that what was committed outlives a broker that goes down.

A machine that goes down takes what its broker had not flushed with it. That loses nothing while
another replica has it: one that is in the in-sync set or eligible, for the controller drops each
from both that comes back without a clean shutdown (KIP-966; BrokerUncleanShutdownHandler). Until
it has registered anew it is still in them: when all others that are go down uncleanly meanwhile,
the one that lost its tail leads at last as the last known leader, and Kafka loses what it lacks.

`kill` and `reassign` refuse what would come to that, whether an operator drew it or a shrunk run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.node_controls import ControlError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.changes import PartitionState


class PageCaches:
    """Knows who was killed and has not registered anew."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._killed: dict[int, tuple[int, bool]] = {}
        """By node: under which registration, and whether it lost what it had not flushed."""

    def kill(self, node_id: int, *, fence: bool = True, lose: str = "nothing") -> None:
        """Kill a broker, unless something that is committed may go with it."""
        cluster = self._cluster
        if lose == "nothing":
            self._check_others(node_id)
        else:
            self._check_all_well(node_id)
        registration = cluster.metadata.brokers[node_id]
        cluster.controls.kill(node_id, fence=fence, lose=lose)
        self._killed[node_id] = registration.epoch, lose != "nothing"

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Put the replicas elsewhere, unless only one of those may keep that lost its tail."""
        found = self._cluster.metadata.topics.get(topic)
        if found is not None and partition < len(found.partitions):
            state = found.partitions[partition]
            if self._may_lack(state) and not self._complete(state).intersection(replicas):
                raise ControlError(f"{topic}-{partition} is nowhere else complete")
        self._cluster.controls.reassign(topic, partition, replicas)

    def _check_all_well(self, node_id: int) -> None:
        """A machine may go down while all are up and in sync, and others have what it has."""
        if len(self._cluster.brokers) < len(self._cluster.nodes) or any(self._unheard()):
            raise ControlError("another broker is down")
        for state in self._partitions():
            if len(state.isr) < len(state.replicas) or [*state.replicas] == [node_id]:
                raise ControlError("some replica is not in sync, or the only one")

    def _check_others(self, node_id: int) -> None:
        """A broker may crash while each partition is complete at another one."""
        for state in self._partitions():
            if self._may_lack(state) and not self._complete(state) - {node_id}:
                raise ControlError(f"broker {node_id} has what another one lost")

    def _partitions(self) -> Iterator[PartitionState]:
        for topic in self._cluster.metadata.topics.values():
            yield from topic.partitions

    def _unheard(self) -> Iterator[int]:
        """Those that were killed, and the controller knows of nothing after that."""
        brokers = self._cluster.metadata.brokers
        for node, (epoch, _) in self._killed.items():
            if brokers[node].epoch == epoch:
                yield node

    def _may_lack(self, state: PartitionState) -> bool:
        """Whether one counts as complete that has lost its tail."""
        return any(self._killed[node][1] for node in self._unheard() if node in _counted(state))

    def _complete(self, state: PartitionState) -> set[int]:
        """Who counts as complete, and was not killed since."""
        return set(_counted(state)).difference(self._unheard())


def _counted(state: PartitionState) -> Collection[int]:
    return (*state.isr, *state.elr)
