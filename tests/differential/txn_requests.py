"""What a transactional producer asks, by the names of what the broker taught on the way.

A producer id is learned under its transactional id; epochs are the script's own, so that a broker
that bumps one where it must not differs in that very answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.messages.transaction_admin import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    TopicRequest,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from mockbroker_protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.differential.offset_steps import topic_id
from tests.differential.steps import ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.steps import Known, Step

TXN, TOPIC, GROUP, OTHER_GROUP = "txn", "txn-records", "txn-group", "txn-other-group"
PARTITIONS = 4
RECORD_TIME_MS = 1_700_000_000_000
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS
NOT_YET = (14, 15, 16, 51)
Parts = dict[str, list[int]]


class Producer:
    """A producer as it names itself: id, producer id and epoch.

    Without `producer_id` it is the one that `learned` told, moved by `off`.
    """

    def __init__(
        self,
        epoch: int,
        *,
        txn: str = TXN,
        learned: str = TXN,
        off: int = 0,
        producer_id: int | None = None,
    ) -> None:
        self.epoch = epoch
        self.txn = txn
        self._learned = learned
        self._off = off
        self._producer_id = producer_id

    def id(self, known: Known) -> int:
        if self._producer_id is not None:
            return self._producer_id
        found: int = known[f"producer of {self._learned}"]
        return found + self._off


def learn_producer(txn: str = TXN) -> Callable[[Known, Any], None]:
    def learn(known: Known, answer: Any) -> None:
        known[f"producer of {txn}"] = answer.producer_id

    return learn


def is_given(answer: Any) -> bool:
    return bool(answer.error_code not in NOT_YET)


def init(who: Producer | None = None, *, txn: str | None = TXN, timeout_ms: int = 60_000) -> Any:
    """As nobody yet, or as `who` it says it is."""

    def build(known: Known) -> InitProducerIdRequest:
        if who is None:
            return InitProducerIdRequest(txn, timeout_ms)
        return InitProducerIdRequest(who.txn, timeout_ms, who.id(known), who.epoch)

    return build


def add(who: Producer, parts: Parts, *, verify_only: bool = False) -> Any:
    return add_all((who, parts), verify_only=verify_only)


def add_all(*transactions: tuple[Producer, Parts], verify_only: bool = False) -> Any:
    """All of them where a version takes several, the first where it takes one."""

    def build(known: Known) -> AddPartitionsToTxnRequest:
        each = [
            AddPartitionsToTxnTransaction(
                who.txn,
                who.id(known),
                who.epoch,
                verify_only,
                [AddPartitionsToTxnTopic(name, list(indexes)) for name, indexes in parts.items()],
            )
            for who, parts in transactions
        ]
        one = each[0]
        return AddPartitionsToTxnRequest(
            each, one.transactional_id, one.producer_id, one.producer_epoch, one.topics
        )

    return build


def produce(
    who: Producer, sequence: int, *indexes: int, txn: str | None = TXN, transactional: bool = True
) -> Any:
    """One record to each partition; `txn` is what the request says, `who` what the batches say."""

    def build(known: Known) -> ProduceRequest:
        data = record(known, who, sequence, transactional=transactional)
        return to_partitions(known, txn, dict.fromkeys(indexes, data))

    return build


def produce_each(who: dict[int, Producer | None], *, acks: int = -1) -> Any:
    """A first record to each partition from a producer of its own, or no bytes."""

    def build(known: Known) -> ProduceRequest:
        data = {index: record(known, each, 0) if each else b"" for index, each in who.items()}
        return to_partitions(known, TXN, data, acks)

    return build


def record(known: Known, who: Producer, sequence: int, *, transactional: bool = True) -> bytes:
    return build_batch(
        [Record(0, RECORD_TIME_MS, None, b"v")],
        producer_id=who.id(known),
        producer_epoch=who.epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def to_partitions(
    known: Known, txn: str | None, data: dict[int, bytes], acks: int = -1
) -> ProduceRequest:
    partitions = [ProduceRequestPartition(index, batch) for index, batch in data.items()]
    topics = [ProduceRequestTopic(TOPIC, topic_id(known, TOPIC), partitions)]
    return ProduceRequest(txn, acks, 5000, topics)


def end(who: Producer, *, commit: bool) -> Any:
    return lambda known: EndTxnRequest(who.txn, who.id(known), who.epoch, commit)


def add_offsets(who: Producer, group: str = GROUP) -> Any:
    return lambda known: AddOffsetsToTxnRequest(who.txn, who.id(known), who.epoch, group)


def commit_offset(
    who: Producer,
    offset: int,
    *,
    group: str = GROUP,
    topic: str = TOPIC,
    index: int = 0,
    generation: int = -1,
    member: str = "",
) -> Any:
    def build(known: Known) -> TxnOffsetCommitRequest:
        part = TxnOffsetCommitRequestPartition(index, offset, -1, "note")
        topics = [TxnOffsetCommitRequestTopic(topic, topic_id(known, topic), [part])]
        return TxnOffsetCommitRequest(
            who.txn, group, who.id(known), who.epoch, generation, member, None, topics
        )

    return build


def offsets_of(group: str, *, stable: bool) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])]
    return OffsetFetchRequest("", [], [OffsetFetchRequestGroup(group, None, -1, topics)], stable)


def mark(
    who: Producer,
    parts: Parts,
    *,
    commit: bool = False,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> Any:
    def build(known: Known) -> WriteTxnMarkersRequest:
        topics = [WritableTxnMarkerTopic(name, list(indexes)) for name, indexes in parts.items()]
        marker = WritableTxnMarker(
            who.id(known), who.epoch, commit, topics, coordinator_epoch, transaction_version
        )
        return WriteTxnMarkersRequest([marker])

    return build


def describe(what: str, *txns: str, state: str = "") -> list[Step]:
    """Asks until markers are written, or until the first is in `state`."""

    def until(answer: Any) -> bool:
        found = answer.transaction_states[0].transaction_state
        return bool(found == state if state else not found.startswith("Prepare"))

    request = DescribeTransactionsRequest(list(txns or (TXN,)))
    return ask(f"DescribeTransactions {what}", 0, request, until=until)


def producers(what: str, parts: Parts | None = None) -> list[Step]:
    asked = parts or {TOPIC: list(range(PARTITIONS))}
    topics = [TopicRequest(name, list(indexes)) for name, indexes in asked.items()]
    return ask(f"DescribeProducers {what}", 0, DescribeProducersRequest(topics))
