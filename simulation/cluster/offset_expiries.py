"""When offsets of groups expire in the cluster's simulation, at rest (KIP-211).

- One with a time of its own goes in the first round that is not before that time; one of a topic
  that a member of its group reads stays.
- Those of a classic group stay until it was empty for as long as they are kept.
- Those of a topic that is deleted go with it.
- In the end no group is left that nobody is a member of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.group.states import GroupState
from mockbroker.coordinator.runtime import partition_for
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from simulation.clients import frame_of
from simulation.cluster.classic_assignor import assignment_bytes, subscription_bytes
from simulation.cluster.plan import RETENTION_CHECK_MS, RETENTION_MINUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker
    from simulation.cluster.world import ClusterWorld

COMMIT_WITH_RETENTION, HEARTBEAT = 4, 1
JOIN, SYNC, LEAVE = 3, 2, 1
STAYS_MS = 60_000
BEAT_MS = 80.0
REPLICATED_MS = 400.0
LEAVES_MS = 6_000.0
"""Whoever is in a group still is out of it by then."""
RETENTION_MS = RETENTION_MINUTES * 60_000
FIRST, DUE, NOT_YET, READ = "expiring", "expiring-now", "expiring-later", "expiring-not"
EXACT, LEFT = "expiring-exactly", "expiring-once-left"
MEMBER, GOES = "of-the-expiries", "expiring-topic"


class Emptied(NamedTuple):
    """A group that nobody is in: until when its offsets stay, by its coordinator's wall time, or
    by that of the simulation.
    """

    broker: Broker
    shard: GroupShard
    group_id: str
    until_ms: int


def shards_of(world: ClusterWorld) -> Iterator[tuple[Broker, GroupShard]]:
    """What coordinators of groups have."""
    for broker in world.cluster.brokers:
        if broker.services.groups.in_use:
            runtime = broker.services.groups.service.runtime
            for shard in runtime.shards():
                if runtime.is_owned(shard.partition_index):
                    yield broker, shard


class OffsetExpiries:
    """Looks at groups while time passes; `topic` is one that there is."""

    def __init__(self, world: ClusterWorld, topic: str) -> None:
        self._world = world
        self._topic = topic

    # -- to the millisecond ----------------------------------------------------------------------

    def check_rounds(self) -> None:
        """Commit offsets that are due in the next round, and just not."""
        found = self._coordinator()
        if found is None:
            return
        broker, shard = found
        self._commit(broker, FIRST, -1)  # from now on there are rounds
        self._world.run_for(REPLICATED_MS)
        task = broker.services.groups.service._expiry._tasks.get(shard)  # noqa: SLF001
        if task is None or not shard.offsets.of_group(FIRST):
            return  # it may not commit
        if task.tick_ms - self._world.now_ms < 2 * REPLICATED_MS:
            self._world.run_for(2 * REPLICATED_MS)
            task = broker.services.groups.service._expiry._tasks.get(shard)  # noqa: SLF001
        if task is None:
            return  # that shard is gone
        tick_ms = task.tick_ms
        self._world.run_for(max(0.0, tick_ms - 2 * REPLICATED_MS - self._world.now_ms))
        for name, more_ms in ((DUE, 0), (NOT_YET, 1), (READ, 0)):
            self._commit(broker, name, tick_ms + more_ms - int(self._world.now_ms))
        self._join(broker, 0)
        while self._world.now_ms < tick_ms + REPLICATED_MS / 2:
            self._world.run_for(BEAT_MS)
            group = shard.consumer_groups.get(READ)
            member = None if group is None else group.members.get(MEMBER)
            if member is not None:
                self._join(broker, member.epoch)
        if self._coordinator() != found:
            return
        there = {name: bool(shard.offsets.of_group(name)) for name in (DUE, NOT_YET, READ)}
        group = shard.consumer_groups.get(READ)
        reads = group is not None and group.is_subscribed_to(self._topic)
        if there != {DUE: False, NOT_YET: True, READ: reads}:
            self._world.violate(f"offsets that are due at {tick_ms} are there or not: {there}")

    def _coordinator(self) -> tuple[Broker, GroupShard] | None:
        topic = self._world.cluster.metadata.topics.get(GROUP_METADATA_TOPIC)
        if topic is None:
            return None
        index = partition_for(FIRST, len(topic.partitions))
        leader = topic.partitions[index].leader
        for broker, shard in shards_of(self._world):
            if broker.broker_id == leader and shard.partition_index == index:
                return broker, shard
        return None

    def _commit(
        self,
        broker: Broker,
        group: str,
        retention_ms: int,
        topic: str = "",
        as_member: tuple[int, str] = (-1, ""),
    ) -> None:
        parts = [OffsetCommitRequestPartition(0, 1)]
        of = OffsetCommitRequestTopic(topic or self._topic, partitions=parts)
        request = OffsetCommitRequest(
            group, *as_member, retention_time_ms=retention_ms, topics=[of]
        )
        self._world.probe(frame_of(request, COMMIT_WITH_RETENTION, 1, MEMBER), broker)

    def _join(self, broker: Broker, epoch: int) -> None:
        request = ConsumerGroupHeartbeatRequest(READ, MEMBER, epoch)
        if not epoch:
            request.rebalance_timeout_ms = 1_000
            request.subscribed_topic_names, request.topic_partitions = [self._topic], []
        self._world.probe(frame_of(request, HEARTBEAT, 1, MEMBER), broker)

    # -- with their topic ------------------------------------------------------------------------

    def check_deletion(self) -> None:
        """Commit an offset of a topic that is deleted then."""
        world, topics = self._world, self._world.cluster.controller
        found = self._coordinator()
        if found is None:
            return
        world.operate(lambda: topics.create_topics([NewTopic(GOES, 1)]))
        world.run_for(REPLICATED_MS)
        self._commit(found[0], GOES, -1, GOES)
        world.run_for(REPLICATED_MS)
        there = bool(found[1].offsets.of_group(GOES))
        world.operate(lambda: topics.delete_topics([TopicReference(GOES)]))
        world.run_for(REPLICATED_MS)
        if there and self._coordinator() == found and found[1].offsets.of_group(GOES):
            world.violate(f"offsets of {GOES} outlive their topic")

    # -- until all is gone -----------------------------------------------------------------------

    def check_retention(self, passes_ms: float) -> None:
        """Let so much time pass; offsets stay for as long as they must, and then go."""
        world = self._world
        until_ms = world.now_ms + passes_ms
        self._empty_later()
        exact = self._commit_in_a_round()
        world.run_for(LEAVES_MS)
        emptied = [*self._emptied()]
        ends_ms = (one.until_ms - one.broker.services.clock.epoch_ms for one in emptied)
        first_ms = min(ends_ms, default=0) - 4 * RETENTION_CHECK_MS
        world.run_for(max(0.0, first_ms - world.now_ms))
        while world.now_ms < until_ms and emptied:
            world.run_for(self._until_round_ms(emptied))
            emptied = [one for one in emptied if self._stays(one)]
        if exact is not None:
            broker, shard, group_id, due_ms = exact
            world.run_for(max(0.0, due_ms + REPLICATED_MS - world.now_ms))
            if self._coordinator() == (broker, shard) and shard.offsets.of_group(group_id):
                world.violate(f"{group_id}: its offset is there in the round in which it is due")
        world.run_for(max(0.0, until_ms - world.now_ms))

    def _empty_later(self) -> None:
        """Somebody commits in a classic group, and leaves it after several rounds."""
        found = self._coordinator()
        if found is None:
            return
        broker, shard = found
        world = self._world
        self._come(broker, "")
        known = shard.groups.get(LEFT)
        if known is None or not known.members:
            return  # it may not join
        # It was new, and hung up while it waited for others; now it waits for nobody.
        (member_id,) = known.members
        self._come(broker, member_id)
        group = shard.groups[LEFT]
        assigned = [SyncGroupRequestAssignment(member_id, assignment_bytes([(self._topic, 0)]))]
        sync = SyncGroupRequest(LEFT, group.generation_id, member_id, assignments=assigned)
        world.probe(frame_of(sync, SYNC, 1, MEMBER), broker)
        world.run_for(REPLICATED_MS)
        self._commit(broker, LEFT, -1, as_member=(group.generation_id, member_id))
        world.run_for(2 * RETENTION_CHECK_MS)
        world.probe(frame_of(LeaveGroupRequest(LEFT, member_id), LEAVE, 1, MEMBER), broker)
        world.run_for(REPLICATED_MS)

    def _come(self, broker: Broker, member_id: str) -> None:
        protocols = [JoinGroupRequestProtocol("range", subscription_bytes([self._topic], (), -1))]
        request = JoinGroupRequest(LEFT, STAYS_MS, STAYS_MS, member_id, None, "consumer", protocols)
        self._world.probe(frame_of(request, JOIN, 1, MEMBER), broker)
        self._world.run_for(REPLICATED_MS)

    def _commit_in_a_round(self) -> Emptied | None:
        """Commit when offsets are looked at: that is due in a round, to the millisecond."""
        found = self._coordinator()
        if found is None:
            return None
        broker, shard = found
        task = broker.services.groups.service._expiry._tasks.get(shard)  # noqa: SLF001
        if task is None:
            return None
        self._world.run_for(task.tick_ms - self._world.now_ms)
        due_ms = int(self._world.now_ms) + RETENTION_MS
        self._commit(broker, EXACT, -1)
        return Emptied(broker, shard, EXACT, due_ms)

    def _emptied(self) -> Iterator[Emptied]:
        for broker, shard in shards_of(self._world):
            for group in shard.groups.values():
                offsets = shard.offsets.of_group(group.group_id)
                own = [
                    one for of in offsets.values() for one in of.values()
                    if one.expire_timestamp_ms < 0
                ]  # fmt: skip
                since_ms = group.state_timestamp_ms
                if own and since_ms is not None and _was_of_members(group):
                    yield Emptied(broker, shard, group.group_id, since_ms + RETENTION_MS)

    def _until_round_ms(self, emptied: list[Emptied]) -> float:
        """How long until offsets have been looked at: they go nowhere in between."""
        now_ms = self._world.now_ms
        tasks = (
            one.broker.services.groups.service._expiry._tasks.get(one.shard)  # noqa: SLF001
            for one in emptied
        )
        ends_ms = (task.tick_ms + 1 - now_ms for task in tasks if task is not None)
        return min((end for end in ends_ms if end > 0), default=RETENTION_CHECK_MS / 4)

    def _stays(self, one: Emptied) -> bool:
        """Whether its offsets are there still, as they must until their time is over."""
        clock = one.broker.services.clock
        stays = bool(one.shard.offsets.of_group(one.group_id))
        if not stays and clock.wall_ms() < one.until_ms:
            self._world.violate(
                f"{one.group_id}: its offsets are gone {one.until_ms - clock.wall_ms()} ms early"
            )
        return stays

    def left(self) -> Iterator[str]:
        """Groups, and offsets, that are there."""
        for broker, shard in shards_of(self._world):
            names = {*shard.groups, *shard.consumer_groups}
            names.update(shard.offsets._committed)  # noqa: SLF001 -- for the audit alone
            for name in sorted(names):
                yield f"group {name} at broker {broker.broker_id}"


def _was_of_members(group: ClassicGroup) -> bool:
    return group.state is GroupState.EMPTY and group.protocol_type is not None
