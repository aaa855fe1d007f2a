"""ListGroups, DescribeGroups, DeleteGroups and ConsumerGroupDescribe: groups from outside."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    field,
    int8,
    int16,
    int32,
    message,
    struct,
    uuid,
)


@message(api_key=16)
class ListGroupsRequest:
    """Ask for groups, by state (v4+) and type (v5+); empty filters let all pass."""

    states_filter: Annotated[list[str], V(since=4)] = []
    types_filter: Annotated[list[str], V(since=5)] = []


@message(api_key=16)
class ListGroupsResponse:
    """The groups that this broker coordinates."""

    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    error_code: int16 = 0
    groups: list[ListedGroup] = []


@struct
class ListedGroup:
    """A group with its protocol type, state and type."""

    group_id: str = ""
    protocol_type: str = ""
    group_state: Annotated[str, V(since=4, ignorable=True)] = ""
    group_type: Annotated[str, V(since=5, ignorable=True)] = ""


@message(api_key=15)
class DescribeGroupsRequest:
    """Ask about classic groups."""

    groups: list[str] = []
    include_authorized_operations: Annotated[boolean, V(since=3)] = False


@message(api_key=15)
class DescribeGroupsResponse:
    """One answer per group."""

    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    groups: list[DescribedGroup] = []


@struct
class DescribedGroup:
    """A group, its state and members."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(since=6, nullable=6)] = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: Annotated[int32, V(since=3)] = -(2**31)


@struct
class DescribedGroupMember:
    """A member with its metadata and assignment."""

    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=4, nullable=4, ignorable=True)] = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


@message(api_key=42)
class DeleteGroupsRequest:
    """Delete empty groups."""

    groups_names: list[str] = []


@message(api_key=42)
class DeleteGroupsResponse:
    """What became of each group."""

    throttle_time_ms: int32 = 0
    results: list[DeletableGroupResult] = []


@struct
class DeletableGroupResult:
    """Success or error for one group."""

    group_id: str = ""
    error_code: int16 = 0
    error_message: Annotated[str | None, V(since=3, nullable=3, ignorable=True)] = None


@message(api_key=69)
class ConsumerGroupDescribeRequest:
    """Ask about groups of the protocol of KIP-848."""

    group_ids: list[str] = []
    include_authorized_operations: boolean = False


@message(api_key=69)
class ConsumerGroupDescribeResponse:
    """One answer per group."""

    throttle_time_ms: int32 = 0
    groups: list[ConsumerGroupDescribedGroup] = []


@struct
class ConsumerGroupDescribedGroup:
    """A group, its epochs and members."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int32 = 0
    assignment_epoch: int32 = 0
    assignor_name: str = ""
    members: list[ConsumerGroupDescribedMember] = []
    authorized_operations: int32 = -(2**31)


@struct
class ConsumerGroupDescribedAssignment:
    """Partitions that a member holds, or shall hold."""

    topic_partitions: list[TopicPartitions] = []


@struct
class ConsumerGroupDescribedMember:
    """A member; member type 0 speaks the classic protocol, 1 the consumer one."""

    member_id: str = ""
    instance_id: Annotated[str | None, V(nullable=0)] = None
    rack_id: Annotated[str | None, V(nullable=0)] = None
    member_epoch: int32 = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    subscribed_topic_regex: Annotated[str | None, V(nullable=0)] = None
    assignment: ConsumerGroupDescribedAssignment = field(
        default_factory=ConsumerGroupDescribedAssignment
    )
    target_assignment: ConsumerGroupDescribedAssignment = field(
        default_factory=ConsumerGroupDescribedAssignment
    )
    member_type: Annotated[int8, V(since=1, ignorable=True)] = -1


@struct
class TopicPartitions:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    topic_name: str = ""
    partitions: list[int32] = []
