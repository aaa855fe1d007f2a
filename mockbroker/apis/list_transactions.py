"""ListTransactions (66), v0–v2: the transactional ids that this node coordinates (KIP-664).

v1 DurationFilter (KIP-994) · v2 TransactionalIdPattern (KIP-1152); a pattern that is none is
INVALID_REGULAR_EXPRESSION (128). States that do not exist are named back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import in_slices
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_admin import ListTransactionsResponse

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.transaction_admin import ListTransactionsRequest


def handle(services: Services, ctx: RequestContext, request: ListTransactionsRequest) -> object:
    """Those that every filter lets through, in slices."""
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: ListTransactionsRequest
) -> Generator[None, None, ListTransactionsResponse]:
    service = services.transactions.service
    if service.runtime.is_loading:
        return ListTransactionsResponse(
            throttle_time_ms=ctx.throttle_time_ms, error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        )
    response, found = service.list_transactions(request)
    response.transaction_states = yield from in_slices(found)
    response.throttle_time_ms = ctx.throttle_time_ms
    return response


def guard(auth: AuthHelper, _: ListTransactionsRequest) -> None:
    """Ids that may not be described are hidden."""

    def amend(response: ListTransactionsResponse) -> None:
        response.transaction_states = [
            state
            for state in response.transaction_states
            if auth.authorize_transactional_id(AclOperation.DESCRIBE, state.transactional_id)
        ]

    auth.amend(amend)
