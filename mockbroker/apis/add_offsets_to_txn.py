"""AddOffsetsToTxn (25), v0–v4: the offsets of a group join a transaction.

v2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before · v3 flexible · v4 TRANSACTION_ABORTABLE.

What is added is the group's partition of `__consumer_offsets`. Only producers of transactions V1
ask; of V2 the broker does it at TxnOffsetCommit (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode, known_error
from mockbroker_protocol.messages.transactions import AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.transactions import AddOffsetsToTxnRequest

_TRANSACTION_VERSION = 0


def handle(
    services: Services, ctx: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Verdict:
    """Answer when the transaction has the partition."""

    def respond(error: ErrorCode) -> None:
        error = known_error(ctx.api_key, ctx.api_version, error)
        ctx.respond(AddOffsetsToTxnResponse(ctx.throttle_time_ms, error))

    index = services.groups.service.runtime.partition_for(request.group_id)
    services.transactions.service.add_partitions(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        [(GROUP_METADATA_TOPIC, index)],
        _TRANSACTION_VERSION,
        respond,
    )
    return PARKED


def guard(auth: AuthHelper, request: AddOffsetsToTxnRequest) -> object | None:
    """WRITE on the transactional id, READ on the group."""
    refused = auth.require_transactional_id(AclOperation.WRITE, request.transactional_id)
    if refused is not None:
        return refused
    return auth.require_group(AclOperation.READ, request.group_id)
