"""Fetch: records on their way out, with the sessions of KIP-227.

These classes are what `fetch_codec` builds and writes in production; the compiled plan
handles the same classes and serves as its check. Topics go by name up to version 12 and by id
from 13 on (KIP-516). A tagged struct that is absent is None. `unknown_tags` is a slot of every
declared class; it is spelled out here for the type checker, as the hand-written code sets it.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    Records,
    V,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)

if TYPE_CHECKING:
    Tags = dict[int, bytes] | None


@message(api_key=1)
class FetchRequest:
    """Read partitions, whole or as a change to a fetch session."""

    replica_id: Annotated[int32, V(until=14)] = -1
    max_wait_ms: int32 = 0
    min_bytes: int32 = 0
    max_bytes: int32 = 2**31 - 1
    isolation_level: Annotated[int8, V(since=4, ignorable=True)] = 0
    session_id: Annotated[int32, V(since=7, ignorable=True)] = 0
    session_epoch: Annotated[int32, V(since=7, ignorable=True)] = -1
    topics: list[FetchRequestTopic] = []
    forgotten_topics_data: Annotated[list[FetchRequestForgottenTopic], V(since=7)] = []
    rack_id: Annotated[str, V(since=11, ignorable=True)] = ""
    cluster_id: Annotated[str | None, V(nullable=12, tag=0, tagged=12, ignorable=True)] = None
    replica_state: Annotated[ReplicaState | None, V(tag=1, tagged=15)] = None
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class ReplicaState:
    """Who the follower is, and its broker epoch (KIP-903)."""

    replica_id: int32 = -1
    replica_epoch: int64 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class FetchRequestTopic:
    """Partitions of one topic to read."""

    topic: Annotated[str, V(until=12, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=13, ignorable=True)] = ZERO_UUID
    partitions: list[FetchRequestPartition] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class FetchRequestPartition:
    """Where to read a partition and how much of it at most."""

    partition: int32 = 0
    current_leader_epoch: Annotated[int32, V(since=9, ignorable=True)] = -1
    fetch_offset: int64 = 0
    last_fetched_epoch: Annotated[int32, V(since=12)] = -1
    log_start_offset: Annotated[int64, V(since=5, ignorable=True)] = -1
    partition_max_bytes: int32 = 0
    replica_directory_id: Annotated[uuid, V(tag=0, tagged=17, ignorable=True)] = ZERO_UUID
    high_watermark: Annotated[int64, V(tag=1, tagged=18, ignorable=True)] = 2**63 - 1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class FetchRequestForgottenTopic:
    """Partitions to drop from the fetch session."""

    topic: Annotated[str, V(until=12, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=13, ignorable=True)] = ZERO_UUID
    partitions: list[int32] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@message(api_key=1)
class FetchResponse:
    """Data, and changed positions of the partitions of the session."""

    throttle_time_ms: int32 = 0
    error_code: Annotated[int16, V(since=7, ignorable=True)] = 0
    session_id: Annotated[int32, V(since=7)] = 0
    responses: list[FetchResponseTopic] = []
    node_endpoints: Annotated[list[NodeEndpoint], V(tag=0, tagged=16)] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class FetchResponseTopic:
    """Adjacent partitions of one topic; the topic may come again later."""

    topic: Annotated[str, V(until=12, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=13, ignorable=True)] = ZERO_UUID
    partitions: list[FetchResponsePartition] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class FetchResponsePartition:
    """Offsets and records of a partition; records may be chunks, unjoined."""

    partition_index: int32 = 0
    error_code: int16 = 0
    high_watermark: int64 = 0
    last_stable_offset: Annotated[int64, V(since=4, ignorable=True)] = -1
    log_start_offset: Annotated[int64, V(since=5, ignorable=True)] = -1
    aborted_transactions: Annotated[
        list[AbortedTransaction] | None, V(since=4, nullable=4, ignorable=True)
    ] = []
    preferred_read_replica: Annotated[int32, V(since=11)] = -1
    records: Annotated[Records, V(nullable=0)] = None
    diverging_epoch: Annotated[EpochEndOffset | None, V(tag=0, tagged=12)] = None
    current_leader: Annotated[LeaderIdAndEpoch | None, V(tag=1, tagged=12)] = None
    snapshot_id: Annotated[SnapshotId | None, V(tag=2, tagged=12)] = None
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class EpochEndOffset:
    """Where the log of the follower leaves that of the leader (KIP-595)."""

    epoch: int32 = -1
    end_offset: int64 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now (KIP-951)."""

    leader_id: int32 = -1
    leader_epoch: int32 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class SnapshotId:
    """The snapshot to load in place of the log (KIP-630)."""

    end_offset: int64 = -1
    epoch: int32 = -1
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class AbortedTransaction:
    """An aborted transaction that overlaps the records returned."""

    producer_id: int64 = 0
    first_offset: int64 = 0
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class NodeEndpoint:
    """Where a leader named in this response can be reached (KIP-951)."""

    node_id: int32 = 0
    host: str = ""
    port: int32 = 0
    rack: Annotated[str | None, V(nullable=16)] = None
    if TYPE_CHECKING:
        unknown_tags: Tags = None
