"""Who insists on stable offsets while a commit is under way (KIP-447, KIP-211: RequireStable).

A coordinator that has written an offset, and waits for its replicas, tells it to who insists once
it is replicated, and never what was there before. It is asked just then, over the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.extension import extension_of
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from simulation.cluster.clients import NodeChannel

if TYPE_CHECKING:
    from random import Random

    from mockbroker.coordinator.group.offset_store import CommittedOffset
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker
    from simulation.cluster.world import ClusterWorld

VERSION = 7


class Ahead(NamedTuple):
    """An offset that is written, and not replicated yet."""

    shard: GroupShard
    group: str
    topic: str
    partition: int
    committed: CommittedOffset

    def holds(self, broker: Broker) -> bool:
        """Whether that is what it has to tell: nothing else was written since."""
        runtime = broker.services.groups.service.runtime
        if runtime.shard_at(self.shard.partition_index) is not self.shard:
            return False
        place = self.group, self.topic, self.partition
        if self.shard.offsets.get(*place) is not self.committed:
            return False
        if broker.services.extension is None:
            return True
        # Where records were committed one by one the stable offset is told, and no position.
        commits = extension_of(broker.services).commits
        return commits.ranges_of(*place, live=True) is None


def offsets_ahead(broker: Broker) -> list[Ahead]:
    """Those of a broker; none that an open transaction would change."""
    groups = broker.services.groups
    found: list[Ahead] = []
    runtime = groups.service.runtime
    for shard in runtime.shards() if groups.in_use else ():
        told = runtime._committed.get(shard.partition_index)  # noqa: SLF001 -- for the audit
        for group, topics in shard.offsets._committed.items():  # noqa: SLF001
            for topic, partitions in topics.items() if told is not None else ():
                for index, one in partitions.items():
                    assert told is not None
                    before = told.offsets.get(group, topic, index)
                    is_ahead = before is None or before.offset != one.offset
                    if is_ahead and not shard.offsets.is_pending(group, topic, index):
                        found.append(Ahead(shard, group, topic, index, one))
    return found


class StableOffsets:
    """Asks for one of them at a time."""

    def __init__(self, world: ClusterWorld, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self.told = 0

    def ask(self, broker: Broker) -> None:
        """Ask for an offset that is under way, if there is one."""
        found = [one for one in offsets_ahead(broker) if one.holds(broker)]
        if not found:
            return
        ahead = self._rng.choice(found)
        channel = NodeChannel(self._world, "insister", broker.broker_id)

        def answered(answer: object | None) -> None:
            if channel.wire is not None:
                channel.wire.close()
            if not isinstance(answer, OffsetFetchResponse) or answer.error_code:
                return
            told = answer.topics[0].partitions[0]
            if told.error_code or not ahead.holds(broker):
                return
            self.told += 1
            if told.committed_offset != ahead.committed.offset:
                self._world.violate(
                    f"broker {broker.broker_id} tells {told.committed_offset} of {ahead[1:4]} to "
                    f"who insists, where {ahead.committed.offset} was written"
                )

        topics = [OffsetFetchRequestTopic(ahead.topic, [ahead.partition])]
        request = OffsetFetchRequest(ahead.group, topics, require_stable=True)
        channel.call(request, VERSION, answered)
