"""Fetch (key 1) of the metadata log on a controller's listener, v4–v18.

One partition, `__cluster_metadata-0`, which goes by its id; no sessions. Records are given whether
committed or not. PartitionMaxBytes and MinBytes count for nothing. An empty answer waits, unless it
tells a reader of v18 of a high watermark above its own (KIP-1166).

Order of decisions as in KafkaRaftClient.handleFetchRequest and tryCompleteFetchRequest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.apis.context import PARKED
from mockbroker.journal import DISCONNECT
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC_ID
from mockbroker.quorum.quorum import ParkedFetch
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
)
from mockbroker_protocol.versions import FETCH_ENDPOINTS

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchRequestPartition

_UNKNOWN: Final = -1
_NONE: Final = ErrorCode.NONE

guard = cluster_guard(AclOperation.CLUSTER_ACTION)


def handle(
    services: Services, ctx: RequestContext, request: FetchRequest
) -> FetchResponse | Verdict:
    """Answer now, or park until there are records, a high watermark or no time left."""
    quorum = services.quorum
    assert quorum is not None
    if request.cluster_id is not None and request.cluster_id != quorum.store.cluster_id:
        return FetchResponse(0, ErrorCode.INCONSISTENT_CLUSTER_ID)
    asked = _metadata_partition(request)
    if asked is None:
        return FetchResponse(0, ErrorCode.INVALID_REQUEST)
    if _is_invalid(request, asked):
        return _answer(quorum, ctx, _empty(quorum, ErrorCode.INVALID_REQUEST))
    data = _read(quorum, request, asked)
    response = _answer(quorum, ctx, data)
    if (
        request.max_wait_ms == 0
        or data.error_code != _NONE
        or data.records
        or data.diverging_epoch is not None
        or asked.high_watermark < data.high_watermark
    ):
        return response
    parked = ParkedFetch(
        asked.fetch_offset, partial(_answer_parked, quorum, ctx, request, asked, response)
    )
    quorum.park(parked, services.clock.now_ms + request.max_wait_ms)
    ctx.on_disconnect = partial(_give_up, quorum, ctx, parked)
    return PARKED


def _metadata_partition(request: FetchRequest) -> FetchRequestPartition | None:
    """The one partition that may be asked for, by id (RaftUtil.hasValidTopicPartition)."""
    if len(request.topics) == 1 and request.topics[0].topic_id == CLUSTER_METADATA_TOPIC_ID:
        partitions = request.topics[0].partitions
        if len(partitions) == 1 and partitions[0].partition == 0:
            return partitions[0]
    return None


def _is_invalid(request: FetchRequest, asked: FetchRequestPartition) -> bool:
    return (
        request.max_wait_ms < 0
        or asked.fetch_offset < 0
        or asked.last_fetched_epoch < 0
        or asked.current_leader_epoch < 0
        or asked.last_fetched_epoch > asked.current_leader_epoch
    )


def _read(
    quorum: MetadataQuorum, request: FetchRequest, asked: FetchRequestPartition
) -> FetchResponsePartition:
    """What there is for this reader now (KafkaRaftClient.tryCompleteFetchRequest)."""
    error = quorum.leader_error(asked.current_leader_epoch)
    if error is not _NONE:
        return _empty(quorum, error)
    log = quorum.log
    data = _empty(quorum, _NONE)
    diverging = log.diverging_epoch(asked.fetch_offset, asked.last_fetched_epoch)
    if diverging is not None:
        data.diverging_epoch = EpochEndOffset(*diverging)
    else:
        data.records = log.read_uncommitted(asked.fetch_offset, request.max_bytes) or b""
        state = request.replica_state
        replica_id = request.replica_id if state is None else state.replica_id
        quorum.observers.fetched(
            replica_id, asked.replica_directory_id, asked.fetch_offset, log.log_end_offset
        )
    if quorum.high_watermark is not None:
        data.high_watermark = quorum.high_watermark
    return data


def _empty(quorum: MetadataQuorum, error: ErrorCode) -> FetchResponsePartition:
    return FetchResponsePartition(
        0, error, _UNKNOWN, _UNKNOWN, quorum.log.log_start_offset, [], -1, b""
    )


def _answer(
    quorum: MetadataQuorum, ctx: RequestContext, data: FetchResponsePartition
) -> FetchResponse:
    """The leader is named in every answer (RaftUtil.singletonFetchResponse)."""
    data.current_leader = LeaderIdAndEpoch(quorum.named_leader, quorum.epoch)
    topic = FetchResponseTopic(topic_id=CLUSTER_METADATA_TOPIC_ID, partitions=[data])
    response = FetchResponse(ctx.throttle_time_ms, _NONE, 0, [topic])
    if ctx.api_version >= FETCH_ENDPOINTS and quorum.is_leader:
        response.node_endpoints = [
            NodeEndpoint(quorum.leader_id, listener.host, listener.port)
            for listener in quorum.listeners
        ]
    return response


def _answer_parked(
    quorum: MetadataQuorum,
    ctx: RequestContext,
    request: FetchRequest,
    asked: FetchRequestPartition,
    response: FetchResponse,
    expired: bool,
) -> None:
    if expired:
        ctx.respond(response)
    else:
        ctx.respond_by(lambda: _answer(quorum, ctx, _read(quorum, request, asked)))


def _give_up(quorum: MetadataQuorum, ctx: RequestContext, parked: ParkedFetch) -> None:
    ctx.woken_by = DISCONNECT
    quorum.give_up(parked)
