"""ListOffsets (key 2), v1–v11: from a timestamp to an offset.

v2 isolation level; v4 leader epochs; v7 the newest timestamp (-3, KIP-734); v8 earliest local (-4);
v9 latest tiered (-5); v11 earliest pending upload (-6). Nothing is tiered here: -4 is -2, while
-5 and -6 find nothing.

A consumer (replica id -1) sees as far as its isolation level lets it read; others see the log end.
Errors per partition: 42 asked for twice, 35 a special timestamp newer than the version, 3, 6, 74,
75, and 78 (5 before v5) as long as a new leader cannot say where the log ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import topics_guard
from mockbroker.log.offsets import FetchIsolation
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from mockbroker_protocol.versions import LIST_OFFSETS_EPOCHS, LIST_OFFSETS_NOT_AVAILABLE

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest

guard = topics_guard(AclOperation.DESCRIBE)

LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LOOKED_THROUGH_BYTES: Final = 32 * 1024
"""Of logs, of which one batch is read, that are looked through for a time in one slice."""

FIRST_VERSION_OF: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
"""In which version a special timestamp came to be; other negative ones never did."""

_CONSUMER: Final = -1
_DEBUGGING_CONSUMER: Final = -2
_READ_COMMITTED: Final = 1


def handle(services: Services, ctx: RequestContext, request: ListOffsetsRequest) -> object:
    """Look up each partition; one asked for twice is answered once, with an error.

    In slices, where batches are looked through for a time: each partition is told as it is when
    its turn comes.
    """
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: ListOffsetsRequest
) -> Generator[object, None, ListOffsetsResponse]:
    lookup = _Lookup(services, ctx.api_version, request)
    asked: dict[str, dict[int, list[ListOffsetsPartition]]] = {}
    for topic in request.topics:
        partitions = asked.setdefault(topic.name, {})
        for partition in topic.partitions:
            partitions.setdefault(partition.partition_index, []).append(partition)
    topics: list[ListOffsetsTopicResponse] = []
    for name, partitions in asked.items():
        answers: list[ListOffsetsPartitionResponse] = []
        topics.append(ListOffsetsTopicResponse(name, answers))
        for of_index in partitions.values():
            if lookup.bytes_left <= 0:
                yield None
                lookup.bytes_left = LOOKED_THROUGH_BYTES
            answers.append((yield from lookup.answer(name, of_index)))
    return ListOffsetsResponse(ctx.throttle_time_ms, topics)


class _Lookup:
    """The look-ups of one request."""

    __slots__ = ("_isolation", "_only_leader", "_services", "_version", "bytes_left")

    def __init__(self, services: Services, version: int, request: ListOffsetsRequest) -> None:
        self._services = services
        self._version = version
        self.bytes_left = LOOKED_THROUGH_BYTES
        """Of the logs that may be looked through before others have their turn."""
        self._only_leader = request.replica_id != _DEBUGGING_CONSUMER
        if request.replica_id != _CONSUMER:
            self._isolation = FetchIsolation.LOG_END
        elif request.isolation_level == _READ_COMMITTED:
            self._isolation = FetchIsolation.TXN_COMMITTED
        else:
            self._isolation = FetchIsolation.HIGH_WATERMARK

    def answer(
        self, topic: str, asked: list[ListOffsetsPartition]
    ) -> Generator[object, None, ListOffsetsPartitionResponse]:
        wanted = asked[0]
        if len(asked) > 1:
            return _refusal(wanted, ErrorCode.INVALID_REQUEST)
        timestamp = wanted.timestamp
        if timestamp < 0 and FIRST_VERSION_OF.get(timestamp, self._version + 1) > self._version:
            return _refusal(wanted, ErrorCode.UNSUPPORTED_VERSION)
        partition = self._services.replicas.readable_partition(
            topic,
            wanted.partition_index,
            wanted.current_leader_epoch,
            only_leader=self._only_leader,
        )
        if isinstance(partition, ErrorCode):
            return _refusal(wanted, partition)
        return (yield from self._find(wanted, partition))

    def _find(
        self, wanted: ListOffsetsPartition, partition: Partition
    ) -> Generator[object, None, ListOffsetsPartitionResponse]:
        log = partition.log or partition.open_log()
        if wanted.timestamp >= 0 or wanted.timestamp == MAX_TIMESTAMP:
            self.bytes_left -= log.size_bytes
        found = yield from log.find_timestamp(wanted.timestamp, self._isolation)
        lagging = (
            self._isolation is not FetchIsolation.LOG_END
            and partition.epoch_start_offset > log.high_watermark
        )
        if lagging and (
            wanted.timestamp == LATEST_TIMESTAMP
            or (
                found is None
                and wanted.timestamp not in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP)
            )
        ):
            if self._version >= LIST_OFFSETS_NOT_AVAILABLE:
                return _refusal(wanted, ErrorCode.OFFSET_NOT_AVAILABLE)
            return _refusal(wanted, ErrorCode.LEADER_NOT_AVAILABLE)
        if found is None:
            return _refusal(wanted, ErrorCode.NONE)
        epoch = found.leader_epoch
        if wanted.timestamp == LATEST_TIMESTAMP:
            epoch = partition.leader_epoch
        return ListOffsetsPartitionResponse(
            wanted.partition_index,
            0,
            found.timestamp,
            found.offset,
            epoch if self._version >= LIST_OFFSETS_EPOCHS else -1,
        )


def _refusal(wanted: ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse:
    """An error, or (with none) an answer that found nothing."""
    return ListOffsetsPartitionResponse(wanted.partition_index, error, -1, -1, -1)
