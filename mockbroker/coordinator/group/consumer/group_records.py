"""The records of `__consumer_offsets` that a consumer group is made of.

Kafka: GroupCoordinatorRecordHelpers.

Decisions put these into one batch; `ConsumerGroup.replay` reads them back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.consumer.member import assignment_value, metadata_value
from mockbroker.coordinator.records import CoordinatorRecord
from mockbroker_protocol.messages import consumer_group_records as records

if TYPE_CHECKING:
    from mockbroker.coordinator.group.consumer.assignment import Partitions
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
    from mockbroker.coordinator.group.consumer.member import ConsumerMember


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The group has this epoch, for topics with this hash."""
    value = records.ConsumerGroupMetadataValue(epoch, metadata_hash)
    return CoordinatorRecord(records.ConsumerGroupMetadataKey(group_id), value)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """What Kafka 4.0 wrote of the topics does not count any more."""
    return CoordinatorRecord(records.ConsumerGroupPartitionMetadataKey(group_id), None)


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """What the member subscribes to, and who it is."""
    key = records.ConsumerGroupMemberMetadataKey(group_id, member.member_id)
    return CoordinatorRecord(key, metadata_value(member))


def assignment_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """What the member has."""
    key = records.ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id)
    return CoordinatorRecord(key, assignment_value(member))


def target_record(group_id: str, member_id: str, target: Partitions) -> CoordinatorRecord:
    """What the member shall have."""
    topics = [
        records.TopicPartition(topic_id, list(indexes)) for topic_id, indexes in target.items()
    ]
    return CoordinatorRecord(
        records.ConsumerGroupTargetAssignmentMemberKey(group_id, member_id),
        records.ConsumerGroupTargetAssignmentMemberValue(topics),
    )


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """The target is that of this group epoch, computed at this time of day; 0: unknown."""
    value = records.ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
    return CoordinatorRecord(records.ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    """The topics that an expression matches."""
    value = records.ConsumerGroupRegularExpressionValue(
        sorted(resolved.topics), resolved.version, resolved.timestamp_ms
    )
    return CoordinatorRecord(records.ConsumerGroupRegularExpressionKey(group_id, regex), value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Nobody reads by this expression any more."""
    return CoordinatorRecord(records.ConsumerGroupRegularExpressionKey(group_id, regex), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """The member is gone."""
    return [
        CoordinatorRecord(
            records.ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None
        ),
        CoordinatorRecord(
            records.ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None
        ),
        CoordinatorRecord(records.ConsumerGroupMemberMetadataKey(group_id, member_id), None),
    ]


def group_tombstones(
    group: ConsumerGroup, renamed: dict[str, str] | None = None
) -> list[CoordinatorRecord]:
    """The group is gone, with all its members; `renamed` gives some of them their latest id."""
    group_id = group.group_id
    member_ids = [(renamed or {}).get(one, one) for one in group.members]
    keys = [records.ConsumerGroupCurrentMemberAssignmentKey(group_id, one) for one in member_ids]
    targets = [records.ConsumerGroupTargetAssignmentMemberKey(group_id, one) for one in member_ids]
    members = [records.ConsumerGroupMemberMetadataKey(group_id, one) for one in member_ids]
    return [
        *(CoordinatorRecord(key, None) for key in keys),
        *(CoordinatorRecord(key, None) for key in targets),
        CoordinatorRecord(records.ConsumerGroupTargetAssignmentMetadataKey(group_id), None),
        *(CoordinatorRecord(key, None) for key in members),
        *(regex_tombstone(group_id, regex) for regex in group.resolved),
        partition_metadata_tombstone(group_id),
        CoordinatorRecord(records.ConsumerGroupMetadataKey(group_id), None),
    ]


def group_records(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """All of a group whose members were taken over from a classic one."""
    group_id = group.group_id
    members = group.members.values()
    return [
        *(member_record(group_id, member) for member in members),
        epoch_record(group_id, group.epoch, group.metadata_hash),
        *(target_record(group_id, one, group.target_of(one)) for one in group.members),
        target_epoch_record(group_id, group.assignment_epoch, group.assignment_timestamp_ms),
        *(assignment_record(group_id, member) for member in members),
    ]
