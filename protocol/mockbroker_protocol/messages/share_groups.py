"""Share groups: heartbeats, descriptions and their start offsets (KIP-932)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    field,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)


@message(api_key=76)
class ShareGroupHeartbeatRequest:
    """Join, stay or leave; None says that a field is as it was."""

    group_id: str = ""
    member_id: str = ""
    member_epoch: int32 = 0
    rack_id: Annotated[str | None, V(nullable=1)] = None
    subscribed_topic_names: Annotated[list[str] | None, V(nullable=1)] = None


@message(api_key=76)
class ShareGroupHeartbeatResponse:
    """The epoch, and the assignment when it changed."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = None
    member_id: Annotated[str | None, V(nullable=1)] = None
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    assignment: Annotated[Assignment | None, V(nullable=1)] = None


@struct
class Assignment:
    """What the member gets."""

    topic_partitions: list[ShareGroupHeartbeatResponseTopicPartitions] = []


@struct
class ShareGroupHeartbeatResponseTopicPartitions:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[int32] = []


@message(api_key=77)
class ShareGroupDescribeRequest:
    """Ask about share groups."""

    group_ids: list[str] = []
    include_authorized_operations: boolean = False


@message(api_key=77)
class ShareGroupDescribeResponse:
    """One answer per group."""

    throttle_time_ms: int32 = 0
    groups: list[ShareGroupDescribedGroup] = []


@struct
class ShareGroupDescribedGroup:
    """A group, its epochs and members."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=1)] = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int32 = 0
    assignment_epoch: int32 = 0
    assignor_name: str = ""
    members: list[ShareGroupDescribedMember] = []
    authorized_operations: int32 = -(2**31)


@struct
class ShareGroupDescribedAssignment:
    """Partitions that a member holds."""

    topic_partitions: list[ShareGroupDescribeResponseTopicPartitions] = []


@struct
class ShareGroupDescribedMember:
    """A member and what it holds."""

    member_id: str = ""
    rack_id: Annotated[str | None, V(nullable=1)] = None
    member_epoch: int32 = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    assignment: ShareGroupDescribedAssignment = field(default_factory=ShareGroupDescribedAssignment)


@struct
class ShareGroupDescribeResponseTopicPartitions:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    topic_name: str = ""
    partitions: list[int32] = []


@message(api_key=90)
class DescribeShareGroupOffsetsRequest:
    """Ask for start offsets; a topic list of None is all."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = []


@struct
class DescribeShareGroupOffsetsRequestGroup:
    """A group and what is asked of it."""

    group_id: str = ""
    topics: Annotated[list[DescribeShareGroupOffsetsRequestTopic] | None, V(nullable=0)] = []


@struct
class DescribeShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str = ""
    partitions: list[int32] = []


@message(api_key=90)
class DescribeShareGroupOffsetsResponse:
    """The start offsets of each group."""

    throttle_time_ms: int32 = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []


@struct
class DescribeShareGroupOffsetsResponseGroup:
    """The offsets of one group, or the error."""

    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None


@struct
class DescribeShareGroupOffsetsResponseTopic:
    """The offsets of one topic."""

    topic_name: str = ""
    topic_id: uuid = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []


@struct
class DescribeShareGroupOffsetsResponsePartition:
    """Start offset and lag of one partition."""

    partition_index: int32 = 0
    start_offset: int64 = 0
    leader_epoch: int32 = 0
    lag: Annotated[int64, V(since=1, ignorable=True)] = -1
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None


@message(api_key=91)
class AlterShareGroupOffsetsRequest:
    """Set start offsets of an empty group."""

    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = []


@struct
class AlterShareGroupOffsetsRequestTopic:
    """Offsets for one topic."""

    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []


@struct
class AlterShareGroupOffsetsRequestPartition:
    """The new start offset."""

    partition_index: int32 = 0
    start_offset: int64 = 0


@message(api_key=91)
class AlterShareGroupOffsetsResponse:
    """What became of each partition."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = []


@struct
class AlterShareGroupOffsetsResponseTopic:
    """The results of one topic."""

    topic_name: str = ""
    topic_id: uuid = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []


@struct
class AlterShareGroupOffsetsResponsePartition:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None


@message(api_key=92)
class DeleteShareGroupOffsetsRequest:
    """Drop the offsets of topics."""

    group_id: str = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []


@struct
class DeleteShareGroupOffsetsRequestTopic:
    """A topic to forget."""

    topic_name: str = ""


@message(api_key=92)
class DeleteShareGroupOffsetsResponse:
    """What became of each topic."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []


@struct
class DeleteShareGroupOffsetsResponseTopic:
    """Success or error for one topic."""

    topic_name: str = ""
    topic_id: uuid = ZERO_UUID
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
