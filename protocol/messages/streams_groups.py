"""Streams groups: heartbeats, descriptions and topologies (KIP-1071)."""

# ruff: noqa: RUF012
# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from protocol.schema import V, boolean, field, int8, int16, int32, int64, message, struct, uint16


@message(api_key=88, versions=(0, 1), flexible=0)
class StreamsGroupHeartbeatRequest:
    """Join, stay or leave; None says that a field is as it was."""

    group_id: str = ""
    member_id: str = ""
    member_epoch: int32 = 0
    endpoint_information_epoch: int32 = 0
    instance_id: Annotated[str | None, V(nullable=0)] = None
    rack_id: Annotated[str | None, V(nullable=0)] = None
    rebalance_timeout_ms: int32 = -1
    topology: Annotated[StreamsGroupHeartbeatRequestTopology | None, V(nullable=0)] = None
    active_tasks: Annotated[list[StreamsGroupHeartbeatRequestTaskIds] | None, V(nullable=0)] = None
    standby_tasks: Annotated[list[StreamsGroupHeartbeatRequestTaskIds] | None, V(nullable=0)] = None
    warmup_tasks: Annotated[list[StreamsGroupHeartbeatRequestTaskIds] | None, V(nullable=0)] = None
    process_id: Annotated[str | None, V(nullable=0)] = None
    user_endpoint: Annotated[StreamsGroupHeartbeatRequestEndpoint | None, V(nullable=0)] = None
    client_tags: Annotated[list[StreamsGroupHeartbeatRequestKeyValue] | None, V(nullable=0)] = None
    task_offsets: Annotated[list[StreamsGroupHeartbeatRequestTaskOffset] | None, V(nullable=0)] = (
        None
    )
    task_end_offsets: Annotated[
        list[StreamsGroupHeartbeatRequestTaskOffset] | None, V(nullable=0)
    ] = None
    shutdown_application: boolean = False


@struct
class StreamsGroupHeartbeatRequestTopology:
    """Subtopologies with their topics, and the epoch of them."""

    epoch: int32 = 0
    subtopologies: list[StreamsGroupHeartbeatRequestSubtopology] = []


@struct
class StreamsGroupHeartbeatRequestSubtopology:
    """Source, sink and internal topics of one subtopology."""

    subtopology_id: str = ""
    source_topics: list[str] = []
    source_topic_regex: list[str] = []
    state_changelog_topics: list[StreamsGroupHeartbeatRequestTopicInfo] = []
    repartition_sink_topics: list[str] = []
    repartition_source_topics: list[StreamsGroupHeartbeatRequestTopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []


@struct
class StreamsGroupHeartbeatRequestTopicInfo:
    """An internal topic with what it needs."""

    name: str = ""
    partitions: int32 = 0
    replication_factor: int16 = 0
    topic_configs: list[StreamsGroupHeartbeatRequestKeyValue] = []


@struct
class StreamsGroupHeartbeatRequestKeyValue:
    """A config of an internal topic or a client tag."""

    key: str = ""
    value: str = ""


@struct
class CopartitionGroup:
    """Topics that must have equal partition counts."""

    source_topics: list[int16] = []
    source_topic_regex: list[int16] = []
    repartition_source_topics: list[int16] = []


@struct
class StreamsGroupHeartbeatRequestTaskIds:
    """Partitions of one subtopology."""

    subtopology_id: str = ""
    partitions: list[int32] = []


@struct
class StreamsGroupHeartbeatRequestEndpoint:
    """Where the application can be asked (interactive queries)."""

    host: str = ""
    port: uint16 = 0


@struct
class StreamsGroupHeartbeatRequestTaskOffset:
    """How far a task has come."""

    subtopology_id: str = ""
    partition: int32 = 0
    offset: int64 = 0


@message(api_key=88, versions=(0, 1), flexible=0)
class StreamsGroupHeartbeatResponse:
    """The epoch, and the tasks when they changed."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    member_id: str = ""
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    acceptable_recovery_lag_legacy: Annotated[int32, V(until=0)] = 0
    task_offset_interval_ms: int32 = 0
    acceptable_recovery_lag: Annotated[int64, V(since=1, ignorable=True)] = -1
    status: Annotated[list[Status] | None, V(nullable=0)] = []
    active_tasks: Annotated[list[StreamsGroupHeartbeatResponseTaskIds] | None, V(nullable=0)] = None
    standby_tasks: Annotated[list[StreamsGroupHeartbeatResponseTaskIds] | None, V(nullable=0)] = (
        None
    )
    warmup_tasks: Annotated[list[StreamsGroupHeartbeatResponseTaskIds] | None, V(nullable=0)] = None
    topology_description_required: Annotated[boolean, V(since=1)] = False
    endpoint_information_epoch: int32 = 0
    partitions_by_user_endpoint: Annotated[list[EndpointToPartitions] | None, V(nullable=0)] = None


@struct
class Status:
    """A condition of the group, for people and programs."""

    status_code: int8 = 0
    status_detail: str = ""


@struct
class StreamsGroupHeartbeatResponseTaskIds:
    """Partitions of one subtopology."""

    subtopology_id: str = ""
    partitions: list[int32] = []


@struct
class StreamsGroupHeartbeatResponseEndpoint:
    """Where the application can be asked (interactive queries)."""

    host: str = ""
    port: uint16 = 0


@struct
class EndpointToPartitions:
    """Which partitions an endpoint serves."""

    user_endpoint: StreamsGroupHeartbeatResponseEndpoint = field(
        default_factory=StreamsGroupHeartbeatResponseEndpoint
    )
    active_partitions: list[TopicPartition] = []
    standby_partitions: list[TopicPartition] = []


@struct
class TopicPartition:
    """Partitions of one topic."""

    topic: str = ""
    partitions: list[int32] = []


@message(api_key=89, versions=(0, 1), flexible=0)
class StreamsGroupDescribeRequest:
    """Ask about streams groups."""

    group_ids: list[str] = []
    include_authorized_operations: boolean = False
    include_topology_description: Annotated[boolean, V(since=1)] = False


@message(api_key=89, versions=(0, 1), flexible=0)
class StreamsGroupDescribeResponse:
    """One answer per group."""

    throttle_time_ms: int32 = 0
    groups: list[StreamsGroupDescribedGroup] = []


@struct
class StreamsGroupDescribedGroup:
    """A group, its epochs, topology and members."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int32 = 0
    assignment_epoch: int32 = 0
    topology: Annotated[StreamsGroupDescribeResponseTopology | None, V(nullable=0)] = None
    members: list[StreamsGroupDescribedMember] = []
    authorized_operations: int32 = -(2**31)
    topology_description: Annotated[
        StreamsGroupDescribeResponseTopologyDescription | None, V(since=1, nullable=1)
    ] = None
    topology_description_status: Annotated[int8, V(since=1)] = 0
    assignor_name: Annotated[str | None, V(since=1, nullable=1, ignorable=True)] = None


@struct
class StreamsGroupDescribeResponseTopology:
    """Subtopologies with their topics, and the epoch of them."""

    epoch: int32 = 0
    subtopologies: Annotated[
        list[StreamsGroupDescribeResponseSubtopology] | None, V(nullable=0)
    ] = None


@struct
class StreamsGroupDescribeResponseSubtopology:
    """Source, sink and internal topics of one subtopology."""

    subtopology_id: str = ""
    source_topics: list[str] = []
    repartition_sink_topics: list[str] = []
    state_changelog_topics: list[StreamsGroupDescribeResponseTopicInfo] = []
    repartition_source_topics: list[StreamsGroupDescribeResponseTopicInfo] = []


@struct
class StreamsGroupDescribeResponseTopicInfo:
    """An internal topic with what it needs."""

    name: str = ""
    partitions: int32 = 0
    replication_factor: int16 = 0
    topic_configs: list[StreamsGroupDescribeResponseKeyValue] = []


@struct
class StreamsGroupDescribeResponseKeyValue:
    """A config of an internal topic or a client tag."""

    key: str = ""
    value: str = ""


@struct
class StreamsGroupDescribedAssignment:
    """Active, standby and warm-up tasks."""

    active_tasks: list[StreamsGroupDescribeResponseTaskIds] = []
    standby_tasks: list[StreamsGroupDescribeResponseTaskIds] = []
    warmup_tasks: list[StreamsGroupDescribeResponseTaskIds] = []


@struct
class StreamsGroupDescribedMember:
    """A member and its tasks."""

    member_id: str = ""
    member_epoch: int32 = 0
    instance_id: Annotated[str | None, V(nullable=0)] = None
    rack_id: Annotated[str | None, V(nullable=0)] = None
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int32 = 0
    process_id: str = ""
    user_endpoint: Annotated[StreamsGroupDescribeResponseEndpoint | None, V(nullable=0)] = None
    client_tags: list[StreamsGroupDescribeResponseKeyValue] = []
    task_offsets: list[StreamsGroupDescribeResponseTaskOffset] = []
    task_end_offsets: list[StreamsGroupDescribeResponseTaskOffset] = []
    assignment: StreamsGroupDescribedAssignment = field(
        default_factory=StreamsGroupDescribedAssignment
    )
    target_assignment: StreamsGroupDescribedAssignment = field(
        default_factory=StreamsGroupDescribedAssignment
    )
    is_classic: boolean = False


@struct
class StreamsGroupDescribeResponseEndpoint:
    """Where the application can be asked (interactive queries)."""

    host: str = ""
    port: uint16 = 0


@struct
class StreamsGroupDescribeResponseTaskOffset:
    """How far a task has come."""

    subtopology_id: str = ""
    partition: int32 = 0
    offset: int64 = 0


@struct
class StreamsGroupDescribeResponseTaskIds:
    """Partitions of one subtopology."""

    subtopology_id: str = ""
    partitions: list[int32] = []


@struct
class StreamsGroupDescribeResponseTopologyDescription:
    """A topology as the application shows it."""

    subtopologies: list[StreamsGroupDescribeResponseTopologyDescriptionSubtopology] = []
    global_stores: list[StreamsGroupDescribeResponseTopologyDescriptionGlobalStore] = []


@struct
class StreamsGroupDescribeResponseTopologyDescriptionSubtopology:
    """A subtopology with its nodes."""

    subtopology_id: str = ""
    nodes: list[StreamsGroupDescribeResponseTopologyDescriptionNode] = []


@struct
class StreamsGroupDescribeResponseTopologyDescriptionNode:
    """A source, processor or sink with what follows it."""

    name: str = ""
    node_type: int8 = 0
    source_topics: list[str] = []
    sink_topic: Annotated[str | None, V(nullable=1)] = None
    stores: list[str] = []
    successors: list[str] = []


@struct
class StreamsGroupDescribeResponseTopologyDescriptionGlobalStore:
    """A global store: its source and its processor."""

    source: StreamsGroupDescribeResponseTopologyDescriptionNode = field(
        default_factory=StreamsGroupDescribeResponseTopologyDescriptionNode
    )
    processor: StreamsGroupDescribeResponseTopologyDescriptionNode = field(
        default_factory=StreamsGroupDescribeResponseTopologyDescriptionNode
    )


@struct
class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescription:
    """A topology as the application shows it."""

    subtopologies: list[
        StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionSubtopology
    ] = []
    global_stores: list[
        StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionGlobalStore
    ] = []


@message(api_key=93, versions=(0, 0), flexible=0)
class StreamsGroupTopologyDescriptionUpdateRequest:
    """Hand in the description of a topology."""

    group_id: str = ""
    member_id: str = ""
    topology_epoch: int32 = 0
    topology_description: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescription = field(
        default_factory=StreamsGroupTopologyDescriptionUpdateRequestTopologyDescription
    )


@struct
class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionSubtopology:
    """A subtopology with its nodes."""

    subtopology_id: str = ""
    nodes: list[StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode] = []


@struct
class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode:
    """A source, processor or sink with what follows it."""

    name: str = ""
    node_type: int8 = 0
    source_topics: list[str] = []
    sink_topic: Annotated[str | None, V(nullable=0)] = None
    stores: list[str] = []
    successors: list[str] = []


@struct
class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionGlobalStore:
    """A global store: its source and its processor."""

    source: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode = field(
        default_factory=StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode
    )
    processor: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode = field(
        default_factory=StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode
    )


@message(api_key=93, versions=(0, 0), flexible=0)
class StreamsGroupTopologyDescriptionUpdateResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
