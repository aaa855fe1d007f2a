"""Records of __consumer_offsets for consumer groups (KIP-848), keys and values.

They lie in the log as those of `coordinator_records` do, with types of their
own (RECORD_TYPES); every value is flexible.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated, Final

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    field,
    int8,
    int32,
    int64,
    message,
    struct,
    uuid,
)


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


@struct
class ClassicMemberMetadata:
    """Kept for a member that speaks the classic protocol."""

    session_timeout_ms: int32 = 0
    supported_protocols: list[ClassicProtocol] = []


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
    # None, written as null, is a member of the new protocol; Kafka's default is no such one.
    classic_member_metadata: Annotated[
        ClassicMemberMetadata | None, V(nullable=0, tag=0, tagged=0)
    ] = field(default_factory=ClassicMemberMetadata)


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
    assignment_epochs: Annotated[list[int32] | None, V(nullable=0, tag=0, tagged=0)] = []


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


RECORD_TYPES: Final[dict[int, tuple[type, type]]] = {
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
}
"""Number at the head of a key → the classes of key and value."""
