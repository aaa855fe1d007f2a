"""DeleteRecords: move the start of partitions up to an offset (KIP-107).

Parked fetches sleep on; a fetch below the new start is told at its next turn. Replicas share the
node, so the low watermark is the leader's log start and nothing is waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.names import is_internal
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

KEY: Final = ApiKey.DELETE_RECORDS

_INVALID_LOW_WATERMARK: Final = -1
_NO_LEADER_EPOCH: Final = -1


def handle(
    services: Services, ctx: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    # A partition named twice has its last offset, as in Kafka's map.
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        offsets.update((part.partition_index, part.offset) for part in topic.partitions)
    return DeleteRecordsResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        topics=[
            DeleteRecordsTopicResult(
                name, [_delete(services, name, index, offset) for index, offset in offsets.items()]
            )
            for name, offsets in wanted.items()
            if offsets
        ],
    )


def _delete(
    services: Services, topic: str, index: int, offset: int
) -> DeleteRecordsPartitionResult:
    # Kafka: KafkaApis.handleDeleteRecordsRequest, ReplicaManager.deleteRecordsOnLocalLog.
    partition = services.replicas.readable_partition(
        topic, index, _NO_LEADER_EPOCH, only_leader=True
    )
    error: ErrorCode
    if partition is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif is_internal(topic):
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif isinstance(partition, ErrorCode):
        error = partition
    else:
        error = partition.delete_records_before(offset)
        if error is ErrorCode.NONE:
            return DeleteRecordsPartitionResult(index, partition.open_log().log_start_offset)
    return DeleteRecordsPartitionResult(index, _INVALID_LOW_WATERMARK, error)
