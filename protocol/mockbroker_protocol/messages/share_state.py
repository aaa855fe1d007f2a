"""State of share partitions, kept by the share coordinator for the leaders (KIP-932)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)


@message(api_key=83)
class InitializeShareGroupStateRequest:
    """Begin the state of share partitions."""

    group_id: str = ""
    topics: list[InitializeStateData] = []


@struct
class InitializeStateData:
    """Share partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[InitializeShareGroupStateRequestPartitionData] = []


@struct
class InitializeShareGroupStateRequestPartitionData:
    """A share partition, its epoch and start offset."""

    partition: int32 = 0
    state_epoch: int32 = 0
    start_offset: int64 = 0


@message(api_key=83)
class InitializeShareGroupStateResponse:
    """What became of each partition."""

    results: list[InitializeStateResult] = []


@struct
class InitializeStateResult:
    """The results of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@struct
class PartitionResult:
    """Success or error for one partition."""

    partition: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None


@message(api_key=84)
class ReadShareGroupStateRequest:
    """Ask for the state of share partitions."""

    group_id: str = ""
    topics: list[ReadStateData] = []


@struct
class ReadStateData:
    """Share partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[ReadPartitionData] = []


@struct
class ReadPartitionData:
    """A partition, and the leader epoch that the reader knows."""

    partition: int32 = 0
    leader_epoch: int32 = 0


@message(api_key=84)
class ReadShareGroupStateResponse:
    """Start offset and batches of each partition."""

    results: list[ReadStateResult] = []


@struct
class ReadStateResult:
    """The results of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[ReadShareGroupStateResponsePartitionResult] = []


@struct
class ReadShareGroupStateResponsePartitionResult:
    """State of one share partition, or the error."""

    partition: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    state_epoch: int32 = 0
    start_offset: int64 = 0
    state_batches: list[StateBatch] = []


@struct
class StateBatch:
    """A run of offsets in one delivery state."""

    first_offset: int64 = 0
    last_offset: int64 = 0
    delivery_state: int8 = 0
    delivery_count: int16 = 0


@message(api_key=85)
class WriteShareGroupStateRequest:
    """Store changed batches of share partitions."""

    group_id: str = ""
    topics: list[WriteStateData] = []


@struct
class WriteStateData:
    """Share partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[WriteShareGroupStateRequestPartitionData] = []


@struct
class WriteShareGroupStateRequestPartitionData:
    """A share partition and the batches that changed."""

    partition: int32 = 0
    state_epoch: int32 = 0
    leader_epoch: int32 = 0
    start_offset: int64 = 0
    delivery_complete_count: Annotated[int32, V(since=1, ignorable=True)] = -1
    state_batches: list[StateBatch] = []


@message(api_key=85)
class WriteShareGroupStateResponse:
    """What became of each partition."""

    results: list[WriteStateResult] = []


@struct
class WriteStateResult:
    """The results of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@message(api_key=86)
class DeleteShareGroupStateRequest:
    """End the state of share partitions."""

    group_id: str = ""
    topics: list[DeleteStateData] = []


@struct
class DeleteStateData:
    """Share partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[DeleteShareGroupStateRequestPartitionData] = []


@struct
class DeleteShareGroupStateRequestPartitionData:
    """A share partition."""

    partition: int32 = 0


@message(api_key=86)
class DeleteShareGroupStateResponse:
    """What became of each partition."""

    results: list[DeleteStateResult] = []


@struct
class DeleteStateResult:
    """The results of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[PartitionResult] = []


@message(api_key=87)
class ReadShareGroupStateSummaryRequest:
    """Ask for start offsets only."""

    group_id: str = ""
    topics: list[ReadStateSummaryData] = []


@struct
class ReadStateSummaryData:
    """Share partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[ReadPartitionData] = []


@message(api_key=87)
class ReadShareGroupStateSummaryResponse:
    """Start offset and epochs of each partition."""

    results: list[ReadStateSummaryResult] = []


@struct
class ReadStateSummaryResult:
    """The results of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[ReadShareGroupStateSummaryResponsePartitionResult] = []


@struct
class ReadShareGroupStateSummaryResponsePartitionResult:
    """Start offset and epochs of one share partition, or the error."""

    partition: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    state_epoch: int32 = 0
    leader_epoch: int32 = 0
    start_offset: int64 = 0
    delivery_complete_count: Annotated[int32, V(since=1, ignorable=True)] = -1
