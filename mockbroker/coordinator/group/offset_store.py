"""Committed offsets of a shard's groups, and those that a transaction has pending.

`shard` replays records into it; `offsets`, `expiry` and `deletion` read it (Kafka:
OffsetMetadataManager.Offsets). A transactional commit stays pending under its producer id until
the marker of the transaction stands in the log.

Invariant: no empty inner dictionary is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coordinator.records import CoordinatorRecord
from mockbroker.coordinator.runtime import NO_PRODUCER_ID
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    # group → topic → partition
    Offsets: TypeAlias = "dict[str, dict[str, dict[int, CommittedOffset]]]"

# Version 1 alone has the time at which the offset expires; 4 is the first with the topic's id.
_VERSION_WITH_EXPIRY = 1
_VERSION = 4


@dataclass(slots=True, eq=False)
class CommittedOffset:
    """A position in a partition (Kafka: OffsetAndMetadata); times are wall time in ms."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    # -1: expires with the group's inactivity instead of at a time of its own.
    expire_timestamp_ms: int
    # Zero when the commit named the topic by its name.
    topic_id: bytes
    # Where it stands in the log: a later plain commit wins over an older pending one.
    record_offset: int


@dataclass(slots=True, eq=False)
class OffsetStore:
    """All offsets of one shard."""

    _committed: Offsets = field(default_factory=dict)
    _pending: dict[int, Offsets] = field(default_factory=dict)
    _open_by_group: dict[str, dict[int, None]] = field(default_factory=dict)

    # -- what replay does ------------------------------------------------------------------

    def put(
        self, record_offset: int, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue
    ) -> None:
        """Store a commit; with a producer id it is pending."""
        committed = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )
        if producer_id == NO_PRODUCER_ID:
            _put(self._committed, key.group, key.topic, key.partition, committed)
            return
        pending = self._pending.setdefault(producer_id, {})
        _put(pending, key.group, key.topic, key.partition, committed)
        self._open_by_group.setdefault(key.group, {})[producer_id] = None

    def remove(self, group_id: str, topic: str, partition_index: int) -> None:
        """Forget an offset, pending ones too."""
        for producer_id in self._open_by_group.get(group_id, ()):
            if producer_id in self._pending:
                _remove(self._pending[producer_id], group_id, topic, partition_index)
        _remove(self._committed, group_id, topic, partition_index)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Commit or drop what the producer has pending; a newer plain commit stays."""
        for group_id, topics in self._pending.pop(producer_id, {}).items():
            open_producers = self._open_by_group.get(group_id, {})
            open_producers.pop(producer_id, None)
            if not open_producers:
                self._open_by_group.pop(group_id, None)
            if not commit:
                continue
            for topic, partitions in topics.items():
                for index, pending in partitions.items():
                    current = self.get(group_id, topic, index)
                    if current is None or pending.record_offset > current.record_offset:
                        _put(self._committed, group_id, topic, index, pending)

    # -- what decisions read ---------------------------------------------------------------

    def get(self, group_id: str, topic: str, partition_index: int) -> CommittedOffset | None:
        """What the group committed last for the partition."""
        return self._committed.get(group_id, {}).get(topic, {}).get(partition_index)

    def of_group(self, group_id: str) -> dict[str, dict[int, CommittedOffset]]:
        """Offsets by topic and partition; read only."""
        return self._committed.get(group_id, {})

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether some transaction may still change the group's offsets."""
        return group_id in self._open_by_group

    def is_pending(self, group_id: str, topic: str, partition_index: int) -> bool:
        """Whether an open transaction commits the partition (UNSTABLE_OFFSET_COMMIT)."""
        return any(
            partition_index in self._pending.get(producer_id, {}).get(group_id, {}).get(topic, ())
            for producer_id in self._open_by_group.get(group_id, ())
        )

    def partitions_of_group(self, group_id: str) -> list[tuple[str, int]]:
        """Each partition with an offset of the group, committed or pending, once."""
        found: dict[tuple[str, int], None] = {}
        sources = [self._committed]
        sources += [self._pending[one] for one in self._open_by_group.get(group_id, ())]
        for offsets in sources:
            for topic, partitions in offsets.get(group_id, {}).items():
                for index in partitions:
                    found[topic, index] = None
        return list(found)

    def of_topic(self, topic: str) -> Iterator[tuple[str, int]]:
        """(group, partition) of each offset in a topic, committed or pending, once."""
        found: dict[tuple[str, int], None] = {}
        for offsets in (self._committed, *self._pending.values()):
            for group_id, topics in offsets.items():
                for index in topics.get(topic, ()):
                    found[group_id, index] = None
        return iter(found)


def offset_commit_record(
    group_id: str, topic: str, partition_index: int, value: OffsetCommitValue
) -> CoordinatorRecord:
    """The record of a commit."""
    version = _VERSION if value.expire_timestamp == -1 else _VERSION_WITH_EXPIRY
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition_index)
    return CoordinatorRecord(key, value, version)


def offset_tombstone(group_id: str, topic: str, partition_index: int) -> CoordinatorRecord:
    """The record that removes an offset."""
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition_index)
    return CoordinatorRecord(key, None)


def _put(
    offsets: Offsets, group_id: str, topic: str, partition_index: int, committed: CommittedOffset
) -> None:
    offsets.setdefault(group_id, {}).setdefault(topic, {})[partition_index] = committed


def _remove(offsets: Offsets, group_id: str, topic: str, partition_index: int) -> None:
    topics = offsets.get(group_id, {})
    partitions = topics.get(topic, {})
    if partitions.pop(partition_index, None) is not None and not partitions:
        del topics[topic]
        if not topics:
            del offsets[group_id]
