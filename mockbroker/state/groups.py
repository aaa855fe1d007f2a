"""Groups as a test sees them: state, members, committed offsets and lag, from the coordinators.

Called by the group view and the admin API, of groups of either protocol: the classic one and the
consumer protocol (KIP-848). A group that nobody has heard of is Dead and without members, as
DescribeGroups says it. As with that, what is told is replicated; what is changed is changed in the
shard that runs ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.group import shared
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker.state.partitions import leading_partition, topic_names
from mockbroker_protocol.errors import ErrorCode, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.service import GroupCoordinatorService
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribedMember

CLASSIC = "classic"
CONSUMER = "consumer"
STABLE = "Stable"
EMPTY = "Empty"
DEAD = "Dead"
_VERSION_BYTES = 2
Sharing = shared.Sharing
Lease = shared.Lease
Piece = shared.Piece


class GroupError(Exception):
    """A group could not be changed; the message names it and says why."""


class Member(NamedTuple):
    """One member of a group; `assignment` holds partitions by topic.

    In a classic group it is empty while the group rebalances, and for a group that is not of
    consumers. In a consumer group it is what the member has now, which includes what it has still
    to give up; `epoch` is its member epoch, null in a classic group.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    assignment: dict[str, list[int]]
    epoch: int | None = None


class Group(NamedTuple):
    """A group at one moment; `state` is Kafka's word for it, `group_type` classic or consumer.

    Of a consumer group `generation_id` is the group's epoch and `protocol` its assignor.
    """

    group_id: str
    state: str
    generation_id: int
    protocol: str
    members: list[Member]
    group_type: str = CLASSIC


def group_shards(cluster: Cluster) -> Iterator[GroupShard]:
    """Every shard in use, on whichever node, as of what is replicated."""
    for broker in cluster.brokers:
        if broker.services.groups.in_use:
            yield from broker.services.groups.service.runtime.committed_shards()


def owning_shard(cluster: Cluster, group_id: str) -> GroupShard | None:
    """The shard that has, or would have, a group, for who changes it."""
    service = _owner(cluster, group_id)
    return None if service is None else service.runtime.shard_for(group_id)


def _owner(cluster: Cluster, group_id: str) -> GroupCoordinatorService | None:
    for broker in cluster.brokers:
        service = broker.services.groups.service
        if service.runtime.shard_for(group_id) is not None:
            return service
    return None


def group_ids(cluster: Cluster) -> list[str]:
    """The groups that there are, in order."""
    return sorted(
        group_id
        for shard in group_shards(cluster)
        for group_id in (*shard.groups, *shard.consumer_groups)
    )


def describe_group(cluster: Cluster, group_id: str) -> Group:
    """The group now."""
    service = _owner(cluster, group_id)
    shard = None if service is None else service.runtime.committed_for(group_id)
    if service is not None and shard is not None:
        group = shard.told_classic_group(group_id)
        if group is not None:
            return _classic(group)
        if group_id in shard.consumer_groups:
            return _of_consumers(service, group_id)
    return Group(group_id, DEAD, -1, "", [])


def _classic(group: ClassicGroup) -> Group:
    members = [
        Member(
            member.member_id,
            member.client_id,
            member.client_host,
            member.group_instance_id,
            decode_assignment(member.assignment),
        )
        for member in group.members.values()
    ]
    protocol = group.protocol_name or ""
    return Group(group.group_id, group.state.value, group.generation_id, protocol, members)


def _of_consumers(service: GroupCoordinatorService, group_id: str) -> Group:
    group = service.consumers.describe(group_id)
    return Group(
        group_id,
        group.group_state,
        group.group_epoch,
        group.assignor_name,
        [_member(member) for member in group.members],
        CONSUMER,
    )


def _member(member: ConsumerGroupDescribedMember) -> Member:
    return Member(
        member.member_id,
        member.client_id,
        member.client_host,
        member.instance_id,
        {one.topic_name: one.partitions for one in member.assignment.topic_partitions},
        member.member_epoch,
    )


def decode_assignment(assignment: bytes) -> dict[str, list[int]]:
    """Partitions by topic of a consumer's assignment; {} for what is none."""
    from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolAssignment
    from mockbroker_protocol.plan import decode

    if len(assignment) < _VERSION_BYTES:
        return {}
    try:
        # Version 0 is the beginning of every later version.
        decoded, _ = decode(ConsumerProtocolAssignment, 0, assignment, _VERSION_BYTES)
    except ProtocolError:
        return {}
    return {one.topic: sorted(one.partitions) for one in decoded.assigned_partitions}


def committed_offsets(cluster: Cluster, group_id: str) -> dict[tuple[str, int], int]:
    """What the group has committed, by (topic, partition); not what a transaction has pending."""
    service = _owner(cluster, group_id)
    shard = None if service is None else service.runtime.committed_for(group_id)
    if shard is None:
        return {}
    return {
        (topic, index): committed.offset
        for topic, partitions in sorted(shard.offsets.of_group(group_id).items())
        for index, committed in sorted(partitions.items())
    }


def sharing(cluster: Cluster, group_id: str) -> dict[tuple[str, int], Sharing]:
    """The partitions that a group shares or has ranges in; none without the extension for it."""
    found: dict[tuple[str, int], Sharing] = {}
    for broker in cluster.brokers:
        extension = broker.services.extension
        if extension is not None:
            found.update(extension.sharing(group_id))
    return found


def expire_leases(cluster: Cluster, group_id: str) -> int:
    """End what members of a group were handed out by cooperative fetches; how many leases."""
    extensions = [broker.services.extension for broker in cluster.brokers]
    return sum(each.expire_leases(group_id) for each in extensions if each is not None)


def lag(cluster: Cluster, group_id: str) -> dict[tuple[str, int], int]:
    """How far the group is behind the high watermark, by (topic, partition).

    Of each partition that it has committed or that is assigned to a member; without a commit the
    partition's first record counts as the next.
    """
    committed = committed_offsets(cluster, group_id)
    wanted = dict.fromkeys(committed)
    for member in describe_group(cluster, group_id).members:
        for topic, indexes in member.assignment.items():
            wanted.update(dict.fromkeys((topic, index) for index in indexes))
    behind: dict[tuple[str, int], int] = {}
    for topic, index in sorted(wanted):
        partition = leading_partition(cluster, topic, index)
        log = None if partition is None else partition.log
        start, end = (0, 0) if log is None else (log.log_start_offset, log.high_watermark)
        behind[topic, index] = max(0, end - committed.get((topic, index), start))
    return behind


def commit_offsets(
    cluster: Cluster,
    group_id: str,
    offsets: Mapping[tuple[str, int], int],
    outcome: list[ErrorCode] | None = None,
) -> None:
    """Commit for a group from outside, as an admin client does. Raises GroupError.

    Kafka refuses that for a group with members (ClassicGroup.validateOffsetCommit answers
    UNKNOWN_MEMBER_ID), so does this. `outcome` holds what came of it once
    the commit is written, which in a cluster takes its followers; see `check_commit`.
    """
    from mockbroker.coordinator.group.offset_store import offset_commit_record
    from mockbroker_protocol.messages.coordinator_records import OffsetCommitValue

    now_ms = cluster.clock.wall_ms()
    for topic, index in offsets:
        known = cluster.metadata.topics.get(topic)
        if known is None or not 0 <= index < len(known.partitions):
            names = ", ".join(topic_names(cluster)) or "none"
            message = f"group {group_id}: there is no partition {topic}-{index}; topics: {names}"
            raise GroupError(message)
    group = describe_group(cluster, group_id)
    if group.members:
        message = f"group {group_id}: it is {group.state} and has {len(group.members)} member(s)"
        raise GroupError(f"{message}; allowed: a group without members")
    records = [
        offset_commit_record(
            group_id,
            topic,
            index,
            OffsetCommitValue(offset=offset, leader_epoch=-1, metadata="", commit_timestamp=now_ms),
        )
        for (topic, index), offset in offsets.items()
    ]
    outcome = [] if outcome is None else outcome
    shard = owning_shard(cluster, group_id)
    if shard is None:
        outcome.append(ErrorCode.NOT_COORDINATOR)
    else:
        shard.write(records, outcome.append)


def ensure_coordinators(cluster: Cluster) -> None:
    """Make the topic of groups as FindCoordinator does; its leaders coordinate after this step."""
    cluster.controller.ensure_internal_topic(GROUP_METADATA_TOPIC)


def delete_group(cluster: Cluster, group_id: str) -> None:
    """Delete a group with its offsets, members or not; nothing happens when there is none."""
    shard = owning_shard(cluster, group_id)
    if shard is not None and (group_id in shard.groups or group_id in shard.consumer_groups):
        shard.write(shard.tombstones(group_id), lambda _error: None)


def check_commit(group_id: str, outcome: list[ErrorCode]) -> None:
    """Raise GroupError unless a commit was written."""
    if outcome != [ErrorCode.NONE]:
        raise GroupError(f"group {group_id}: {', '.join(error.name for error in outcome)}")
