"""OffsetCommit, OffsetFetch, OffsetDelete: a group's positions (Kafka: OffsetMetadataManager).

Decides whether a commit is allowed, writes it, and reads what is stored. Whether a topic exists is
the handlers' matter, as in Kafka. Who may commit to a group of KIP-848, `consumer.offset_rules`
says; to a classic one:

| commit comes from                 | to                                    | outcome              |
|-----------------------------------|---------------------------------------|----------------------|
| nobody (generation < 0)           | no group, or an Empty one             | a simple group       |
| generation >= 0                   | no group                              | 69 (v9+), 22 before  |
| generation < 0, no id             | a group with members                  | 25                   |
| stranger, or fenced id            | any                                   | 25, 82               |
| member of another generation      | its group                             | 22                   |
| member                            | CompletingRebalance                   | 27                   |
| member                            | PreparingRebalance, Stable            | written             |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.offset_store import offset_commit_record, offset_tombstone
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
from mockbroker_protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.rebalance import Rebalancer
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
        OffsetDeleteRequest,
        OffsetDeleteRequestTopic,
    )

NO_OFFSET = -1
NO_LEADER_EPOCH = -1
_NO_RETENTION_TIME = -1
_NO_EXPIRY = -1
_FIRST_VERSION_WITH_GROUP_NOT_FOUND = 9


class TopicPartitions:
    """Partitions of one topic that are asked for; `topic_id` is zero when it was not given."""

    __slots__ = ("name", "partition_indexes", "topic_id")

    def __init__(
        self, name: str, partition_indexes: Iterable[int], topic_id: bytes = ZERO_UUID
    ) -> None:
        self.name = name
        self.partition_indexes = partition_indexes
        self.topic_id = topic_id


class FetchedOffset:
    """A stored position, or -1 with an empty text; `error` tells why it cannot be told."""

    __slots__ = ("error", "leader_epoch", "metadata", "offset", "partition_index")

    def __init__(
        self,
        partition_index: int,
        offset: int = NO_OFFSET,
        leader_epoch: int = NO_LEADER_EPOCH,
        metadata: str = "",
        error: ErrorCode = ErrorCode.NONE,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.error = error


class OffsetHandler:
    """Decides what becomes of a group's offsets."""

    __slots__ = ("_rebalancer",)

    def __init__(self, rebalancer: Rebalancer) -> None:
        self._rebalancer = rebalancer

    # -- commit ----------------------------------------------------------------------------

    def commit(
        self,
        shard: GroupShard,
        request: OffsetCommitRequest,
        api_version: int,
        on_complete: Callable[[OffsetCommitResponse], None],
    ) -> None:
        """Write the positions; `request` names existing partitions only."""
        group = shard.groups.get(request.group_id)
        consumers = shard.consumer_groups.get(request.group_id)
        if consumers is None:
            error = _validate_commit(group, request, api_version)
        else:
            error = _validate_consumers_commit(consumers, request, api_version)
        if error is not ErrorCode.NONE:
            on_complete(commit_error_response(request.topics, error))
            return
        if group is not None:
            self._renew_session(shard, group, request.member_id)
        records: list[CoordinatorRecord] = []
        topics = [self._commit_topic(request, topic, records) for topic in request.topics]

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                on_complete(commit_error_response(request.topics, error))
                return
            self._tell_hooks(request, topics)
            on_complete(OffsetCommitResponse(topics=topics))

        shard.write(records, written)

    def _renew_session(self, shard: GroupShard, group: ClassicGroup, member_id: str) -> None:
        if group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE):
            self._rebalancer.touch_session(shard, group, group.members[member_id])

    def _commit_topic(
        self,
        request: OffsetCommitRequest,
        topic: OffsetCommitRequestTopic,
        records: list[CoordinatorRecord],
    ) -> OffsetCommitResponseTopic:
        now_wall_ms = self._rebalancer.clock.wall_ms()
        max_bytes = self._rebalancer.config.int("offset.metadata.max.bytes")
        expiry_ms = _NO_EXPIRY
        if request.retention_time_ms != _NO_RETENTION_TIME:
            expiry_ms = now_wall_ms + request.retention_time_ms
        results = []
        for partition in topic.partitions:
            metadata = partition.committed_metadata or ""
            error = ErrorCode.NONE
            if len(metadata) > max_bytes:
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                value = OffsetCommitValue(
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=metadata,
                    commit_timestamp=now_wall_ms,
                    expire_timestamp=expiry_ms,
                    topic_id=topic.topic_id,
                )
                index = partition.partition_index
                records.append(offset_commit_record(request.group_id, topic.name, index, value))
            results.append(
                OffsetCommitResponsePartition(
                    partition_index=partition.partition_index, error_code=error
                )
            )
        return OffsetCommitResponseTopic(
            name=topic.name, topic_id=topic.topic_id, partitions=results
        )

    def _tell_hooks(
        self, request: OffsetCommitRequest, results: list[OffsetCommitResponseTopic]
    ) -> None:
        on_commit = self._rebalancer.hooks.on_commit
        for topic, result in zip(request.topics, results, strict=True):
            for partition, outcome in zip(topic.partitions, result.partitions, strict=True):
                if not outcome.error_code:
                    on_commit(request.group_id, request.member_id, topic.name, partition)

    # -- fetch -----------------------------------------------------------------------------

    def fetch(
        self, shard: GroupShard, group_id: str, topics: list[TopicPartitions], require_stable: bool
    ) -> list[list[FetchedOffset]]:
        """What is stored for each partition asked for, topic by topic."""
        return [
            [
                _fetch_one(shard, group_id, topic, index, require_stable)
                for index in topic.partition_indexes
            ]
            for topic in topics
        ]

    def all_partitions(self, shard: GroupShard, group_id: str) -> list[TopicPartitions]:
        """All that the group has committed, to be asked for by `fetch`."""
        return [
            TopicPartitions(topic, list(partitions))
            for topic, partitions in shard.offsets.of_group(group_id).items()
        ]

    # -- delete ----------------------------------------------------------------------------

    def delete(
        self,
        shard: GroupShard,
        request: OffsetDeleteRequest,
        on_complete: Callable[[OffsetDeleteResponse], None],
    ) -> None:
        """Forget positions in topics that no member reads (KIP-496)."""
        group: ClassicGroup | ConsumerGroup | None = shard.consumer_groups.get(request.group_id)
        error = ErrorCode.NONE
        if group is None:
            group = shard.groups.get(request.group_id)
            error = _validate_delete(group)
        if group is None or error is not ErrorCode.NONE:
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


def commit_error_response(
    topics: Iterable[OffsetCommitRequestTopic], error: ErrorCode
) -> OffsetCommitResponse:
    """The same error for every partition: OffsetCommit has no error of the whole."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[partition_result(one, error) for one in topic.partitions],
            )
            for topic in topics
        ]
    )


def partition_result(
    partition: OffsetCommitRequestPartition, error: ErrorCode
) -> OffsetCommitResponsePartition:
    """The outcome of one partition."""
    return OffsetCommitResponsePartition(
        partition_index=partition.partition_index, error_code=error
    )


def _validate_consumers_commit(
    group: ConsumerGroup, request: OffsetCommitRequest, api_version: int
) -> ErrorCode:
    from mockbroker.coordinator.group.consumer.offset_rules import validate_commit

    epoch = request.generation_id_or_member_epoch
    partitions = [
        (topic.topic_id, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    return validate_commit(group, request.member_id, epoch, partitions, api_version)


def _validate_commit(
    group: ClassicGroup | None, request: OffsetCommitRequest, api_version: int
) -> ErrorCode:
    # OffsetMetadataManager.validateOffsetCommit, ClassicGroup.validateOffsetCommit
    generation_id = request.generation_id_or_member_epoch
    if group is None:
        if generation_id < 0:
            return ErrorCode.NONE
        if api_version >= _FIRST_VERSION_WITH_GROUP_NOT_FOUND:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.ILLEGAL_GENERATION
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.validate_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE:
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
