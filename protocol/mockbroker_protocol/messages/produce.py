"""Produce: batches of records on their way into partitions.

Versions 0 to 2 carry message sets of magic 0 and 1 and are kept for old clients; from 13 on topics
are named by id. `records` is never looked into here.
"""

from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.messages.produce_classes import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from mockbroker_protocol.messages.produce_parts import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
)
from mockbroker_protocol.schema import (
    Records,
    V,
    by_hand,
    int16,
    int32,
    int64,
    uuid,
)

__all__ = (
    "BatchIndexAndErrorMessage",
    "LeaderIdAndEpoch",
    "NodeEndpoint",
    "ProduceRequest",
    "ProduceRequestPartition",
    "ProduceRequestTopic",
    "ProduceResponse",
    "ProduceResponsePartition",
    "ProduceResponseTopic",
)


by_hand(
    ProduceRequest,
    0,
    transactional_id=Annotated[str | None, V(since=3, nullable=3)],
    acks=int16,
    timeout_ms=int32,
    topic_data=list[ProduceRequestTopic],
)
by_hand(
    ProduceRequestTopic,
    name=Annotated[str, V(until=12, ignorable=True)],
    topic_id=Annotated[uuid, V(since=13, ignorable=True)],
    partition_data=list[ProduceRequestPartition],
)
by_hand(
    ProduceRequestPartition,
    index=int32,
    records=Annotated[Records, V(nullable=0)],
)
by_hand(
    ProduceResponse,
    0,
    responses=list[ProduceResponseTopic],
    throttle_time_ms=Annotated[int32, V(since=1, ignorable=True)],
    node_endpoints=Annotated[list[NodeEndpoint], V(tag=0, tagged=10)],
)
by_hand(
    ProduceResponseTopic,
    name=Annotated[str, V(until=12, ignorable=True)],
    topic_id=Annotated[uuid, V(since=13, ignorable=True)],
    partition_responses=list[ProduceResponsePartition],
)
by_hand(
    ProduceResponsePartition,
    index=int32,
    error_code=int16,
    base_offset=int64,
    log_append_time_ms=Annotated[int64, V(since=2, ignorable=True)],
    log_start_offset=Annotated[int64, V(since=5, ignorable=True)],
    record_errors=Annotated[list[BatchIndexAndErrorMessage], V(since=8, ignorable=True)],
    error_message=Annotated[str | None, V(since=8, nullable=8, ignorable=True)],
    current_leader=Annotated[LeaderIdAndEpoch | None, V(tag=0, tagged=10)],
)
