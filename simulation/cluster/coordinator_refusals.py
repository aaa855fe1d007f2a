"""What coordinators must refuse: members and producers of before, and strangers. See `refusals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker.coordinator.group.states import GroupState
from mockbroker.coordinator.txn.metadata import NO_PRODUCER_ID
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatTopicPartitions,
)
from mockbroker_protocol.messages.group_admin import DeleteGroupsRequest
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    SyncGroupRequest,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    InitProducerIdRequest,
)
from simulation.cluster.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.txn.metadata import TransactionMetadata

HEARTBEAT, SYNC, COMMIT, COMMIT_BY_EPOCH, DELETE, CONSUMER_HEARTBEAT = 4, 4, 8, 9, 2, 1
OFFSET_FETCH = 9
DELETE_OFFSETS = 0
END_V1, END_V2, ADD_PARTITIONS, VERIFY, INIT = 4, 5, 3, 4, 4
JOIN = 9
JOINED = (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
NOBODY = "nobody"
BAD_OFFSET = 1 << 40
TOO_LONG_MS = 2**31 - 1


def _own(answer: Any) -> int:  # noqa: ANN401 - of any class with its field
    return int(answer.error_code)


def _known(answer: Any) -> int:  # noqa: ANN401 - of any class with its field
    """The same where what follows from it may not be written now."""
    error = _own(answer)
    return 0 if error == ErrorCode.COORDINATOR_NOT_AVAILABLE else error


# -- groups --------------------------------------------------------------------------------------


def of_full_group(group: ClassicGroup, max_size: int) -> Iterator[Refusal]:
    """What a classic group must refuse that has group.max.size members."""
    name = group.group_id
    if group.state in JOINED and len(group.members) >= max_size:
        yield Refusal(
            "a join to a full group",
            JoinGroupRequest(
                name, 1_000, 1_000, "", None, group.protocol_type or "", _protocols(group)
            ),
            JOIN,
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            _own,
        )


def of_classic_group(group: ClassicGroup, topic: str) -> Iterator[Refusal]:
    """What the coordinator of a classic group must refuse."""
    name, generation = group.group_id, group.generation_id
    unknown, illegal = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION
    identities: list[tuple[str, int, str, str | None, int]] = [
        ("a stranger", generation, NOBODY, None, unknown)
    ]
    for member in group.members.values():
        one, instance = member.member_id, member.group_instance_id
        identities.append(("an older generation", generation - 1, one, instance, illegal))
        identities.append(("a newer generation", generation + 1, one, instance, illegal))
        if instance is not None:
            fenced = ErrorCode.FENCED_INSTANCE_ID
            identities.append(("the instance of another", generation, NOBODY, instance, fenced))
    for what, told, member_id, instance, error in identities:
        if told < 0:
            continue
        beat = HeartbeatRequest(name, told, member_id, instance)
        yield Refusal(f"a heartbeat of {what}", beat, HEARTBEAT, error, _own)
        sync = SyncGroupRequest(name, told, member_id, instance)
        yield Refusal(f"a sync of {what}", sync, SYNC, error, _own)
        yield _commit(what, name, told, member_id, instance, topic, error)
    if group.members and group.state is not GroupState.DEAD:
        yield _commit("nobody", name, -1, "", None, topic, unknown)
        yield Refusal(
            "the deletion of a group with members",
            DeleteGroupsRequest([name]),
            DELETE,
            ErrorCode.NON_EMPTY_GROUP,
            lambda answer: answer.results[0].error_code,
        )
    if group.members and group.is_of_consumers and group.is_subscribed_to(topic):
        yield _delete_offsets(name, topic)
    if group.state is GroupState.PREPARING_REBALANCE:
        for member in group.members.values():
            beat = HeartbeatRequest(name, generation, member.member_id, member.group_instance_id)
            again = ErrorCode.REBALANCE_IN_PROGRESS
            yield Refusal("a heartbeat of who must join", beat, HEARTBEAT, again, _own)
    if group.state is GroupState.COMPLETING_REBALANCE:
        for member in group.members.values():
            yield _commit(
                "who rebalances",
                name,
                generation,
                member.member_id,
                member.group_instance_id,
                topic,
                ErrorCode.REBALANCE_IN_PROGRESS,
            )


def _protocols(group: ClassicGroup) -> list[JoinGroupRequestProtocol]:
    """Those of some member: another one with these fits in, if there is room."""
    member = next(iter(group.members.values()))
    return [JoinGroupRequestProtocol(protocol, metadata) for protocol, metadata in member.protocols]


def _commit(
    what: str,
    group: str,
    generation: int,
    member_id: str,
    instance: str | None,
    topic: str,
    error: int,
    version: int = COMMIT,
) -> Refusal:
    parts = [
        OffsetCommitRequestTopic(
            name=topic, partitions=[OffsetCommitRequestPartition(0, BAD_OFFSET)]
        )
    ]
    return Refusal(
        f"a commit of {what}",
        OffsetCommitRequest(group, generation, member_id, instance, topics=parts),
        version,
        error,
        lambda answer: answer.topics[0].partitions[0].error_code,
    )


def _delete_offsets(group: str, topic: str) -> Refusal:
    parts = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
    return Refusal(
        "the deletion of offsets that a member reads on from",
        OffsetDeleteRequest(group, parts),
        DELETE_OFFSETS,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        lambda answer: answer.topics[0].partitions[0].error_code,
        may_wait=True,  # for what says who has subscribed
    )


def of_consumer_group(group: ConsumerGroup, topic: str) -> Iterator[Refusal]:
    """What the coordinator of a group of KIP-848 must refuse."""
    name = group.group_id
    unknown, fenced = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH
    yield _beat("a stranger", name, NOBODY, 5, unknown)
    yield _commit("a stranger", name, 1, NOBODY, None, topic, unknown, COMMIT_BY_EPOCH)
    yield _offsets("a stranger", name, NOBODY, 1, unknown)
    if group.is_subscribed_to(topic):
        yield _delete_offsets(name, topic)
    for member in group.members.values():
        one, epoch = member.member_id, member.epoch
        if member.classic is not None or epoch <= 0:
            continue
        stale = ErrorCode.STALE_MEMBER_EPOCH
        yield _beat("a newer epoch", name, one, epoch + 1, fenced)
        if member.is_reconciled_to(group.epoch) and 0 < member.previous_epoch < epoch:
            request = ConsumerGroupHeartbeatRequest(
                name, one, member.previous_epoch, member.instance_id, topic_partitions=[]
            )
            what, none = "a heartbeat of who lost an answer", ErrorCode.NONE
            as_client = member.client_id
            yield Refusal(what, request, CONSUMER_HEARTBEAT, none, _known, as_client, may_wait=True)
        if epoch > 1:
            strange = [HeartbeatTopicPartitions(b"\x07" * 16, [0])]
            yield _beat("an older epoch", name, one, epoch - 1, fenced, owned=strange)
            yield _offsets("an older epoch", name, one, epoch - 1, stale)
        yield _commit("a newer epoch", name, epoch + 1, one, None, topic, stale, COMMIT_BY_EPOCH)
        yield _offsets("a newer epoch", name, one, epoch + 1, stale)
        if member.instance_id is not None:
            request = ConsumerGroupHeartbeatRequest(
                name, NOBODY, 0, member.instance_id, None, 1000, [topic], None, None, []
            )
            yield Refusal(
                "the instance of another",
                request,
                CONSUMER_HEARTBEAT,
                ErrorCode.UNRELEASED_INSTANCE_ID,
                _own,
            )


def _beat(
    what: str,
    group: str,
    member: str,
    epoch: int,
    error: int,
    *,
    owned: list[HeartbeatTopicPartitions] | None = None,
) -> Refusal:
    request = ConsumerGroupHeartbeatRequest(group, member, epoch, topic_partitions=owned)
    return Refusal(f"a heartbeat of {what}", request, CONSUMER_HEARTBEAT, error, _own)


def _offsets(what: str, group: str, member: str, epoch: int, error: int) -> Refusal:
    return Refusal(
        f"an OffsetFetch of {what}",
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, member, epoch, None)]),
        OFFSET_FETCH,
        error,
        lambda answer: answer.groups[0].error_code,
    )


# -- transactions --------------------------------------------------------------------------------


def of_transaction(known: TransactionMetadata, topic: str) -> Iterator[Refusal]:
    """What the coordinator of a transactional id must refuse; it has what it loaded replicated."""
    name, producer_id, epoch = known.transactional_id, known.producer_id, known.producer_epoch
    if producer_id < 0 or epoch < 0:
        return
    other, fenced = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.PRODUCER_FENCED
    too_long = ErrorCode.INVALID_TRANSACTION_TIMEOUT
    yield _init("a time-out beyond the limit", name, TOO_LONG_MS, -1, -1, too_long)
    yield _end("another producer", name, STRANGE_ID, epoch, END_V1, other)
    yield _end("a newer epoch", name, producer_id, epoch + 1, END_V1, fenced)
    if epoch:
        yield _end("an older epoch", name, producer_id, epoch - 1, END_V1, fenced)
    if known.is_in_transition:
        busy = ErrorCode.CONCURRENT_TRANSACTIONS
        if known.state in PREPARED:
            yield _verify("who must wait", name, producer_id, epoch, topic, busy)
        for version in (END_V1, END_V2):
            yield _end("who must wait", name, producer_id, epoch, version, busy)
        yield _add("who must wait", name, producer_id, epoch, topic, busy)
        yield _init("who must wait", name, 1000, -1, -1, busy)
        return
    yield _add("another producer", name, STRANGE_ID, epoch, topic, other)
    yield _add("a newer epoch", name, producer_id, epoch + 1, topic, fenced)
    if epoch:
        yield _add("an older epoch", name, producer_id, epoch - 1, topic, fenced)
    yield from _of_settled(known)


STRANGE_ID = 1 << 40
ENDED = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def _of_settled(known: TransactionMetadata) -> Iterator[Refusal]:
    name, producer_id, epoch = known.transactional_id, known.producer_id, known.producer_epoch
    other, fenced = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.PRODUCER_FENCED
    state, bad = known.state, ErrorCode.INVALID_TXN_STATE
    yield _end("another producer", name, STRANGE_ID, epoch, END_V2, other)
    yield _end("a newer epoch", name, producer_id, epoch + 1, END_V2, fenced)
    yield _init("another producer", name, 1000, STRANGE_ID, epoch, fenced)
    before = known.previous_producer_id
    if before not in (NO_PRODUCER_ID, producer_id):
        yield _init("the id before with epochs left", name, 1000, before, 0, fenced)
    if epoch > 1:
        yield _end("a zombie", name, producer_id, epoch - 2, END_V2, fenced)
    if state is TransactionState.ONGOING:
        if epoch:
            yield _end("an older epoch", name, producer_id, epoch - 1, END_V2, fenced)
        return
    if epoch > 1 and known.last_producer_epoch != epoch - 2:
        yield _init("a zombie", name, 1000, producer_id, epoch - 2, fenced)
    yield _end("who has begun nothing", name, producer_id, epoch, END_V2, bad)
    if state in ENDED:
        committed = state is TransactionState.COMPLETE_COMMIT
        for version, told in ((END_V1, epoch), (END_V2, epoch - 1)):
            if told < 0:
                continue
            none = ErrorCode.NONE  # a retry, answered and not carried out again
            yield _end("a retry", name, producer_id, told, version, none, commit=committed)
            yield _end("a contrary", name, producer_id, told, version, bad, commit=not committed)
    else:
        yield _end("who has begun nothing", name, producer_id, epoch, END_V1, bad)


def _end(
    what: str,
    name: str,
    producer_id: int,
    epoch: int,
    version: int,
    error: int,
    *,
    commit: bool = True,
) -> Refusal:
    request = EndTxnRequest(name, producer_id, epoch, commit)
    return Refusal(f"EndTxn v{version} of {what}", request, version, error, _own)


def _add(what: str, name: str, producer_id: int, epoch: int, topic: str, error: int) -> Refusal:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(topic, [0])],
    )
    return Refusal(
        f"AddPartitionsToTxn of {what}",
        request,
        ADD_PARTITIONS,
        error,
        lambda answer: (
            answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        ),
    )


def _verify(what: str, name: str, producer_id: int, epoch: int, topic: str, error: int) -> Refusal:
    asked = AddPartitionsToTxnTransaction(
        name, producer_id, epoch, True, [AddPartitionsToTxnTopic(topic, [0])]
    )
    return Refusal(
        f"the verification of {what}",
        AddPartitionsToTxnRequest([asked]),
        VERIFY,
        error,
        lambda answer: (
            answer.results_by_transaction[0]
            .topic_results[0]
            .results_by_partition[0]
            .partition_error_code
        ),
    )


def _init(
    what: str, name: str, timeout_ms: int, producer_id: int, epoch: int, error: int
) -> Refusal:
    request = InitProducerIdRequest(name, timeout_ms, producer_id, epoch)
    return Refusal(f"InitProducerId of {what}", request, INIT, error, _own)
