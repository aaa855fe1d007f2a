"""InitProducerId (22), v0–v5: a producer's id and epoch, so that its retries can be told apart.

v2 flexible · v3 ProducerId and ProducerEpoch (KIP-360) · v4 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH
before · v5 TRANSACTION_ABORTABLE (KIP-890).

Without a transactional id every call gets a fresh id with epoch 0, as in Apache Kafka; one half
of (producer id, epoch) alone is INVALID_REQUEST. With one the transaction coordinator decides:
`coordinator.txn.init_producer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode, known_error
from mockbroker_protocol.messages.transactions import InitProducerIdResponse

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coordinator.txn.service import ProducerAnswer
    from mockbroker_protocol.messages.transactions import InitProducerIdRequest

_NO_PRODUCER_ID = -1
_NO_PRODUCER_EPOCH = -1


def handle(
    services: Services, ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Verdict:
    """An id and an epoch, or why not."""
    has_id = request.producer_id != _NO_PRODUCER_ID
    has_epoch = request.producer_epoch != _NO_PRODUCER_EPOCH
    if has_id != has_epoch:
        return _response(ctx, ErrorCode.INVALID_REQUEST, _NO_PRODUCER_ID, _NO_PRODUCER_EPOCH)
    if request.transactional_id is None:
        return _response(ctx, ErrorCode.NONE, services.producer_ids.generate(), 0)
    if not request.transactional_id:
        return _response(ctx, ErrorCode.INVALID_REQUEST, _NO_PRODUCER_ID, _NO_PRODUCER_EPOCH)
    from mockbroker.coordinator.txn.init_producer import ProducerIdAndEpoch

    expected = None
    if has_id:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)

    def respond(answer: ProducerAnswer) -> None:
        error, producer_id, producer_epoch = answer
        error = known_error(ctx.api_key, ctx.api_version, error)
        ctx.respond(_response(ctx, error, producer_id, producer_epoch))

    services.transactions.service.init_producer_id(
        request.transactional_id, request.transaction_timeout_ms, expected, respond
    )
    return PARKED


def _response(
    ctx: RequestContext, error: ErrorCode, producer_id: int, producer_epoch: int
) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        error_code=error,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


def guard(auth: AuthHelper, request: InitProducerIdRequest) -> object | None:
    """WRITE on the transactional id; without one IDEMPOTENT_WRITE, or WRITE on some topic."""
    write = AclOperation.WRITE
    if request.transactional_id is not None:
        if auth.authorize_transactional_id(write, request.transactional_id):
            return None
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif auth.authorize_cluster(
        AclOperation.IDEMPOTENT_WRITE, logs_denial=False
    ) or auth.authorize_by_resource_type(write, ResourceType.TOPIC):
        return None
    else:
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return InitProducerIdResponse(auth.ctx.throttle_time_ms, error, -1, -1)
