"""Transactions from outside: ListTransactions and DescribeTransactions (KIP-664, KIP-994)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.metadata import by_topic
from mockbroker.coordinator.txn.states import STATE_NAMES
from mockbroker.re2.expression import compiled
from mockbroker.re2.parser import RegexError
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsResponseTransactionState,
    ListTransactionsResponse,
    ListTransactionsResponseTransactionState,
    TopicData,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.coordinator.txn.shard import TransactionShard
    from mockbroker_protocol.messages.transaction_admin import ListTransactionsRequest

_STATES_BY_NAME = {name: state for state, name in STATE_NAMES.items()}


def list_transactions(
    shards: Iterable[TransactionShard], request: ListTransactionsRequest, now_ms: int
) -> tuple[ListTransactionsResponse, Iterator[ListTransactionsResponseTransactionState]]:
    """Those that every filter lets through; an empty filter lets all (listTransactionStates).

    They come apart, made as they are taken: whose there are is settled now.
    """
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = compiled(request.transactional_id_pattern)
        except RegexError:
            refusal = ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
            return refusal, iter(())
    states = {_STATES_BY_NAME[name] for name in request.state_filters if name in _STATES_BY_NAME}

    def is_wanted(metadata: TransactionMetadata) -> bool:
        if request.producer_id_filters and metadata.producer_id not in request.producer_id_filters:
            return False
        if request.state_filters and metadata.state not in states:
            return False
        if request.duration_filter >= 0 and now_ms - metadata.start_ms <= request.duration_filter:
            return False
        return pattern is None or pattern.fullmatch(metadata.transactional_id)

    there = [metadata for shard in shards for metadata in shard.transactions.values()]
    unknown = [name for name in request.state_filters if name not in _STATES_BY_NAME]
    return ListTransactionsResponse(unknown_state_filters=unknown), (
        ListTransactionsResponseTransactionState(
            metadata.transactional_id, metadata.producer_id, STATE_NAMES[metadata.state]
        )
        for metadata in there
        if is_wanted(metadata)
    )


def describe_transaction(
    metadata: TransactionMetadata,
) -> DescribeTransactionsResponseTransactionState:
    """State, producer and partitions; of a prepared one those that have no marker yet."""
    return DescribeTransactionsResponseTransactionState(
        transactional_id=metadata.transactional_id,
        transaction_state=STATE_NAMES[metadata.state],
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[
            TopicData(topic, indexes) for topic, indexes in by_topic(metadata.partitions).items()
        ],
    )
