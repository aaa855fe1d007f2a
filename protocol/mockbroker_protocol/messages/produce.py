"""Produce: batches of records on their way into partitions.

Versions 0 to 2 carry message sets of magic 0 and 1 and are kept for old clients; from 13 on topics
are named by id. `records` is never looked into here. `unknown_tags` is a slot of every declared
class; it is spelled out for the type checker where `produce_codec`, written by hand, sets it.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    Records,
    V,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)

if TYPE_CHECKING:
    Tags = dict[int, bytes] | None


@message(api_key=0)
class ProduceRequest:
    """Record batches to append; acks is 0, 1 or -1 (all in-sync replicas)."""

    transactional_id: Annotated[str | None, V(since=3, nullable=3)] = None
    acks: int16 = 0
    timeout_ms: int32 = 0
    topic_data: list[ProduceRequestTopic] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class ProduceRequestTopic:
    """What goes to one topic."""

    name: Annotated[str, V(until=12, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=13, ignorable=True)] = ZERO_UUID
    partition_data: list[ProduceRequestPartition] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class ProduceRequestPartition:
    """The bytes for one partition: one batch from v3 on."""

    index: int32 = 0
    records: Annotated[Records, V(nullable=0)] = None
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@message(api_key=0)
class ProduceResponse:
    """What became of each partition; not sent at all when acks was 0."""

    responses: list[ProduceResponseTopic] = []
    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    node_endpoints: Annotated[list[NodeEndpoint], V(tag=0, tagged=10)] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class ProduceResponseTopic:
    """The results of one topic."""

    name: Annotated[str, V(until=12, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=13, ignorable=True)] = ZERO_UUID
    partition_responses: list[ProduceResponsePartition] = []
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class ProduceResponsePartition:
    """Base offset and append time, or the error with its culprits (KIP-467)."""

    index: int32 = 0
    error_code: int16 = 0
    base_offset: int64 = 0
    log_append_time_ms: Annotated[int64, V(since=2, ignorable=True)] = -1
    log_start_offset: Annotated[int64, V(since=5, ignorable=True)] = -1
    record_errors: Annotated[list[BatchIndexAndErrorMessage], V(since=8, ignorable=True)] = []
    error_message: Annotated[str | None, V(since=8, nullable=8, ignorable=True)] = None
    current_leader: Annotated[LeaderIdAndEpoch | None, V(tag=0, tagged=10)] = None
    if TYPE_CHECKING:
        unknown_tags: Tags = None


@struct
class BatchIndexAndErrorMessage:
    """One record of the batch that made it fail."""

    batch_index: int32 = 0
    batch_index_error_message: Annotated[str | None, V(nullable=8)] = None


@struct
class LeaderIdAndEpoch:
    """Who leads the partition now (KIP-951)."""

    leader_id: int32 = -1
    leader_epoch: int32 = -1


@struct
class NodeEndpoint:
    """Where a leader named in this response can be reached (KIP-951)."""

    node_id: int32 = 0
    host: str = ""
    port: int32 = 0
    rack: Annotated[str | None, V(nullable=10)] = None
