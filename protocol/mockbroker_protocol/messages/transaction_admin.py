"""WriteTxnMarkers between brokers, and the look at transactions from outside (KIP-664)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, int8, int16, int32, int64, message, struct


@message(api_key=27)
class WriteTxnMarkersRequest:
    """The coordinator tells leaders to end transactions in their logs."""

    markers: list[WritableTxnMarker] = []


@struct
class WritableTxnMarker:
    """One transaction to end."""

    producer_id: int64 = 0
    producer_epoch: int16 = 0
    transaction_result: boolean = False
    topics: list[WritableTxnMarkerTopic] = []
    coordinator_epoch: int32 = 0
    transaction_version: Annotated[int8, V(since=2, ignorable=True)] = 0


@struct
class WritableTxnMarkerTopic:
    """Partitions of one topic that take the marker."""

    name: str = ""
    partition_indexes: list[int32] = []


@message(api_key=27)
class WriteTxnMarkersResponse:
    """What became of each marker."""

    markers: list[WritableTxnMarkerResult] = []


@struct
class WritableTxnMarkerResult:
    """The results of one producer id."""

    producer_id: int64 = 0
    topics: list[WritableTxnMarkerTopicResult] = []


@struct
class WritableTxnMarkerTopicResult:
    """The results of one topic."""

    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = []


@struct
class WritableTxnMarkerPartitionResult:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0


@message(api_key=65)
class DescribeTransactionsRequest:
    """Ask about transactional ids."""

    transactional_ids: list[str] = []


@message(api_key=65)
class DescribeTransactionsResponse:
    """One answer per transactional id."""

    throttle_time_ms: int32 = 0
    transaction_states: list[DescribeTransactionsResponseTransactionState] = []


@struct
class DescribeTransactionsResponseTransactionState:
    """A transaction, its producer, state and partitions."""

    error_code: int16 = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int32 = 0
    transaction_start_time_ms: int64 = 0
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    topics: list[TopicData] = []


@struct
class TopicData:
    """Partitions of one topic."""

    topic: str = ""
    partitions: list[int32] = []


@message(api_key=66)
class ListTransactionsRequest:
    """Ask for transactions by state, producer, age or pattern."""

    state_filters: list[str] = []
    producer_id_filters: list[int64] = []
    duration_filter: Annotated[int64, V(since=1)] = -1
    transactional_id_pattern: Annotated[str | None, V(since=2, nullable=2)] = None


@message(api_key=66)
class ListTransactionsResponse:
    """The transactions that this broker coordinates."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    unknown_state_filters: list[str] = []
    transaction_states: list[ListTransactionsResponseTransactionState] = []


@struct
class ListTransactionsResponseTransactionState:
    """A transaction with producer id and state."""

    transactional_id: str = ""
    producer_id: int64 = 0
    transaction_state: str = ""


@message(api_key=61)
class DescribeProducersRequest:
    """Ask which producers are active in partitions."""

    topics: list[TopicRequest] = []


@struct
class TopicRequest:
    """A topic by name."""

    name: str = ""
    partition_indexes: list[int32] = []


@message(api_key=61)
class DescribeProducersResponse:
    """One answer per partition."""

    throttle_time_ms: int32 = 0
    topics: list[TopicResponse] = []


@struct
class TopicResponse:
    """The results of one topic."""

    name: str = ""
    partitions: list[PartitionResponse] = []


@struct
class PartitionResponse:
    """The producers of one partition, or the error."""

    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    active_producers: list[ProducerState] = []


@struct
class ProducerState:
    """A producer id as the log of the partition knows it."""

    producer_id: int64 = 0
    producer_epoch: int32 = 0
    last_sequence: int32 = -1
    last_timestamp: int64 = -1
    coordinator_epoch: int32 = 0
    current_txn_start_offset: int64 = -1
