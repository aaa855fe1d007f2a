"""CreateTopics, DeleteTopics, CreatePartitions and DeleteRecords: the life of topics.

These reach the controller in a real cluster; any broker answers them here.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)


@message(api_key=19)
class CreateTopicsRequest:
    """Create topics, or only check whether they could be."""

    topics: list[CreatableTopic] = []
    timeout_ms: int32 = 60000
    validate_only: boolean = False


@struct
class CreatableTopic:
    """A topic to create: by counts, or by assignments with both counts -1."""

    name: str = ""
    num_partitions: int32 = 0
    replication_factor: int16 = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []


@struct
class CreatableReplicaAssignment:
    """Brokers that shall hold one partition."""

    partition_index: int32 = 0
    broker_ids: list[int32] = []


@struct
class CreatableTopicConfig:
    """A config of the new topic."""

    name: str = ""
    value: Annotated[str | None, V(nullable=2)] = ""


@message(api_key=19)
class CreateTopicsResponse:
    """What became of each topic."""

    throttle_time_ms: int32 = 0
    topics: list[CreatableTopicResult] = []


@struct
class CreatableTopicResult:
    """The topic made, with its configs from v5 on, or the error."""

    name: str = ""
    topic_id: Annotated[uuid, V(since=7, ignorable=True)] = ZERO_UUID
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=2)] = ""
    num_partitions: Annotated[int32, V(since=5, ignorable=True)] = -1
    replication_factor: Annotated[int16, V(since=5, ignorable=True)] = -1
    configs: Annotated[
        list[CreatableTopicConfigs] | None, V(since=5, nullable=5, ignorable=True)
    ] = []
    topic_config_error_code: Annotated[int16, V(tag=0, tagged=5, ignorable=True)] = 0


@struct
class CreatableTopicConfigs:
    """A config that the new topic got."""

    name: str = ""
    value: Annotated[str | None, V(nullable=5)] = ""
    read_only: boolean = False
    config_source: int8 = -1
    is_sensitive: boolean = False


@message(api_key=20)
class DeleteTopicsRequest:
    """Delete topics by name, from v6 on by id too."""

    topics: Annotated[list[DeleteTopicState], V(since=6)] = []
    topic_names: Annotated[list[str], V(until=5, ignorable=True)] = []
    timeout_ms: int32 = 0


@struct
class DeleteTopicState:
    """A topic by name, or by id with a null name."""

    name: Annotated[str | None, V(nullable=6)] = None
    topic_id: uuid = ZERO_UUID


@message(api_key=20)
class DeleteTopicsResponse:
    """What became of each topic."""

    throttle_time_ms: int32 = 0
    responses: list[DeletableTopicResult] = []


@struct
class DeletableTopicResult:
    """The topic deleted, or the error."""

    name: Annotated[str | None, V(nullable=6)] = ""
    topic_id: Annotated[uuid, V(since=6, ignorable=True)] = ZERO_UUID
    error_code: int16 = 0
    error_message: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None


@message(api_key=37)
class CreatePartitionsRequest:
    """Let topics grow to a number of partitions."""

    topics: list[CreatePartitionsTopic] = []
    timeout_ms: int32 = 0
    validate_only: boolean = False


@struct
class CreatePartitionsTopic:
    """A topic, its new count, and where the new partitions shall lie."""

    name: str = ""
    count: int32 = 0
    assignments: Annotated[list[CreatePartitionsAssignment] | None, V(nullable=0)] = []


@struct
class CreatePartitionsAssignment:
    """Brokers for one new partition."""

    broker_ids: list[int32] = []


@message(api_key=37)
class CreatePartitionsResponse:
    """What became of each topic."""

    throttle_time_ms: int32 = 0
    results: list[CreatePartitionsTopicResult] = []


@struct
class CreatePartitionsTopicResult:
    """Success or error for one topic."""

    name: str = ""
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None


@message(api_key=21)
class DeleteRecordsRequest:
    """Drop what lies before an offset (KIP-107)."""

    topics: list[DeleteRecordsTopic] = []
    timeout_ms: int32 = 0


@struct
class DeleteRecordsTopic:
    """Partitions of one topic to cut."""

    name: str = ""
    partitions: list[DeleteRecordsPartition] = []


@struct
class DeleteRecordsPartition:
    """A partition and its new start; -1 is the high watermark."""

    partition_index: int32 = 0
    offset: int64 = 0


@message(api_key=21)
class DeleteRecordsResponse:
    """The new starts."""

    throttle_time_ms: int32 = 0
    topics: list[DeleteRecordsTopicResult] = []


@struct
class DeleteRecordsTopicResult:
    """The results of one topic."""

    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = []


@struct
class DeleteRecordsPartitionResult:
    """The low watermark of a partition now, or the error."""

    partition_index: int32 = 0
    low_watermark: int64 = 0
    error_code: int16 = 0
