"""DescribeTransactions (65), v0: state, producer and partitions of transactional ids (KIP-664).

An id that is unknown is TRANSACTIONAL_ID_NOT_FOUND (105), an empty one INVALID_REQUEST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsResponse,
    DescribeTransactionsResponseTransactionState,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.transaction_admin import DescribeTransactionsRequest


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


def guard(auth: AuthHelper, request: DescribeTransactionsRequest) -> None:
    """DESCRIBE on the id; topics that may not be described are left out."""
    describe = AclOperation.DESCRIBE
    asked = request.transactional_ids
    request.transactional_ids = [
        one for one in asked if auth.authorize_transactional_id(describe, one)
    ]
    known = set(request.transactional_ids)
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    def amend(response: DescribeTransactionsResponse) -> None:
        for state in response.transaction_states:
            state.topics = [
                topic for topic in state.topics if auth.authorize_topic(describe, topic.topic)
            ]
        if len(known) < len(asked):
            found = iter(response.transaction_states)
            response.transaction_states = [
                next(found)
                if one in known
                else DescribeTransactionsResponseTransactionState(denied, one)
                for one in asked
            ]

    auth.amend(amend)
