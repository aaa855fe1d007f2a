"""WriteTxnMarkers (27), v1–v2: a coordinator tells a leader that transactions ended.

v1 flexible · v2 TransactionVersion: of transactions V2 the marker's epoch must be above that of
the data (KIP-1228).

Answered when every marker is written and replicated; a partition that is not here is 3.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.errors import ErrorCode
    from mockbroker_protocol.messages.transaction_admin import WriteTxnMarkersRequest

    Errors: TypeAlias = dict[tuple[str, int], ErrorCode]


def handle(
    services: Services, ctx: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse | Verdict:
    """One result a producer id: two markers for the same one share it, as in Apache Kafka."""
    errors: dict[int, Errors] = {}
    pending = len(request.markers)
    if not pending:
        return WriteTxnMarkersResponse()

    def written(producer_id: int, results: Errors) -> None:
        nonlocal pending
        errors.setdefault(producer_id, {}).update(results)
        pending -= 1
        if not pending:
            ctx.respond(_response(errors))

    writer = services.transactions.marker_writer
    for asked in request.markers:
        marker = TransactionMarker(
            asked.producer_id,
            asked.producer_epoch,
            asked.coordinator_epoch,
            asked.transaction_result,
            asked.transaction_version,
        )
        partitions = [
            (topic.name, index) for topic in asked.topics for index in topic.partition_indexes
        ]
        writer.write(marker, partitions, partial(written, asked.producer_id))
    return PARKED


def _response(errors: dict[int, Errors]) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id, _by_topic(results))
            for producer_id, results in errors.items()
        ]
    )


def _by_topic(errors: Errors) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for (topic, index), error in errors.items():
        topics.setdefault(topic, []).append(WritableTxnMarkerPartitionResult(index, error))
    return [WritableTxnMarkerTopicResult(topic, results) for topic, results in topics.items()]


def guard(auth: AuthHelper, request: WriteTxnMarkersRequest) -> object | None:
    """CLUSTER_ACTION; ALTER will do too, for tools that end hanging transactions (KIP-664)."""
    if auth.authorize_cluster(AclOperation.ALTER, logs_denial=False):
        return None

    def tell(refused: WriteTxnMarkersResponse, _: AuthHelper) -> None:
        for told, marker in zip(refused.markers, request.markers, strict=True):
            told.producer_id = marker.producer_id

    return auth.require_cluster(AclOperation.CLUSTER_ACTION, tell)
