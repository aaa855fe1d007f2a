"""DescribeTransactions (65), v0: state, producer and partitions of transactional ids (KIP-664).

An id that is unknown is TRANSACTIONAL_ID_NOT_FOUND (105), an empty one INVALID_REQUEST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.transaction_admin import DescribeTransactionsResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.transaction_admin import DescribeTransactionsRequest

KEY = ApiKey.DESCRIBE_TRANSACTIONS


def handle(
    services: Services, ctx: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """One entry an id, in the order of the request."""
    service = services.transactions.service
    return DescribeTransactionsResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        transaction_states=[
            service.describe_transaction(transactional_id)
            for transactional_id in request.transactional_ids
        ],
    )
