"""What a group coordinator must not forget, as values that compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.service import GroupCoordinatorService
    from mockbroker.coordinator.group.shard import GroupShard


def durable(service: GroupCoordinatorService) -> dict[str, object]:
    """The durable half of every group, by id."""
    return {
        group_id: durable_group(shard, group)
        for shard in service.runtime.shards()
        for group_id, group in shard.groups.items()
    }


def durable_group(shard: GroupShard, group: ClassicGroup) -> tuple[object, ...]:
    """State, generation, members and positions of one group."""
    offsets = {
        (topic, index): (one.offset, one.leader_epoch, one.metadata, one.record_offset)
        for topic, partitions in shard.offsets.of_group(group.group_id).items()
        for index, one in partitions.items()
    }
    members = {
        one.member_id: (one.group_instance_id, one.session_timeout_ms, one.assignment)
        for one in group.members.values()
    }
    return (
        group.state,
        group.generation_id,
        group.leader_id,
        group.protocol_type,
        group.protocol_name,
        group.state_timestamp_ms,
        group.subscribed_topics,
        dict(group.static_members),
        members,
        offsets,
    )
