"""Producer ids and transactions as a producer drives them (KIP-98, KIP-447, KIP-890)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid,
)


@message(api_key=22)
class InitProducerIdRequest:
    """Ask for a producer id; with a transactional id, fence the one before."""

    transactional_id: Annotated[str | None, V(nullable=0)] = ""
    transaction_timeout_ms: int32 = 0
    producer_id: Annotated[int64, V(since=3)] = -1
    producer_epoch: Annotated[int16, V(since=3)] = -1


@message(api_key=22)
class InitProducerIdResponse:
    """Producer id and epoch."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = -1
    producer_epoch: int16 = 0


@message(api_key=24)
class AddPartitionsToTxnRequest:
    """Partitions that join a transaction; batched between brokers from v4 on."""

    transactions: Annotated[list[AddPartitionsToTxnTransaction], V(since=4)] = []
    v3_and_below_transactional_id: Annotated[str, V(until=3)] = ""
    v3_and_below_producer_id: Annotated[int64, V(until=3)] = 0
    v3_and_below_producer_epoch: Annotated[int16, V(until=3)] = 0
    v3_and_below_topics: Annotated[list[AddPartitionsToTxnTopic], V(until=3)] = []


@struct
class AddPartitionsToTxnTransaction:
    """One transaction of the batch."""

    transactional_id: str = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    verify_only: boolean = False
    topics: list[AddPartitionsToTxnTopic] = []


@struct
class AddPartitionsToTxnTopic:
    """Partitions of one topic."""

    name: str = ""
    partitions: list[int32] = []


@message(api_key=24)
class AddPartitionsToTxnResponse:
    """What became of each partition."""

    throttle_time_ms: int32 = 0
    error_code: Annotated[int16, V(since=4, ignorable=True)] = 0
    results_by_transaction: Annotated[list[AddPartitionsToTxnResult], V(since=4)] = []
    results_by_topic_v3_and_below: Annotated[list[AddPartitionsToTxnTopicResult], V(until=3)] = []


@struct
class AddPartitionsToTxnResult:
    """The results of one transaction of the batch."""

    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = []


@struct
class AddPartitionsToTxnTopicResult:
    """The results of one topic."""

    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []


@struct
class AddPartitionsToTxnPartitionResult:
    """Success or error for one partition."""

    partition_index: int32 = 0
    partition_error_code: int16 = 0


@message(api_key=25)
class AddOffsetsToTxnRequest:
    """Let the offsets of a group join a transaction."""

    transactional_id: str = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    group_id: str = ""


@message(api_key=25)
class AddOffsetsToTxnResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0


@message(api_key=26)
class EndTxnRequest:
    """Commit or abort."""

    transactional_id: str = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    committed: boolean = False


@message(api_key=26)
class EndTxnResponse:
    """Success or error; from v5 on the bumped producer epoch (KIP-890)."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: Annotated[int64, V(since=5, ignorable=True)] = -1
    producer_epoch: Annotated[int16, V(since=5, ignorable=True)] = -1


@message(api_key=28)
class TxnOffsetCommitRequest:
    """Offsets that become visible when the transaction commits."""

    transactional_id: str = ""
    group_id: str = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    generation_id_or_member_epoch: Annotated[int32, V(since=3)] = -1
    member_id: Annotated[str, V(since=3)] = ""
    group_instance_id: Annotated[str | None, V(since=3, nullable=3)] = None
    topics: list[TxnOffsetCommitRequestTopic] = []


@struct
class TxnOffsetCommitRequestTopic:
    """Offsets in one topic."""

    name: Annotated[str, V(until=5, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=6, ignorable=True)] = ZERO_UUID
    partitions: list[TxnOffsetCommitRequestPartition] = []


@struct
class TxnOffsetCommitRequestPartition:
    """The next offset to read, and free metadata."""

    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: Annotated[int32, V(since=2, ignorable=True)] = -1
    committed_metadata: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=28)
class TxnOffsetCommitResponse:
    """What became of each partition."""

    throttle_time_ms: int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = []


@struct
class TxnOffsetCommitResponseTopic:
    """The results of one topic."""

    name: Annotated[str, V(until=5, ignorable=True)] = ""
    topic_id: Annotated[uuid, V(since=6, ignorable=True)] = ZERO_UUID
    partitions: list[TxnOffsetCommitResponsePartition] = []


@struct
class TxnOffsetCommitResponsePartition:
    """Success or error for one partition."""

    partition_index: int32 = 0
    error_code: int16 = 0
