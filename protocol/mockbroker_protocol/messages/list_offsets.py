"""ListOffsets and OffsetForLeaderEpoch: from a timestamp or a leader epoch to an offset."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int8, int16, int32, int64, message, struct


@message(api_key=2)
class ListOffsetsRequest:
    """Offsets by timestamp; -1 latest, -2 earliest, -3 max timestamp, -4 and below tiered."""

    replica_id: int32 = 0
    isolation_level: Annotated[int8, V(since=2)] = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: Annotated[int32, V(since=10, ignorable=True)] = 0


@struct
class ListOffsetsTopic:
    """Partitions of one topic to look up."""

    name: str = ""
    partitions: list[ListOffsetsPartition] = []


@struct
class ListOffsetsPartition:
    """A partition and the timestamp to look for."""

    partition_index: int32 = 0
    current_leader_epoch: Annotated[int32, V(since=4, ignorable=True)] = -1
    timestamp: int64 = 0


@message(api_key=2)
class ListOffsetsResponse:
    """The offsets found."""

    throttle_time_ms: Annotated[int32, V(since=2, ignorable=True)] = 0
    topics: list[ListOffsetsTopicResponse] = []


@struct
class ListOffsetsTopicResponse:
    """The results of one topic."""

    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = []


@struct
class ListOffsetsPartitionResponse:
    """Offset and timestamp found, or -1 and -1."""

    partition_index: int32 = 0
    error_code: int16 = 0
    timestamp: int64 = -1
    offset: int64 = -1
    leader_epoch: Annotated[int32, V(since=4)] = -1


@message(api_key=23)
class OffsetForLeaderEpochRequest:
    """End offsets of leader epochs, to find a divergence (KIP-101, KIP-320)."""

    replica_id: Annotated[int32, V(since=3, ignorable=True)] = -2
    topics: list[OffsetForLeaderTopic] = []


@struct
class OffsetForLeaderTopic:
    """Partitions of one topic to look up."""

    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = []


@struct
class OffsetForLeaderPartition:
    """A partition and the epoch whose end is wanted."""

    partition: int32 = 0
    current_leader_epoch: int32 = -1
    leader_epoch: int32 = 0


@message(api_key=23)
class OffsetForLeaderEpochResponse:
    """The end offsets found."""

    throttle_time_ms: int32 = 0
    topics: list[OffsetForLeaderTopicResult] = []


@struct
class OffsetForLeaderTopicResult:
    """The results of one topic."""

    topic: str = ""
    partitions: list[EpochEndOffset] = []


@struct
class EpochEndOffset:
    """Where the log of the follower leaves that of the leader (KIP-595)."""

    error_code: int16 = 0
    partition: int32 = 0
    leader_epoch: int32 = -1
    end_offset: int64 = -1
