"""OffsetCommit, OffsetFetch and OffsetDelete: how far a group has come.

OffsetFetch speaks of one group up to version 7 and of many from 8 on (KIP-709); OffsetCommit and
OffsetFetch name topics by id from 10 on (KIP-848).
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)


@message(api_key=8)
class OffsetCommitRequest:
    """Store positions of a group; generation -1 and no member id is a simple commit."""

    group_id: str = ""
    generation_id_or_member_epoch: int32 = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=7, nullable=7)] = None
    retention_time_ms: Annotated[int64, V(until=4, ignorable=True)] = -1
    topics: list[OffsetCommitRequestTopic] = []


@struct
class OffsetCommitRequestTopic:
    """Positions in one topic."""

    name: Annotated[str, V(until=9, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=10, ignorable=True)] = ZERO_UUID
    partitions: list[OffsetCommitRequestPartition] = []


@struct
class OffsetCommitRequestPartition:
    """The next offset to read, and free metadata."""

    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: Annotated[int32, V(since=6, ignorable=True)] = -1
    committed_metadata: Annotated[str | None, V(nullable=2)] = ""


@message(api_key=8)
class OffsetCommitResponse:
    """What became of each partition."""

    throttle_time_ms: Annotated[int32, V(since=3, ignorable=True)] = 0
    topics: list[OffsetCommitResponseTopic] = []


@struct
class OffsetCommitResponseTopic:
    """The results of one topic."""

    name: Annotated[str, V(until=9, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=10, ignorable=True)] = ZERO_UUID
    partitions: list[OffsetCommitResponsePartition] = []


@struct
class OffsetCommitResponsePartition:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0


@message(api_key=9)
class OffsetFetchRequest:
    """Ask for stored positions; a topic list of None is all (v2+)."""

    group_id: Annotated[str, V(until=7)] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, V(until=7, nullable=2)] = []
    groups: Annotated[list[OffsetFetchRequestGroup], V(since=8)] = []
    require_stable: Annotated[boolean, V(since=7)] = False


@struct
class OffsetFetchRequestTopic:
    """Partitions of one topic (v7 and below)."""

    name: Annotated[str, V(until=7)] = ""
    partition_indexes: Annotated[list[int32], V(until=7)] = []


@struct
class OffsetFetchRequestGroup:
    """A group and what is asked of it (v8+)."""

    group_id: str = ""
    member_id: Annotated[str | None, V(since=9, nullable=9, ignorable=True)] = None
    member_epoch: Annotated[int32, V(since=9, ignorable=True)] = -1
    topics: Annotated[list[OffsetFetchRequestTopics] | None, V(nullable=8)] = []


@struct
class OffsetFetchRequestTopics:
    """Partitions of one topic (v8+)."""

    name: Annotated[str, V(until=9, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=10, ignorable=True)] = ZERO_UUID
    partition_indexes: list[int32] = []


@message(api_key=9)
class OffsetFetchResponse:
    """Stored positions, of one group or of each group."""

    throttle_time_ms: Annotated[int32, V(since=3, ignorable=True)] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], V(until=7)] = []
    error_code: Annotated[int16, V(since=2, until=7, ignorable=True)] = 0
    groups: Annotated[list[OffsetFetchResponseGroup], V(since=8)] = []


@struct
class OffsetFetchResponseTopic:
    """Positions in one topic (v7 and below)."""

    name: Annotated[str, V(until=7)] = ""
    partitions: Annotated[list[OffsetFetchResponsePartition], V(until=7)] = []


@struct
class OffsetFetchResponsePartition:
    """A stored position, or offset -1 (v7 and below)."""

    partition_index: Annotated[int32, V(until=7)] = 0
    committed_offset: Annotated[int64, V(until=7)] = 0
    committed_leader_epoch: Annotated[int32, V(since=5, until=7, ignorable=True)] = -1
    metadata: Annotated[str | None, V(until=7, nullable=1)] = ""
    error_code: Annotated[int16, V(until=7)] = 0


@struct
class OffsetFetchResponseGroup:
    """The positions of one group, or the error (v8+)."""

    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: int16 = 0


@struct
class OffsetFetchResponseTopics:
    """Positions in one topic (v8+)."""

    name: Annotated[str, V(until=9, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=10, ignorable=True)] = ZERO_UUID
    partitions: list[OffsetFetchResponsePartitions] = []


@struct
class OffsetFetchResponsePartitions:
    """A stored position, or offset -1 (v8+)."""

    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: int32 = -1
    metadata: Annotated[str | None, V(nullable=8)] = ""
    error_code: int16 = 0


@message(api_key=47)
class OffsetDeleteRequest:
    """Drop stored positions of a group (KIP-496)."""

    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = []


@struct
class OffsetDeleteRequestTopic:
    """Partitions of one topic."""

    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = []


@struct
class OffsetDeleteRequestPartition:
    """A partition."""

    partition_index: int32 = 0


@message(api_key=47)
class OffsetDeleteResponse:
    """What became of each partition."""

    error_code: int16 = 0
    throttle_time_ms: int32 = 0
    topics: list[OffsetDeleteResponseTopic] = []


@struct
class OffsetDeleteResponseTopic:
    """The results of one topic."""

    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = []


@struct
class OffsetDeleteResponsePartition:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0
