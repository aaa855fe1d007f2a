"""Which shard owns a key, and the one way in which a shard's state changes: its log.

A coordinator's state is split over the partitions of an internal topic, one shard a partition
(Kafka: CoordinatorRuntime). A shard decides, hands its records to `CoordinatorRuntime.write`,
and is given them back through `replay` once they are appended; the same `replay` rebuilds it
from the log when the partition is loaded. `group`, and what else keeps state in an internal
topic, call this.

A broker alone is done with a write when it is appended. Beside others a record counts once the
in-sync replicas have it, and a partition has two shards:

```
             decide           append, replay           high watermark passes: replay
  request ───────────▶ records ─────────────▶ live shard          │
     ▲                    └──▶ deferred writes ───────────────────┴──▶ committed shard
     └──── done(error) ◀────────────┘                                       │
  reads ◀───────────────────────────────────────────────────────────────────┘
```

Decisions are made on the live shard (`shard_for`), so that a second request sees what the first
one wrote. What is told from a shard without a write comes from the committed one
(`committed_for`), so that nothing is un-read when the leader changes; where an answer must know of
all writes before it, `write` without records waits for them. In Kafka one timeline holds both
(SnapshotRegistry, read at the last committed offset). A write that is not replicated in time is
refused, and stays: the log has it. When the partition moves all of this is dropped, and the next
leader begins from its log alone.

A shard that must not run ahead writes with `replay` False and changes when it is told `done`; it
has no committed twin, and keeps what is pending by itself (Kafka: TransactionStateManager).

Invariants: a shard exists exactly while its partition is owned and was used; records are replayed
in the order in which they were appended, into the committed shard exactly those below the high
watermark; `done` of a write is called exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial
from struct import error as StructError  # noqa: N812 -- a class
from typing import TYPE_CHECKING, Generic, Protocol

from mockbroker.coordinator.deferred_writes import DeferredWrite, DeferredWrites
from mockbroker.coordinator.partition_load import PartitionLoad, ShardT
from mockbroker.coordinator.records import CoordinatorRecord, decode_record, encode_record
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.clock import TimerTask
    from mockbroker.coordinator.partition_load import LoggedEntry, Shard
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.append_entry import TransactionMarker

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1

# The error for the client when the coordinator's log could not be written
# (GroupMetadataManager.appendGroupMetadataErrorToResponseError).
_RESPONSE_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class AppendPort(Protocol):
    """Appends records to one partition of the internal topic; (error, first record's offset).

    With a producer they are part of its transaction.
    """

    def __call__(
        self,
        partition_index: int,
        records: list[tuple[bytes, bytes | None]],
        producer_id: int = ...,
        producer_epoch: int = ...,
        /,
    ) -> tuple[ErrorCode, int]: ...


class MarkerPort(Protocol):
    """Appends the end of a transaction to a partition of the internal topic; (error, offset)."""

    def __call__(
        self, partition_index: int, marker: TransactionMarker, /
    ) -> tuple[ErrorCode, int]: ...


class Replication(Protocol):
    """Where there are other brokers: `leadership.CoordinatorLeadership`.

    It calls `CoordinatorRuntime.high_watermark_updated` when the step drains.
    """

    def owns(self, partition_index: int, /) -> bool:
        """Whether this node leads the partition, with its log replayed."""

    def high_watermark(self, partition_index: int, /) -> int:
        """Up to where the in-sync replicas have the partition's log."""

    def expire_write(self, expire: Callable[[], None], timeout_ms: float | None, /) -> TimerTask:
        """Call `expire` when a write has waited for its replicas too long (None: as configured)."""


@lru_cache(maxsize=8192)
def java_hash(text: str) -> int:
    """`String.hashCode` of Java: over UTF-16 units, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for(key: str, partition_count: int) -> int:
    """The internal topic's partition that owns `key` (Kafka: Utils.abs(hash) % count)."""
    value = java_hash(key)
    # Utils.abs: the smallest int has no positive counterpart and counts as 0.
    return (0 if value == -(1 << 31) else abs(value)) % partition_count


def response_error(append_error: ErrorCode) -> ErrorCode:
    """The error for the client when appending to the coordinator's log failed."""
    return _RESPONSE_ERRORS.get(append_error, append_error)


@dataclass(slots=True, eq=False)
class InternalTopic:
    """Over how many partitions of an internal topic keys are spread.

    Fixed once the topic is there, as Kafka's is at start: keys must not move when the topic grows.
    """

    name: str
    _metadata: MetadataStore
    _default_count: int
    _fixed_count: int | None = None

    @property
    def exists(self) -> bool:
        """Whether it was created; the first record, or FindCoordinator, does that."""
        return self.name in self._metadata.topics

    @property
    def partition_count(self) -> int:
        """The number that it has, or will have."""
        if self._fixed_count is None:
            topic = self._metadata.topics.get(self.name)
            if topic is None:
                return self._default_count
            self._fixed_count = len(topic.partitions)
        return self._fixed_count

    def deleted(self) -> None:
        """The next topic of this name may have another number."""
        self._fixed_count = None


@dataclass(slots=True, eq=False)
class CoordinatorRuntime(Generic[ShardT]):
    """The shards of one coordinator on this node.

    `_make_shard(partition_index)` makes an empty shard of `_topic`. A partition is owned unless
    `unload` gave it away; with `needs_topic`, only while the topic is there. `encode` and `decode`
    turn records to bytes and back; by default those of `__consumer_offsets`.
    """

    _topic: InternalTopic
    _append: AppendPort
    _make_shard: Callable[[int], ShardT]
    needs_topic: bool = False
    encode: Callable[[CoordinatorRecord], tuple[bytes, bytes | None]] = encode_record
    decode: Callable[[bytes | None, bytes | None], CoordinatorRecord | None] = decode_record
    _shards: dict[int, ShardT] = field(default_factory=dict)
    _unloaded: set[int] = field(default_factory=set)
    replication: Replication | None = None
    """Set where other nodes may own partitions, and have replicas of them."""
    make_committed: Callable[[int, ShardT], ShardT] | None = None
    """Makes a live shard's empty twin; only `replay` and `end_transaction` of it are called."""
    _committed: dict[int, ShardT] = field(default_factory=dict)
    _deferred: dict[int, DeferredWrites] = field(default_factory=dict)
    _loading: dict[int, PartitionLoad[ShardT]] = field(default_factory=dict)

    def partition_for(self, key: str) -> int:
        """The partition whose shard owns `key`."""
        return partition_for(key, self._topic.partition_count)

    def shard_for(self, key: str) -> ShardT | None:
        """The shard that owns `key`; None when this node does not own its partition."""
        if self.needs_topic and not self._topic.exists:
            return None
        return self._shard_or_new(self.partition_for(key))

    def committed_for(self, key: str) -> ShardT | None:
        """The shard that owns `key` as of the committed offset; None as `shard_for` says it."""
        shard = self.shard_for(key)
        if shard is None or self.replication is None:
            return shard
        return self._committed.get(self.partition_for(key), shard)

    def _shard_or_new(self, partition_index: int) -> ShardT | None:
        shard = self._shards.get(partition_index)
        if shard is None and self.is_owned(partition_index):
            shard = self._new_shard(partition_index)
        return shard

    def _new_shard(self, partition_index: int) -> ShardT:
        shard = self._shards[partition_index] = self._make_shard(partition_index)
        if self.replication is not None and self.make_committed is not None:
            self._committed[partition_index] = self.make_committed(partition_index, shard)
        return shard

    def shard_at(self, partition_index: int) -> ShardT | None:
        """The shard of a partition, if it is in use."""
        return self._shards.get(partition_index)

    def is_owned(self, partition_index: int) -> bool:
        """Whether this node owns the partition, in use or not."""
        if self.replication is not None:
            return self.replication.owns(partition_index)
        return partition_index not in self._unloaded

    def shards(self) -> list[ShardT]:
        """The shards in use, by partition."""
        return [self._shards[index] for index in sorted(self._shards)]

    def committed_shards(self) -> list[ShardT]:
        """The same as of the committed offsets."""
        return [self._committed.get(index, self._shards[index]) for index in sorted(self._shards)]

    def write(
        self,
        partition_index: int,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        *,
        timeout_ms: float | None = None,
        replay: bool = True,
        appended: Callable[[], None] | None = None,
    ) -> None:
        """Append the records, replay them, and say so; on an error nothing is replayed.

        `done` gets NONE once the in-sync replicas have them, or the error for the client; after
        `timeout_ms`, by default `offsets.commit.timeout.ms`, that is COORDINATOR_NOT_AVAILABLE,
        although the records are in the log. Without records it waits for the writes before. With a
        producer they are part of its transaction, and what is replayed is pending. `appended` is
        called before `done`, as soon as they are replayed, and must not write. With `replay` False
        the caller changes the live shard itself (CoordinatorResult.replayRecords).
        """
        shard = self._shards.get(partition_index)
        if shard is None:
            done(ErrorCode.NOT_COORDINATOR)
            return
        if not records:
            if appended is not None:
                appended()
            self._await_writes_before(partition_index, done, timeout_ms)
            return
        try:
            encoded = [self.encode(record) for record in records]
        except (ValueError, StructError):
            # A client's text, such as its id, that no record can hold.
            done(ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        error, offset = self._append(partition_index, encoded, producer_id, producer_epoch)
        if error is not ErrorCode.NONE:
            done(response_error(error))
            return
        if replay:
            _replay(shard, offset, producer_id, records)
        if appended is not None:
            appended()
        if self.replication is None:
            done(ErrorCode.NONE)
            return
        committed = self._committed.get(partition_index)
        commit = None
        if committed is not None:
            commit = partial(_replay, committed, offset, producer_id, records)
        write = DeferredWrite(offset + len(records), _for_client(done), commit)
        self._defer(partition_index, write, timeout_ms)

    def is_ahead(self, key: str) -> bool:
        """Whether the shard that owns `key` knows of writes that are not replicated yet."""
        return bool(self._deferred) and bool(self._deferred.get(self.partition_for(key)))

    def when_committed(self, key: str, done: Callable[[ErrorCode], None]) -> None:
        """`done(NONE)` once all is replicated that the shard which owns `key` knows now.

        Else the error for the client, as from `write`.
        """
        self.write(self.partition_for(key), [], done)

    def complete_transaction(
        self,
        partition_index: int,
        marker: TransactionMarker,
        append: MarkerPort,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Append the end of a transaction (Kafka: scheduleTransactionCompletion).

        What the transaction has pending counts, or is gone. `done` gets NONE once the in-sync
        replicas have the marker, REQUEST_TIMED_OUT if that takes too long, NOT_COORDINATOR, or the
        error of the log.
        """
        shard = self._shard_or_new(partition_index)
        if shard is None:
            done(ErrorCode.NOT_COORDINATOR)
            return
        error, offset = append(partition_index, marker)
        if error is not ErrorCode.NONE:
            done(error)
            return
        shard.end_transaction(marker.producer_id, commit=marker.commit)
        if self.replication is None:
            done(ErrorCode.NONE)
            return
        committed = self._committed.get(partition_index)
        commit = None
        if committed is not None:
            end = committed.end_transaction
            commit = partial(end, marker.producer_id, commit=marker.commit)
        self._defer(partition_index, DeferredWrite(offset + 1, done, commit), None)

    def _await_writes_before(
        self, partition_index: int, done: Callable[[ErrorCode], None], timeout_ms: float | None
    ) -> None:
        deferred = self._deferred.get(partition_index)
        if deferred:
            write = DeferredWrite(deferred.last_offset, _for_client(done))
            self._defer(partition_index, write, timeout_ms)
        else:
            done(ErrorCode.NONE)

    def _defer(self, partition_index: int, write: DeferredWrite, timeout_ms: float | None) -> None:
        assert self.replication is not None
        deferred = self._deferred.get(partition_index)
        if deferred is None:
            deferred = self._deferred[partition_index] = DeferredWrites()
        deferred.add(write)
        high_watermark = self.replication.high_watermark(partition_index)
        if write.end_offset <= high_watermark:  # nobody else is in sync
            deferred.complete_up_to(high_watermark)
        else:
            write.timeout = self.replication.expire_write(write.expire, timeout_ms)

    def high_watermark_updated(self, partition_index: int, high_watermark: int) -> None:
        """The in-sync replicas have the partition's log up to that offset."""
        deferred = self._deferred.get(partition_index)
        if deferred:
            deferred.complete_up_to(high_watermark)

    def release_deferred(self) -> None:
        """The node shuts down: whoever waits for a write is told that it is not available."""
        for deferred in list(self._deferred.values()):
            deferred.fail_all(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def load(self, partition_index: int, records: Iterable[LoggedEntry]) -> ShardT:
        """Own the partition from now on, with the state that its records give.

        What of them is not replicated yet counts as written before: `write` without records waits
        for it. `records` are those of `InternalLog.read`, all of them.
        """
        loading = self.begin_load(partition_index)
        loading.replay(records)
        return self.end_load(loading)

    def begin_load(self, partition_index: int) -> PartitionLoad[ShardT]:
        """Give the partition's state away, to be built anew from its log.

        Until `end_load` clients are told that it is being loaded.
        """
        self.unload(partition_index)
        shard = self._make_shard(partition_index)
        committed = high_watermark = None
        if self.replication is not None:
            high_watermark = self.replication.high_watermark(partition_index)
            if self.make_committed is not None:
                committed = self.make_committed(partition_index, shard)
        loading = PartitionLoad(partition_index, shard, committed, high_watermark, self.decode)
        self._loading[partition_index] = loading
        return loading

    def loads(self, loading: PartitionLoad[ShardT]) -> bool:
        """Whether it is still this load that counts: none was begun or given up since."""
        return self._loading.get(loading.partition_index) is loading

    def end_load(self, loading: PartitionLoad[ShardT]) -> ShardT:
        """Own the partition with the state that was built, all of its log having been replayed."""
        index = loading.partition_index
        del self._loading[index]
        self._unloaded.discard(index)
        self._shards[index] = loading.shard
        if loading.committed is not None:
            self._committed[index] = loading.committed
        deferred = self._deferred[index] = loading.finish()
        if self.replication is not None:
            deferred.complete_up_to(self.replication.high_watermark(index))
        loading.shard.on_loaded()
        return loading.shard

    @property
    def is_loading(self) -> bool:
        """Whether the state of a partition is being built."""
        return bool(self._loading)

    def missing_error(self, key: str) -> ErrorCode:
        """What a client is told where `shard_for` gives None."""
        if self._loading and self.partition_for(key) in self._loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    def unload(self, partition_index: int, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Give the partition away: what is parked is answered with `error`, the state forgotten."""
        self._unloaded.add(partition_index)
        loading = self._loading.pop(partition_index, None)
        shard = self._shards.pop(partition_index, None)
        self._committed.pop(partition_index, None)
        deferred = self._deferred.pop(partition_index, None)
        if deferred:
            deferred.fail_all(error)
        for gone in (None if loading is None else loading.shard, shard):
            if gone is not None:
                gone.on_unloaded(error)

    def reset(self) -> None:
        """The internal topic is gone: forget every shard, and own all partitions of the next."""
        for index in [*self._shards, *self._loading]:
            self.unload(index)
        self._unloaded.clear()
        self._topic.deleted()


def _replay(
    shard: Shard, base_offset: int, producer_id: int, records: list[CoordinatorRecord]
) -> None:
    for offset, record in enumerate(records, base_offset):
        shard.replay(offset, producer_id, record)


def _for_client(done: Callable[[ErrorCode], None]) -> Callable[[ErrorCode], None]:
    return lambda error: done(response_error(error))
