"""StreamsGroupHeartbeat: the one call of the streams group protocol of KIP-1071.

Member epoch 0 joins, -1 leaves, -2 leaves for a while as a static member.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    V,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uint16,
)


@message(api_key=88)
class StreamsGroupHeartbeatRequest:
    """Join, stay or leave; None says that a field is as it was."""

    group_id: str = ""
    member_id: str = ""
    member_epoch: int32 = 0
    endpoint_information_epoch: int32 = 0
    instance_id: Annotated[str | None, V(nullable=0)] = None
    rack_id: Annotated[str | None, V(nullable=0)] = None
    rebalance_timeout_ms: int32 = -1
    topology: Annotated[Topology | None, V(nullable=0)] = None
    active_tasks: Annotated[list[TaskIds] | None, V(nullable=0)] = None
    standby_tasks: Annotated[list[TaskIds] | None, V(nullable=0)] = None
    warmup_tasks: Annotated[list[TaskIds] | None, V(nullable=0)] = None
    process_id: Annotated[str | None, V(nullable=0)] = None
    user_endpoint: Annotated[Endpoint | None, V(nullable=0)] = None
    client_tags: Annotated[list[KeyValue] | None, V(nullable=0)] = None
    task_offsets: Annotated[list[TaskOffset] | None, V(nullable=0)] = None
    task_end_offsets: Annotated[list[TaskOffset] | None, V(nullable=0)] = None
    shutdown_application: boolean = False


@struct
class Topology:
    """Subtopologies with their topics, and the epoch of them."""

    epoch: int32 = 0
    subtopologies: list[Subtopology] = []


@struct
class Subtopology:
    """Source, sink and internal topics of one subtopology."""

    subtopology_id: str = ""
    source_topics: list[str] = []
    source_topic_regex: list[str] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_sink_topics: list[str] = []
    repartition_source_topics: list[TopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []


@struct
class TopicInfo:
    """An internal topic with what it needs."""

    name: str = ""
    partitions: int32 = 0
    replication_factor: int16 = 0
    topic_configs: list[KeyValue] = []


@struct
class KeyValue:
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
class TaskIds:
    """Partitions of one subtopology."""

    subtopology_id: str = ""
    partitions: list[int32] = []


@struct
class Endpoint:
    """Where the application can be asked (interactive queries)."""

    host: str = ""
    port: uint16 = 0


@struct
class TaskOffset:
    """How far a task has come."""

    subtopology_id: str = ""
    partition: int32 = 0
    offset: int64 = 0


@message(api_key=88)
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
    active_tasks: Annotated[list[TaskIds] | None, V(nullable=0)] = None
    standby_tasks: Annotated[list[TaskIds] | None, V(nullable=0)] = None
    warmup_tasks: Annotated[list[TaskIds] | None, V(nullable=0)] = None
    topology_description_required: Annotated[boolean, V(since=1)] = False
    endpoint_information_epoch: int32 = 0
    partitions_by_user_endpoint: Annotated[list[EndpointToPartitions] | None, V(nullable=0)] = None


@struct
class Status:
    """A condition of the group, for people and programs."""

    status_code: int8 = 0
    status_detail: str = ""


@struct
class EndpointToPartitions:
    """Which partitions an endpoint serves."""

    user_endpoint: Endpoint = field(default_factory=Endpoint)
    active_partitions: list[TopicPartition] = []
    standby_partitions: list[TopicPartition] = []


@struct
class TopicPartition:
    """Partitions of one topic."""

    topic: str = ""
    partitions: list[int32] = []
