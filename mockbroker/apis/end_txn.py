"""EndTxn (26), v0–v5: commit or abort.

v2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before · v3 flexible · v4 TRANSACTION_ABORTABLE · v5
transactions V2 (KIP-890): the answer has the producer's next epoch, or its next id.

The answer goes out when the decision is in the log; markers follow. Rules:
`coordinator.txn.end_txn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import known_error
from mockbroker_protocol.messages.transactions import EndTxnResponse
from mockbroker_protocol.versions import END_TXN_V2

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coordinator.txn.service import ProducerAnswer
    from mockbroker_protocol.messages.transactions import EndTxnRequest


def handle(
    services: Services, ctx: RequestContext, request: EndTxnRequest
) -> EndTxnResponse | Verdict:
    """Answer through `ctx.respond`."""

    def respond(answer: ProducerAnswer) -> None:
        error, producer_id, producer_epoch = answer
        error = known_error(ctx.api_key, ctx.api_version, error)
        ctx.respond(EndTxnResponse(ctx.throttle_time_ms, error, producer_id, producer_epoch))

    services.transactions.service.end_transaction(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        request.committed,
        2 if ctx.api_version >= END_TXN_V2 else 0,
        respond,
    )
    return PARKED


def guard(auth: AuthHelper, request: EndTxnRequest) -> object | None:
    """WRITE on the transactional id."""
    return auth.require_transactional_id(AclOperation.WRITE, request.transactional_id)
