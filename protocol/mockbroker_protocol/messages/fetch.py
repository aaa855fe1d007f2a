"""Fetch: records on their way out, with the sessions of KIP-227.

These classes are what `fetch_codec` builds and writes in production; the compiled plan
handles the same classes and serves as its check. Topics go by name up to version 12 and by id
from 13 on (KIP-516). A tagged struct that is absent is None.
"""

from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.messages.fetch_classes import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.messages.fetch_parts import (
    AbortedTransaction,
    EpochEndOffset,
    FetchRequestForgottenTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    ReplicaState,
    SnapshotId,
)
from mockbroker_protocol.schema import (
    Records,
    V,
    by_hand,
    int8,
    int16,
    int32,
    int64,
    uuid,
)

__all__ = (
    "AbortedTransaction",
    "EpochEndOffset",
    "FetchRequest",
    "FetchRequestForgottenTopic",
    "FetchRequestPartition",
    "FetchRequestTopic",
    "FetchResponse",
    "FetchResponsePartition",
    "FetchResponseTopic",
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "ReplicaState",
    "SnapshotId",
)

by_hand(
    FetchRequest,
    1,
    replica_id=Annotated[int32, V(until=14)],
    max_wait_ms=int32,
    min_bytes=int32,
    max_bytes=int32,
    isolation_level=Annotated[int8, V(since=4, ignorable=True)],
    session_id=Annotated[int32, V(since=7, ignorable=True)],
    session_epoch=Annotated[int32, V(since=7, ignorable=True)],
    topics=list[FetchRequestTopic],
    forgotten_topics_data=Annotated[list[FetchRequestForgottenTopic], V(since=7)],
    rack_id=Annotated[str, V(since=11, ignorable=True)],
    cluster_id=Annotated[str | None, V(nullable=12, tag=0, tagged=12, ignorable=True)],
    replica_state=Annotated[ReplicaState | None, V(tag=1, tagged=15)],
)
by_hand(
    FetchRequestTopic,
    topic=Annotated[str, V(until=12, ignorable=True)],
    topic_id=Annotated[uuid, V(since=13, ignorable=True)],
    partitions=list[FetchRequestPartition],
)
by_hand(
    FetchRequestPartition,
    partition=int32,
    current_leader_epoch=Annotated[int32, V(since=9, ignorable=True)],
    fetch_offset=int64,
    last_fetched_epoch=Annotated[int32, V(since=12)],
    log_start_offset=Annotated[int64, V(since=5, ignorable=True)],
    partition_max_bytes=int32,
    replica_directory_id=Annotated[uuid, V(tag=0, tagged=17, ignorable=True)],
    high_watermark=Annotated[int64, V(tag=1, tagged=18, ignorable=True)],
)
by_hand(
    FetchResponse,
    1,
    throttle_time_ms=int32,
    error_code=Annotated[int16, V(since=7, ignorable=True)],
    session_id=Annotated[int32, V(since=7)],
    responses=list[FetchResponseTopic],
    node_endpoints=Annotated[list[NodeEndpoint], V(tag=0, tagged=16)],
)
by_hand(
    FetchResponseTopic,
    topic=Annotated[str, V(until=12, ignorable=True)],
    topic_id=Annotated[uuid, V(since=13, ignorable=True)],
    partitions=list[FetchResponsePartition],
)
by_hand(
    FetchResponsePartition,
    partition_index=int32,
    error_code=int16,
    high_watermark=int64,
    last_stable_offset=Annotated[int64, V(since=4, ignorable=True)],
    log_start_offset=Annotated[int64, V(since=5, ignorable=True)],
    aborted_transactions=Annotated[
        list[AbortedTransaction] | None, V(since=4, nullable=4, ignorable=True)
    ],
    preferred_read_replica=Annotated[int32, V(since=11)],
    records=Annotated[Records, V(nullable=0)],
    diverging_epoch=Annotated[EpochEndOffset | None, V(tag=0, tagged=12)],
    current_leader=Annotated[LeaderIdAndEpoch | None, V(tag=1, tagged=12)],
    snapshot_id=Annotated[SnapshotId | None, V(tag=2, tagged=12)],
)
