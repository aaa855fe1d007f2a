"""StreamsGroupDescribe and StreamsGroupTopologyDescriptionUpdate: streams groups from outside."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.messages.streams_groups import (
    Endpoint,
    KeyValue,
    TaskIds,
    TaskOffset,
    TopicInfo,
)
from mockbroker_protocol.schema import (
    V,
    boolean,
    field,
    int8,
    int16,
    int32,
    message,
    struct,
)


@message(api_key=89)
class StreamsGroupDescribeRequest:
    """Ask about streams groups."""

    group_ids: list[str] = []
    include_authorized_operations: boolean = False
    include_topology_description: Annotated[boolean, V(since=1)] = False


@message(api_key=89)
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
    topology: Annotated[Topology | None, V(nullable=0)] = None
    members: list[StreamsGroupDescribedMember] = []
    authorized_operations: int32 = -(2**31)
    topology_description: Annotated[TopologyDescription | None, V(since=1, nullable=1)] = None
    topology_description_status: Annotated[int8, V(since=1)] = 0
    assignor_name: Annotated[str | None, V(since=1, nullable=1, ignorable=True)] = None


@struct
class Topology:
    """Subtopologies with their topics, and the epoch of them."""

    epoch: int32 = 0
    subtopologies: Annotated[list[Subtopology] | None, V(nullable=0)] = None


@struct
class Subtopology:
    """Source, sink and internal topics of one subtopology."""

    subtopology_id: str = ""
    source_topics: list[str] = []
    repartition_sink_topics: list[str] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_source_topics: list[TopicInfo] = []


@struct
class StreamsGroupDescribedAssignment:
    """Active, standby and warm-up tasks."""

    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []


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
    user_endpoint: Annotated[Endpoint | None, V(nullable=0)] = None
    client_tags: list[KeyValue] = []
    task_offsets: list[TaskOffset] = []
    task_end_offsets: list[TaskOffset] = []
    assignment: StreamsGroupDescribedAssignment = field(
        default_factory=StreamsGroupDescribedAssignment
    )
    target_assignment: StreamsGroupDescribedAssignment = field(
        default_factory=StreamsGroupDescribedAssignment
    )
    is_classic: boolean = False


@struct
class TopologyDescriptionNode:
    """A source, processor or sink with what follows it."""

    name: str = ""
    node_type: int8 = 0
    source_topics: list[str] = []
    sink_topic: Annotated[str | None, V(nullable=0)] = None
    stores: list[str] = []
    successors: list[str] = []


@struct
class TopologyDescriptionSubtopology:
    """A subtopology with its nodes."""

    subtopology_id: str = ""
    nodes: list[TopologyDescriptionNode] = []


@struct
class TopologyDescriptionGlobalStore:
    """A global store: its source and its processor."""

    source: TopologyDescriptionNode = field(default_factory=TopologyDescriptionNode)
    processor: TopologyDescriptionNode = field(default_factory=TopologyDescriptionNode)


@struct
class TopologyDescription:
    """A topology as the application shows it; read and written in the same shape."""

    subtopologies: list[TopologyDescriptionSubtopology] = []
    global_stores: list[TopologyDescriptionGlobalStore] = []


@message(api_key=93)
class StreamsGroupTopologyDescriptionUpdateRequest:
    """Hand in the description of a topology."""

    group_id: str = ""
    member_id: str = ""
    topology_epoch: int32 = 0
    topology_description: TopologyDescription = field(default_factory=TopologyDescription)


@message(api_key=93)
class StreamsGroupTopologyDescriptionUpdateResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
