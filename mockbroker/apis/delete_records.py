"""DeleteRecords: move the start of partitions up to an offset (KIP-107).

Parked fetches sleep on; a fetch below the new start is told at its next turn. The answer waits
until the live followers have moved their log starts too, which their fetches tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import topics_guard
from mockbroker.apis.context import PARKED
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import is_internal
from mockbroker.replica.delayed_delete_records import INVALID_LOW_WATERMARK, DeletedEntry
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services, Verdict

guard = topics_guard(AclOperation.DELETE)

_NO_LEADER_EPOCH: Final = -1


_Outcome = DeletedEntry | ErrorCode


def handle(
    services: Services, ctx: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Verdict:
    # A partition named twice has its last offset, as in Kafka's map.
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        offsets.update((part.partition_index, part.offset) for part in topic.partitions)
    outcomes = {
        name: {index: _delete(services, name, index, offset) for index, offset in offsets.items()}
        for name, offsets in wanted.items()
        if offsets
    }
    delayed = services.replicas.when_deleted(
        request.timeout_ms,
        [
            outcome
            for of_topic in outcomes.values()
            for outcome in of_topic.values()
            if isinstance(outcome, DeletedEntry)
        ],
        lambda: ctx.respond_by(lambda: _response(ctx, outcomes)),
    )
    if delayed is None:
        return _response(ctx, outcomes)
    ctx.on_disconnect = delayed.give_up
    return PARKED


def _delete(services: Services, topic: str, index: int, offset: int) -> _Outcome:
    # Kafka: KafkaApis.handleDeleteRecordsRequest, ReplicaManager.deleteRecordsOnLocalLog.
    partition = services.replicas.readable_partition(
        topic, index, _NO_LEADER_EPOCH, only_leader=True
    )
    if partition is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if is_internal(topic, services.config):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if isinstance(partition, ErrorCode):
        return partition
    error = partition.delete_records_before(offset)
    return error or DeletedEntry(partition, offset)


def _response(
    ctx: RequestContext, outcomes: dict[str, dict[int, _Outcome]]
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        topics=[
            DeleteRecordsTopicResult(
                name, [_result(index, outcome) for index, outcome in of_topic.items()]
            )
            for name, of_topic in outcomes.items()
        ],
    )


def _result(index: int, outcome: _Outcome) -> DeleteRecordsPartitionResult:
    if isinstance(outcome, DeletedEntry):
        return DeleteRecordsPartitionResult(index, outcome.low_watermark, outcome.error)
    return DeleteRecordsPartitionResult(index, INVALID_LOW_WATERMARK, outcome)
