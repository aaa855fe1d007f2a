"""Records of __consumer_offsets and __transaction_state, keys and values.

A key is an int16 record type and the key's body; a value is an int16 version and its body in
that version (GroupCoordinatorRecordSerde, TransactionLog). `RECORD_TYPES` tells which key goes
with which value; transactions count their types by themselves. Keys are never flexible.
"""

# ruff: noqa: RUF012
# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from protocol.schema import ZERO_UUID, V, int8, int16, int32, int64, message, struct, uuid


@message(versions=(0, 0))
class OffsetCommitKey:
    """Whose position in which partition."""

    group: str = ""
    topic: str = ""
    partition: int32 = 0


@message(versions=(0, 4), flexible=4)
class OffsetCommitValue:
    """The position; the retention of v1 is the expire timestamp."""

    offset: int64 = 0
    leader_epoch: Annotated[int32, V(since=3, ignorable=True)] = -1
    metadata: str = ""
    commit_timestamp: int64 = 0
    expire_timestamp: Annotated[int64, V(since=1, until=1, ignorable=True)] = -1
    topic_id: Annotated[uuid, V(tag=0, tagged=4, ignorable=True)] = ZERO_UUID


@message(versions=(0, 0))
class GroupMetadataKey:
    """A classic group."""

    group: str = ""


@message(versions=(0, 4), flexible=4)
class GroupMetadataValue:
    """A generation of a classic group; a tombstone deletes the group."""

    protocol_type: str = ""
    generation: int32 = 0
    protocol: Annotated[str | None, V(nullable=0)] = ""
    leader: Annotated[str | None, V(nullable=0)] = ""
    current_state_timestamp: Annotated[int64, V(since=2, ignorable=True)] = -1
    members: list[MemberMetadata] = []


@struct
class MemberMetadata:
    """A member of the generation."""

    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=3, nullable=3, ignorable=True)] = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: Annotated[int32, V(since=1, ignorable=True)] = -1
    session_timeout: int32 = 0
    subscription: bytes = b""
    assignment: bytes = b""


@message(versions=(0, 0))
class ConsumerGroupMetadataKey:
    """A consumer group."""

    group_id: str = ""


@message(versions=(0, 0), flexible=0)
class ConsumerGroupMetadataValue:
    """Its epoch, and a hash over the topics it sees."""

    epoch: int32 = 0
    metadata_hash: Annotated[int64, V(tag=0, tagged=0)] = 0


@message(versions=(0, 0))
class ConsumerGroupPartitionMetadataKey:
    """A consumer group; written by Kafka 4.0 and below."""

    group_id: str = ""


@message(versions=(0, 0), flexible=0)
class ConsumerGroupPartitionMetadataValue:
    """The topics as the group saw them."""

    topics: list[TopicMetadata] = []


@struct
class TopicMetadata:
    """A topic as the group saw it."""

    topic_id: uuid = ZERO_UUID
    topic_name: str = ""
    num_partitions: int32 = 0
    partition_metadata: list[PartitionMetadata] = []


@struct
class PartitionMetadata:
    """A partition with its racks; empty since Kafka 4.0."""

    partition: int32 = 0
    racks: list[str] = []


@message(versions=(0, 0))
class ConsumerGroupMemberMetadataKey:
    """A member of a consumer group."""

    group_id: str = ""
    member_id: str = ""


@message(versions=(0, 0), flexible=0)
class ConsumerGroupMemberMetadataValue:
    """What the member told about itself."""

    instance_id: Annotated[str | None, V(nullable=0)] = ""
    rack_id: Annotated[str | None, V(nullable=0)] = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    subscribed_topic_regex: Annotated[str | None, V(nullable=0)] = ""
    rebalance_timeout_ms: int32 = -1
    server_assignor: Annotated[str | None, V(nullable=0)] = ""
    classic_member_metadata: Annotated[
        ClassicMemberMetadata | None, V(nullable=0, tag=0, tagged=0)
    ] = None


@struct
class ClassicMemberMetadata:
    """Kept for a member that speaks the classic protocol."""

    session_timeout_ms: int32 = 0
    supported_protocols: list[ClassicProtocol] = []


@struct
class ClassicProtocol:
    """An assignor that such a member offers."""

    name: str = ""
    metadata: bytes = b""


@message(versions=(0, 0))
class ConsumerGroupTargetAssignmentMetadataKey:
    """The target assignment of a group."""

    group_id: str = ""


@message(versions=(0, 0), flexible=0)
class ConsumerGroupTargetAssignmentMetadataValue:
    """The group epoch it was computed for."""

    assignment_epoch: int32 = 0
    assignment_timestamp: Annotated[int64, V(tag=0, tagged=0)] = 0


@message(versions=(0, 0))
class ConsumerGroupTargetAssignmentMemberKey:
    """A member of the target assignment."""

    group_id: str = ""
    member_id: str = ""


@message(versions=(0, 0), flexible=0)
class ConsumerGroupTargetAssignmentMemberValue:
    """What the member shall get."""

    topic_partitions: list[TopicPartition] = []


@struct
class TopicPartition:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[int32] = []


@message(versions=(0, 0))
class ConsumerGroupCurrentMemberAssignmentKey:
    """A member that holds partitions."""

    group_id: str = ""
    member_id: str = ""


@message(versions=(0, 0), flexible=0)
class ConsumerGroupCurrentMemberAssignmentValue:
    """What it holds now, and what it has to give up."""

    member_epoch: int32 = 0
    previous_member_epoch: int32 = 0
    state: int8 = 0
    assigned_partitions: list[TopicPartitions] = []
    partitions_pending_revocation: list[TopicPartitions] = []


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[int32] = []
    assignment_epochs: Annotated[list[int32] | None, V(nullable=0, tag=0, tagged=0)] = None


@message(versions=(0, 0))
class ConsumerGroupRegularExpressionKey:
    """A regular expression that members subscribe to."""

    group_id: str = ""
    regular_expression: str = ""


@message(versions=(0, 0), flexible=0)
class ConsumerGroupRegularExpressionValue:
    """The topics that it was resolved to."""

    topics: list[str] = []
    version: int64 = 0
    timestamp: int64 = 0


@message(versions=(0, 0))
class TransactionLogKey:
    """A transactional id."""

    transactional_id: str = ""


@message(versions=(0, 1), flexible=1)
class TransactionLogValue:
    """The state of its transaction."""

    producer_id: int64 = 0
    producer_epoch: int16 = 0
    transaction_timeout_ms: int32 = 0
    transaction_status: int8 = 0
    transaction_partitions: Annotated[list[PartitionsSchema] | None, V(nullable=0)] = []
    transaction_last_update_timestamp_ms: int64 = 0
    transaction_start_timestamp_ms: int64 = 0
    previous_producer_id: Annotated[int64, V(tag=0, tagged=1)] = -1
    next_producer_id: Annotated[int64, V(tag=1, tagged=1)] = -1
    next_producer_epoch: Annotated[int16, V(tag=3, tagged=1)] = -1
    client_transaction_version: Annotated[int16, V(tag=2, tagged=1)] = 0


@struct
class PartitionsSchema:
    """Partitions of one topic in the transaction."""

    topic: str = ""
    partition_ids: list[int32] = []
