"""Requests that must be refused, each with the error that Apache Kafka gives it.

A `Refusal` is made from what a broker holds at that instant, and asked past the network at the same
instant: so there is one right answer. What is refused changes nothing, and whoever is asked is in
no doubt about it. What is listed here are the zombies: those of an older epoch, registration or
generation, of another producer or member, those who ask who does not lead, and who asks for too
much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.metadata.names import (
    GROUP_METADATA_TOPIC,
    INDIVIDUAL_COMMITS_TOPIC,
    TRANSACTION_STATE_TOPIC,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    ReplicaState,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from simulation.cluster.producers import MAX_SEQUENCE
from simulation.producers import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.log.producer_state import ProducerStateEntry
    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition

FETCH, FETCH_BY_STATE = 12, 17
LIST_OFFSETS, EPOCHS, PRODUCE, MARKERS, DELETE_RECORDS = 6, 4, 9, 2, 2
STRANGER = 99
LATEST = -1
NO_LIMIT = 1 << 20
REFUSED = b"refused"
INTERNAL = (GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC, TRANSACTION_STATE_TOPIC)


class Refusal(NamedTuple):
    """A request, and the error that `error_of` finds in its answer."""

    what: str
    request: object
    version: int
    wanted: int
    error_of: Callable[[Any], int]
    client_id: str = "probe"
    may_wait: bool = False
    """Whether no answer now is right too."""


# -- partitions ----------------------------------------------------------------------------------


def of_partition(broker: Broker, partition: Partition, now_ms: float) -> Iterator[Refusal]:
    """What a replica must refuse."""
    yield from _of_readers(broker, partition)
    yield from _of_look_ups(partition)
    if partition.topic not in INTERNAL:
        yield from _of_producers(broker, partition, now_ms)
    if partition.is_leader:
        yield from _of_markers(broker, partition)
        yield from _of_deletions(partition)


def _fetched(answer: Any) -> int:  # noqa: ANN401 - of any class with its fields
    return int(answer.error_code or answer.responses[0].partitions[0].error_code)


def _fetch(
    what: str, partition: Partition, wanted: int, replica: tuple[int, int] | None, epoch: int
) -> Refusal:
    """By a consumer, or by a replica of an id and broker epoch (-2: of a version without)."""
    asked = FetchRequestPartition(
        partition.index, epoch, partition.high_watermark, partition_max_bytes=NO_LIMIT
    )
    with_state = replica is not None and replica[1] >= -1
    by_id = FetchRequestTopic("", partition.topic_id, [asked])
    request = FetchRequest(
        session_epoch=-1,
        topics=[by_id if with_state else FetchRequestTopic(partition.topic, partitions=[asked])],
    )
    if replica is not None:
        request.replica_id = replica[0]
        if with_state:
            request.replica_state = ReplicaState(*replica)
    return Refusal(what, request, FETCH_BY_STATE if with_state else FETCH, wanted, _fetched)


def _of_readers(broker: Broker, partition: Partition) -> Iterator[Refusal]:
    epoch = partition.leader_epoch
    if epoch:
        yield _fetch(
            "a fetch in an older epoch", partition, ErrorCode.FENCED_LEADER_EPOCH, None, epoch - 1
        )
    yield _fetch(
        "a fetch in a newer epoch", partition, ErrorCode.UNKNOWN_LEADER_EPOCH, None, epoch + 1
    )
    not_here = ErrorCode.NOT_LEADER_OR_FOLLOWER
    yield _fetch("a stranger's fetch", partition, not_here, (STRANGER, -1), -1)
    if partition.is_leader:
        unknown = ErrorCode.UNKNOWN_LEADER_EPOCH
        yield _fetch("a stranger's fetch", partition, unknown, (STRANGER, -1), epoch)
    for node in partition.state.replicas:
        known = broker.services.metadata.brokers.get(node)
        if known is not None and known.epoch > 0 and node != partition.leader_id:
            zombie = node, known.epoch - 1
            yield _fetch("a fetch of an older registration", partition, not_here, zombie, -1)


def _of_look_ups(partition: Partition) -> Iterator[Refusal]:
    epoch = partition.leader_epoch
    errors: dict[int, ErrorCode] = {epoch + 1: ErrorCode.UNKNOWN_LEADER_EPOCH}
    if epoch:
        errors[epoch - 1] = ErrorCode.FENCED_LEADER_EPOCH
    if not partition.is_leader:
        errors[-1] = errors[epoch] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    for asked, error in errors.items():
        topics = [
            ListOffsetsTopic(
                partition.topic, [ListOffsetsPartition(partition.index, asked, LATEST)]
            )
        ]
        yield Refusal(
            f"a look-up in epoch {asked}",
            ListOffsetsRequest(-1, 0, topics),
            LIST_OFFSETS,
            error,
            lambda answer: answer.topics[0].partitions[0].error_code,
        )
        of_epoch = OffsetForLeaderPartition(partition.index, asked, max(epoch, 0))
        yield Refusal(
            f"the end of an epoch, asked in {asked}",
            OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(partition.topic, [of_epoch])]),
            EPOCHS,
            error,
            lambda answer: answer.topics[0].partitions[0].error_code,
        )


def _produce(what: str, partition: Partition, batch: bytes, wanted: int, acks: int = 1) -> Refusal:
    part = ProduceRequestPartition(partition.index, batch)
    request = ProduceRequest(
        None, acks, 100, [ProduceRequestTopic(partition.topic, bytes(16), [part])]
    )
    return Refusal(
        what,
        request,
        PRODUCE,
        wanted,
        lambda answer: answer.responses[0].partition_responses[0].error_code,
    )


def _of_producers(broker: Broker, partition: Partition, now_ms: float) -> Iterator[Refusal]:
    keys = [b"k"]
    plain = batch_of([REFUSED], now_ms, -1, 0, keys=keys)
    yield _produce("acks=2", partition, plain, ErrorCode.INVALID_REQUIRED_ACKS, 2)
    if not partition.is_leader:
        elsewhere = ErrorCode.NOT_LEADER_OR_FOLLOWER
        yield _produce("a batch for another leader", partition, plain, elsewhere)
        return
    if len(partition.state.isr) < least_in_sync(broker, partition):
        too_few = ErrorCode.NOT_ENOUGH_REPLICAS
        yield _produce("acks=all with too few in sync", partition, plain, too_few, -1)
    for producer_id, entry in known_producers(partition).items():
        for what, epoch, sequence, error in _bad_sequences(entry):
            batch = batch_of(
                [REFUSED], now_ms, producer_id, sequence, producer_epoch=epoch, keys=keys
            )
            yield _produce(f"{what} of {producer_id}", partition, batch, error)


def known_producers(partition: Partition) -> dict[int, ProducerStateEntry]:
    """Those that the log of a partition remembers."""
    log = partition.log
    return {} if log is None or log.producers is None else log.producers.producers


def least_in_sync(broker: Broker, partition: Partition) -> int:
    """min.insync.replicas, as far as there are replicas."""
    topic = broker.services.metadata.topics.get(partition.topic)
    count = 1 if topic is None else int(topic.config.int("min.insync.replicas"))
    return min(count, len(partition.state.replicas))


def _bad_sequences(entry: ProducerStateEntry) -> Iterator[tuple[str, int, int, int]]:
    epoch, last = entry.producer_epoch, entry.last_sequence
    if epoch:
        yield "an older epoch", epoch - 1, 0, ErrorCode.INVALID_PRODUCER_EPOCH
    gap = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    yield "a gap", epoch, (last + 2) & MAX_SEQUENCE, gap
    yield "a first batch in the middle", epoch + 1, 1, gap
    if entry.current_txn_first_offset >= 0:
        plain = (last + 1) & MAX_SEQUENCE
        yield "a plain batch", epoch, plain, ErrorCode.INVALID_TXN_STATE


def _of_markers(broker: Broker, partition: Partition) -> Iterator[Refusal]:
    if _waits_for_ranges(broker, partition):
        return
    for producer_id, entry in known_producers(partition).items():
        epoch, coordinator = entry.producer_epoch, entry.coordinator_epoch
        cases: list[tuple[str, int, int, int, ErrorCode]] = []
        if epoch > 0:
            error = ErrorCode.INVALID_PRODUCER_EPOCH
            cases.append(("an older epoch", epoch - 1, max(coordinator, 0), 0, error))
        if coordinator > 0:
            error = ErrorCode.TRANSACTION_COORDINATOR_FENCED
            cases.append(("an older coordinator", epoch, coordinator - 1, 0, error))
        if entry.current_txn_first_offset >= 0:
            error = ErrorCode.INVALID_PRODUCER_EPOCH
            cases.append(("the epoch of its data", epoch, max(coordinator, 0), 2, error))
        too_few = len(partition.state.isr) < least_in_sync(broker, partition)
        for what, told_epoch, told_coordinator, version, error in cases:
            topic = WritableTxnMarkerTopic(partition.topic, [partition.index])
            marker = WritableTxnMarker(
                producer_id, told_epoch, True, [topic], told_coordinator, version
            )
            yield Refusal(
                f"a marker of {what}",
                WriteTxnMarkersRequest([marker]),
                MARKERS,
                ErrorCode.NOT_ENOUGH_REPLICAS if too_few else error,
                lambda answer: answer.markers[0].topics[0].partitions[0].error_code,
            )


def _waits_for_ranges(broker: Broker, partition: Partition) -> bool:
    """Whether markers wait here for the ranges beside the offsets, or fail by them.

    They are told 6 while another broker leads these, and 19 where too few of theirs are in sync; in
    which of the two logs something is wrong first is not asked.
    """
    if partition.topic != GROUP_METADATA_TOPIC:
        return False
    services, index = broker.services, partition.index
    topic = services.metadata.topics.get(INDIVIDUAL_COMMITS_TOPIC)
    if topic is None or index >= len(topic.partitions):
        return False
    ranges = services.replicas.partition(INDIVIDUAL_COMMITS_TOPIC, index)
    return (
        ranges is None
        or services.leader_log(INDIVIDUAL_COMMITS_TOPIC, index) is None
        or any(len(one.state.isr) < least_in_sync(broker, one) for one in (partition, ranges))
    )


def _of_deletions(partition: Partition) -> Iterator[Refusal]:
    log = partition.log
    if log is None or partition.topic in INTERNAL:
        return
    error = ErrorCode.OFFSET_OUT_OF_RANGE if log.config.delete else ErrorCode.POLICY_VIOLATION
    part = DeleteRecordsPartition(partition.index, log.high_watermark + 1)
    yield Refusal(
        "a DeleteRecords beyond the high watermark",
        DeleteRecordsRequest([DeleteRecordsTopic(partition.topic, [part])], 100),
        DELETE_RECORDS,
        error,
        lambda answer: answer.topics[0].partitions[0].error_code,
    )
