"""InitProducerId (22), v0–v5: a producer's id, so that its retries can be told apart.

v2 flexible · v3 ProducerId and ProducerEpoch (KIP-360) · v4 PRODUCER_FENCED · v5
TRANSACTION_ABORTABLE (KIP-890).

Without a transactional id every call gets a fresh id with epoch 0, as in Apache Kafka; one half
of (producer id, epoch) alone is INVALID_REQUEST. This broker has no transaction coordinator: a
transactional id is answered UNSUPPORTED_VERSION, which no client retries, so that
`initTransactions` fails at once and says why. An empty one is INVALID_REQUEST, and a time-out
above `transaction.max.timeout.ms` INVALID_TRANSACTION_TIMEOUT, as with a coordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.transactions import InitProducerIdResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from protocol.messages.transactions import InitProducerIdRequest

KEY = ApiKey.INIT_PRODUCER_ID
_NO_PRODUCER_ID = -1
_NO_PRODUCER_EPOCH = -1


def handle(
    services: Services, ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    """A fresh id and epoch 0, or why not."""
    error = _refuse(services, request)
    if error is not ErrorCode.NONE:
        # TransactionCoordinator.initTransactionError
        return InitProducerIdResponse(
            throttle_time_ms=ctx.throttle_time_ms,
            error_code=error,
            producer_id=_NO_PRODUCER_ID,
            producer_epoch=_NO_PRODUCER_EPOCH,
        )
    return InitProducerIdResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        producer_id=services.producer_ids.generate(),
        producer_epoch=0,
    )


def _refuse(services: Services, request: InitProducerIdRequest) -> ErrorCode:
    has_id = request.producer_id != _NO_PRODUCER_ID
    if has_id != (request.producer_epoch != _NO_PRODUCER_EPOCH):
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is None:
        return ErrorCode.NONE
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    most = services.config.int("transaction.max.timeout.ms")
    if not 0 < request.transaction_timeout_ms <= most:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.UNSUPPORTED_VERSION
