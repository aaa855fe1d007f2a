"""AddPartitionsToTxn (24), v0–v5: partitions join a transaction before anything is written there.

v2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before · v3 flexible · v4 many transactions, VerifyOnly
(KIP-890; between brokers, though a client is served) · v5 TRANSACTION_ABORTABLE.

One partition that does not exist (3) leaves all others of the transaction unattempted (55). Rules:
`coordinator.txn.partitions`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode, known_error
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from mockbroker_protocol.versions import ADD_PARTITIONS_TO_TXN_MANY

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.transactions import AddPartitionsToTxnRequest

    Errors: TypeAlias = dict[tuple[str, int], ErrorCode]


def handle(
    services: Services, ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Verdict:
    """Answer once every transaction of the request has its outcome."""
    transactions = request.transactions
    if ctx.api_version < ADD_PARTITIONS_TO_TXN_MANY:
        transactions = [
            AddPartitionsToTxnTransaction(
                request.v3_and_below_transactional_id,
                request.v3_and_below_producer_id,
                request.v3_and_below_producer_epoch,
                verify_only=False,
                topics=request.v3_and_below_topics,
            )
        ]
    if not transactions:
        return _response(ctx, [])
    results: dict[int, AddPartitionsToTxnResult] = {}

    def answered(position: int, errors: Errors) -> None:
        asked = transactions[position]
        results[position] = AddPartitionsToTxnResult(asked.transactional_id, _by_topic(errors))
        if len(results) == len(transactions):
            ctx.respond(_response(ctx, [results[place] for place in range(len(results))]))

    for position, transaction in enumerate(transactions):
        _add(services, ctx, transaction, partial(answered, position))
    return PARKED


def _add(
    services: Services,
    ctx: RequestContext,
    asked: AddPartitionsToTxnTransaction,
    on_complete: Callable[[Errors], None],
) -> None:
    names = [(topic.name, index) for topic in asked.topics for index in topic.partitions]
    partitions = list(dict.fromkeys(names))
    known = {name: _exists(services, name) for name in partitions}
    if not all(known.values()):
        on_complete(
            {
                name: ErrorCode.OPERATION_NOT_ATTEMPTED
                if known[name]
                else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                for name in partitions
            }
        )
        return
    service = services.transactions.service
    producer = asked.transactional_id, asked.producer_id, asked.producer_epoch
    if asked.verify_only:
        on_complete(service.verify_partitions(*producer, partitions))
        return

    def added(error: ErrorCode) -> None:
        error = known_error(ctx.api_key, ctx.api_version, error)
        on_complete(dict.fromkeys(partitions, error))

    # Who sends v4 leaves the adding to brokers, so its producer speaks transactions V2.
    version = 2 if ctx.api_version >= ADD_PARTITIONS_TO_TXN_MANY else 0
    service.add_partitions(*producer, partitions, version, added)


def _exists(services: Services, name: tuple[str, int]) -> bool:
    topic = services.metadata.topics.get(name[0])
    return topic is not None and 0 <= name[1] < len(topic.partitions)


def _by_topic(errors: Errors) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, index), error in errors.items():
        topics.setdefault(topic, []).append(AddPartitionsToTxnPartitionResult(index, error))
    return [AddPartitionsToTxnTopicResult(topic, results) for topic, results in topics.items()]


def _response(
    ctx: RequestContext, results: list[AddPartitionsToTxnResult]
) -> AddPartitionsToTxnResponse:
    if ctx.api_version >= ADD_PARTITIONS_TO_TXN_MANY:
        return AddPartitionsToTxnResponse(
            throttle_time_ms=ctx.throttle_time_ms, results_by_transaction=results
        )
    (result,) = results
    return AddPartitionsToTxnResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        results_by_topic_v3_and_below=result.topic_results,
    )


def guard(auth: AuthHelper, request: AddPartitionsToTxnRequest) -> object | None:
    """Brokers need CLUSTER_ACTION; clients WRITE on the id, and on all topics or none is added."""
    if auth.version >= ADD_PARTITIONS_TO_TXN_MANY:
        return auth.require_cluster(AclOperation.CLUSTER_ACTION)
    write = AclOperation.WRITE
    refused = auth.require_transactional_id(write, request.v3_and_below_transactional_id)
    if refused is not None:
        return refused
    names = {topic.name for topic in request.v3_and_below_topics}
    denied = {name for name in names if not auth.authorize_topic(write, name)}
    if not denied:
        return None
    answer = auth.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert isinstance(answer, AddPartitionsToTxnResponse)
    known = auth.services.metadata.topics
    for result in answer.results_by_topic_v3_and_below:
        if result.name not in denied:
            count = len(known[result.name].partitions) if result.name in known else 0
            for one in result.results_by_partition:
                one.partition_error_code = (
                    ErrorCode.OPERATION_NOT_ATTEMPTED
                    if 0 <= one.partition_index < count
                    else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
    return answer
