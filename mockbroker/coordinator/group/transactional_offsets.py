"""TxnOffsetCommit: positions that count once their transaction commits (KIP-447).

Decides whether the commit is allowed and writes it as part of the producer's transaction; until
the marker stands in the log it is pending (Kafka: OffsetMetadataManager
.commitTransactionalOffset). That the transaction is open, the handler has made sure.

| commit comes from            | to                      | outcome            |
|------------------------------|-------------------------|--------------------|
| nobody (generation < 0)      | no group, or an Empty one | pending          |
| generation >= 0              | no group                | 22                 |
| no member, no generation     | a group with members    | pending            |
| stranger, or fenced id       | any                     | 25, 82             |
| member of another generation | its group               | 22                 |
| member                       | whatever its state      | pending            |
| a producer of an older epoch | any                     | 47                 |

The table is for classic groups; `consumer.offset_rules` is for those of KIP-848.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.offset_store import offset_commit_record
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitValue
from mockbroker_protocol.messages.transactions import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.messages.transactions import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestPartition,
        TxnOffsetCommitRequestTopic,
    )

    # Appends and replays the records of one shard in the producer's transaction.
    Write: TypeAlias = Callable[[list[CoordinatorRecord], Callable[[ErrorCode], None]], None]


class TransactionalOffsetHandler:
    """Decides what becomes of the offsets of a transaction."""

    __slots__ = ("_clock", "_config")

    def __init__(self, clock: Clock, config: BrokerConfig) -> None:
        self._clock = clock
        self._config = config

    def commit(
        self,
        shard: GroupShard,
        request: TxnOffsetCommitRequest,
        write: Write,
        on_complete: Callable[[TxnOffsetCommitResponse], None],
    ) -> None:
        """Write the positions as pending; `request` names existing partitions only."""
        consumers = shard.consumer_groups.get(request.group_id)
        if consumers is None:
            error = _validate(shard.groups.get(request.group_id), request)
        else:
            error = _validate_consumers(consumers, request)
        if error is not ErrorCode.NONE:
            on_complete(txn_commit_error_response(request.topics, error))
            return
        records: list[CoordinatorRecord] = []
        topics = [self._topic(request.group_id, topic, records) for topic in request.topics]

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                on_complete(txn_commit_error_response(request.topics, error))
            else:
                on_complete(TxnOffsetCommitResponse(topics=topics))

        write(records, written)

    def _topic(
        self, group_id: str, topic: TxnOffsetCommitRequestTopic, records: list[CoordinatorRecord]
    ) -> TxnOffsetCommitResponseTopic:
        max_bytes = self._config.int("offset.metadata.max.bytes")
        results = []
        for partition in topic.partitions:
            index = partition.partition_index
            error = ErrorCode.NONE
            if len(partition.committed_metadata or "") > max_bytes:
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                value = self._value(partition, topic.topic_id)
                records.append(offset_commit_record(group_id, topic.name, index, value))
            results.append(TxnOffsetCommitResponsePartition(index, error))
        return TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, results)

    def _value(
        self, partition: TxnOffsetCommitRequestPartition, topic_id: bytes
    ) -> OffsetCommitValue:
        return OffsetCommitValue(
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.committed_metadata or "",
            commit_timestamp=self._clock.wall_ms(),
            topic_id=topic_id,
        )


def txn_commit_error_response(
    topics: Iterable[TxnOffsetCommitRequestTopic], error: ErrorCode
) -> TxnOffsetCommitResponse:
    """The same error for every partition: TxnOffsetCommit has no error of the whole."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    TxnOffsetCommitResponsePartition(partition.partition_index, error)
                    for partition in topic.partitions
                ],
            )
            for topic in topics
        ]
    )


def _validate_consumers(group: ConsumerGroup, request: TxnOffsetCommitRequest) -> ErrorCode:
    from mockbroker.coordinator.group.consumer.offset_rules import validate_transactional_commit

    return validate_transactional_commit(
        group,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        [
            (topic.topic_id, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ],
    )


def _validate(group: ClassicGroup | None, request: TxnOffsetCommitRequest) -> ErrorCode:
    # OffsetMetadataManager.validateTransactionalOffsetCommit, ClassicGroup.validateOffsetCommit
    generation_id = request.generation_id_or_member_epoch
    if group is None:
        return ErrorCode.NONE if generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.NONE
    error = group.validate_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE
