"""OffsetCommit, TxnOffsetCommit, OffsetFetch, OffsetDelete (Kafka: OffsetMetadataManager).

Finds the shard that owns the group, decides whether a commit is allowed, writes it, and reads what
is stored. Whether a topic exists, and whether a transaction is open, is the handlers' matter, as in
Kafka. A commit in a transaction is pending until the transaction's marker stands in the log
(KIP-447). Who may commit to a group of KIP-848, `consumer.offset_rules` says; to a classic one:

| commit comes from             | to                        | outcome             | transaction |
|-------------------------------|---------------------------|---------------------|-------------|
| nobody (generation < 0)       | no group, or an Empty one | a simple group      | pending     |
| generation >= 0               | no group                  | 69 (v9+), 22 before | 22          |
| generation < 0, no id         | a group with members      | 25                  | pending     |
| stranger, or fenced id        | any                       | 25, 82              | 25, 82      |
| member of another generation  | its group                 | 22                  | 22          |
| member                        | CompletingRebalance       | 27                  | pending     |
| member                        | any other state           | written             | pending     |

A producer of an older epoch is refused by the log (47).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from mockbroker.coordinator.group.offset_store import offset_commit_record, offset_tombstone
from mockbroker.coordinator.group.shard import find_shard
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitValue
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from mockbroker_protocol.messages.transactions import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from mockbroker_protocol.primitives import ZERO_UUID
from mockbroker_protocol.versions import OFFSET_COMMIT_GROUP_NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.rebalance import Rebalancer
    from mockbroker.coordinator.group.shard import Companion, GroupShard
    from mockbroker.coordinator.log_port import GroupLog
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.coordinator.runtime import CoordinatorRuntime
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetDeleteRequest,
        OffsetDeleteRequestTopic,
    )
    from mockbroker_protocol.messages.transactions import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestPartition,
    )

    _Request: TypeAlias = OffsetCommitRequest | TxnOffsetCommitRequest
    _Partition: TypeAlias = OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition
    _ErrorOf: TypeAlias = Callable[[_Partition], ErrorCode]

NO_OFFSET = -1
NO_LEADER_EPOCH = -1
_NO_RETENTION_TIME = -1
_NO_EXPIRY = -1
_RENEWS_SESSION = frozenset({GroupState.STABLE, GroupState.PREPARING_REBALANCE})


@dataclass(slots=True, eq=False)
class TopicPartitions:
    """Partitions of one topic in a request; `topic_id` is zero when it was not given."""

    name: str
    partition_indexes: Iterable[int]
    topic_id: bytes = ZERO_UUID


@dataclass(slots=True, eq=False)
class FetchedOffset:
    """A stored position, or -1 with an empty text; `error` says why there is none."""

    partition_index: int
    offset: int = NO_OFFSET
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


class CommitWriter(Protocol):
    """Writes a commit in a way of its own, once it is known to be allowed."""

    def write(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Write these records of the request's partitions, or what they stand for."""

    def amend(self, response: OffsetCommitResponse | TxnOffsetCommitResponse) -> None:
        """Say in the answer what became of it."""


@dataclass(slots=True, eq=False)
class OffsetMetadataManager:
    """The offsets of all groups of one coordinator; `log` is for those of transactions."""

    _runtime: CoordinatorRuntime[GroupShard]
    _rebalancer: Rebalancer
    _log: GroupLog
    companion: Companion | None = None
    """What else knows of the groups' offsets, if anything does."""

    # -- commit ----------------------------------------------------------------------------

    def commit(
        self,
        request: OffsetCommitRequest,
        api_version: int,
        on_complete: Callable[[OffsetCommitResponse], None],
        writer: CommitWriter | None = None,
        records: list[CoordinatorRecord] | None = None,
    ) -> None:
        """OffsetCommit; `request` names existing partitions only.

        `records` are those of `records_of`, where they were made in slices.
        """
        error_of = self._metadata_check()

        def answer(error: ErrorCode) -> None:
            response = _committed(request, error_of if error is ErrorCode.NONE else lambda _: error)
            if writer is not None:
                writer.amend(response)
            on_complete(response)

        shard = self._runtime.shard_for(request.group_id)
        if shard is None:
            answer(self._runtime.missing_error(request.group_id))
            return
        error = _validate_commit(shard, request, api_version)
        if error is not ErrorCode.NONE:
            answer(error)
            return
        group = shard.groups.get(request.group_id)
        if group is not None and group.state in _RENEWS_SESSION:
            self._rebalancer.touch_session(shard, group, group.members[request.member_id])
        write = shard.write if writer is None else partial(writer.write, shard)
        write(list(self.records_of(request)) if records is None else records, answer)

    def records_of(self, request: _Request) -> Iterator[CoordinatorRecord]:
        """What a commit writes, should it be allowed."""
        expiry_ms = _NO_EXPIRY
        retention_ms = getattr(request, "retention_time_ms", _NO_RETENTION_TIME)
        if retention_ms != _NO_RETENTION_TIME:
            expiry_ms = self._rebalancer.clock.wall_ms() + retention_ms
        return self._records(request, expiry_ms, self._metadata_check())

    def commit_transactional(
        self,
        request: TxnOffsetCommitRequest,
        on_complete: Callable[[TxnOffsetCommitResponse], None],
        writer: CommitWriter | None = None,
        records: list[CoordinatorRecord] | None = None,
    ) -> None:
        """TxnOffsetCommit; the caller knows that partitions exist and the transaction is open.

        `records` as for `commit`.
        """
        error_of = self._metadata_check()

        def answer(error: ErrorCode) -> None:
            response = _txn_committed(
                request, error_of if error is ErrorCode.NONE else lambda _: error
            )
            if writer is not None:
                writer.amend(response)
            on_complete(response)

        shard, error = find_shard(self._runtime, request.group_id)
        if shard is None:
            answer(error)
            return
        error = _validate_commit(shard, request, None)
        if error is not ErrorCode.NONE:
            answer(error)
            return
        if records is None:
            records = list(self.records_of(request))
        if writer is not None:
            writer.write(shard, records, answer)
            return
        self._runtime.write(
            shard.partition_index, records, answer, request.producer_id, request.producer_epoch
        )

    def complete_transaction(
        self, partition_index: int, marker: TransactionMarker, done: Callable[[ErrorCode], None]
    ) -> None:
        """A transaction ends: its marker goes into the log, its offsets count or are gone.

        `done(error)` once the in-sync replicas have the marker; they have as long as for a commit.
        """
        shard = None if self.companion is None else self._runtime.shard_at(partition_index)
        if self.companion is not None and shard is not None:
            both_done = self.companion.transaction_ends(shard, marker, done)
            if both_done is None:
                done(ErrorCode.NOT_COORDINATOR)
                return
            done = both_done
        self._runtime.complete_transaction(partition_index, marker, self._log.append_marker, done)

    def _metadata_check(self) -> _ErrorOf:
        max_bytes = self._rebalancer.config.int("offset.metadata.max.bytes")

        def error_of(partition: _Partition) -> ErrorCode:
            if len(partition.committed_metadata or "") > max_bytes:
                return ErrorCode.OFFSET_METADATA_TOO_LARGE
            return ErrorCode.NONE

        return error_of

    def _records(
        self, request: _Request, expiry_ms: int, error_of: _ErrorOf
    ) -> Iterator[CoordinatorRecord]:
        now_wall_ms = self._rebalancer.clock.wall_ms()
        return (
            offset_commit_record(
                request.group_id,
                topic.name,
                partition.partition_index,
                OffsetCommitValue(
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.committed_metadata or "",
                    commit_timestamp=now_wall_ms,
                    expire_timestamp=expiry_ms,
                    topic_id=topic.topic_id,
                ),
            )
            for topic in request.topics
            for partition in topic.partitions
            if error_of(partition) is ErrorCode.NONE
        )

    # -- fetch -----------------------------------------------------------------------------

    def fetch(
        self,
        group_id: str,
        topics: list[TopicPartitions] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> tuple[ErrorCode, list[tuple[TopicPartitions, list[FetchedOffset]]]]:
        """OffsetFetch of one group: the positions topic by topic; None asks for all topics.

        What was never committed is -1 and no error, even where there is no such group. With
        `require_stable` these are the latest ones: they may be told once they are replicated
        (`CoordinatorRuntime.when_committed`; GroupCoordinatorService.fetchOffsets).
        """
        runtime = self._runtime
        shard = runtime.shard_for(group_id) if require_stable else runtime.committed_for(group_id)
        if shard is None:
            return runtime.missing_error(group_id), []
        group = shard.consumer_groups.get(group_id)
        if group is not None:
            from mockbroker.coordinator.group.consumer.offset_rules import validate_fetch

            error = validate_fetch(group, member_id, member_epoch)
            if error is not ErrorCode.NONE:
                return error, []
        if topics is None:
            topics = [
                TopicPartitions(topic, list(partitions))
                for topic, partitions in shard.offsets.of_group(group_id).items()
            ]
        return ErrorCode.NONE, [
            (
                topic,
                [
                    _fetch_one(shard, group_id, topic, index, require_stable)
                    for index in topic.partition_indexes
                ],
            )
            for topic in topics
        ]

    # -- delete ----------------------------------------------------------------------------

    def delete(
        self, request: OffsetDeleteRequest, on_complete: Callable[[OffsetDeleteResponse], None]
    ) -> None:
        """OffsetDelete, of existing partitions in topics that no member reads (KIP-496)."""
        shard, error = find_shard(self._runtime, request.group_id)
        group: ClassicGroup | ConsumerGroup | None = None
        if shard is not None:
            group = shard.consumer_groups.get(request.group_id)
            if group is None:
                group = shard.groups.get(request.group_id)
                error = _validate_delete(shard.groups.get(request.group_id))
        if shard is None or group is None or error is not ErrorCode.NONE:
            on_complete(OffsetDeleteResponse(error_code=error))
            return
        records: list[CoordinatorRecord] = []
        topics = [_delete_topic(shard, group, topic, records) for topic in request.topics]

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                on_complete(OffsetDeleteResponse(error_code=error))
            else:
                on_complete(OffsetDeleteResponse(topics=topics))

        shard.write(records, written)


def _committed(request: OffsetCommitRequest, error_of: _ErrorOf) -> OffsetCommitResponse:
    # Neither OffsetCommit nor TxnOffsetCommit has an error of the whole.
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponsePartition(one.partition_index, error_of(one))
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _txn_committed(request: TxnOffsetCommitRequest, error_of: _ErrorOf) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    TxnOffsetCommitResponsePartition(one.partition_index, error_of(one))
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _validate_commit(shard: GroupShard, request: _Request, api_version: int | None) -> ErrorCode:
    """Whether the commit is allowed; without a version it is part of a transaction."""
    consumers = shard.consumer_groups.get(request.group_id)
    if consumers is None:
        return _validate_classic_commit(shard.groups.get(request.group_id), request, api_version)
    from mockbroker.coordinator.group.consumer.offset_rules import validate_commit

    return validate_commit(
        consumers,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        [
            (topic.topic_id, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ],
        api_version,
    )


def _validate_classic_commit(
    group: ClassicGroup | None, request: _Request, api_version: int | None
) -> ErrorCode:
    # OffsetMetadataManager.validateOffsetCommit, ClassicGroup.validateOffsetCommit
    generation_id = request.generation_id_or_member_epoch
    if group is None:
        if generation_id < 0:
            return ErrorCode.NONE
        if api_version is not None and api_version >= OFFSET_COMMIT_GROUP_NOT_FOUND:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.ILLEGAL_GENERATION
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.NONE if api_version is None else ErrorCode.UNKNOWN_MEMBER_ID
    error = group.validate_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if api_version is not None and group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _fetch_one(
    shard: GroupShard,
    group_id: str,
    topic: TopicPartitions,
    partition_index: int,
    require_stable: bool,
) -> FetchedOffset:
    offsets = shard.offsets
    if require_stable and offsets.is_pending(group_id, topic.name, partition_index):
        return FetchedOffset(partition_index, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    committed = offsets.get(group_id, topic.name, partition_index)
    if committed is None or _other_topic(committed.topic_id, topic.topic_id):
        return FetchedOffset(partition_index)
    return FetchedOffset(
        partition_index, committed.offset, committed.leader_epoch, committed.metadata
    )


def _other_topic(committed_id: bytes, asked_id: bytes) -> bool:
    """Whether both ids are known and differ: a topic of the same name that came later."""
    return ZERO_UUID not in (committed_id, asked_id) and committed_id != asked_id


def _validate_delete(group: ClassicGroup | None) -> ErrorCode:
    # ClassicGroup.validateOffsetDelete
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY and not group.is_of_consumers:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def _delete_topic(
    shard: GroupShard,
    group: ClassicGroup | ConsumerGroup,
    topic: OffsetDeleteRequestTopic,
    records: list[CoordinatorRecord],
) -> OffsetDeleteResponseTopic:
    error = ErrorCode.NONE
    if group.is_subscribed_to(topic.name):
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    results = []
    for partition in topic.partitions:
        index = partition.partition_index
        results.append(OffsetDeleteResponsePartition(partition_index=index, error_code=error))
        if error is ErrorCode.NONE and _is_stored(shard, group.group_id, topic.name, index):
            records.append(offset_tombstone(group.group_id, topic.name, index))
    return OffsetDeleteResponseTopic(name=topic.name, partitions=results)


def _is_stored(shard: GroupShard, group_id: str, topic: str, partition_index: int) -> bool:
    offsets = shard.offsets
    return offsets.get(group_id, topic, partition_index) is not None or offsets.is_pending(
        group_id, topic, partition_index
    )
