"""What a partition of `__individual_commit_offsets` says: ranges that groups have committed.

Up to where a group has committed all of a partition, its *stable offset*, is in its commit in
`__consumer_offsets` as always; here is what it has committed beyond. What of the ranges lies below
the stable offset counts no more, whether its tombstone is written yet or not; neither do ranges of
a group that has no commit.

Invariant: no empty inner dictionary and no empty part is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coop.ic_records import IndividualCommitKey, IndividualCommitValue
from mockbroker.coop.interval_set import IntervalSet, OffsetRange
from mockbroker.coordinator.runtime import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.errors import ErrorCode

    TopicPartition = tuple[str, int]


@dataclass(slots=True, eq=False)
class CommittedRanges:
    """The ranges of one group in one partition, as the log has them.

    `keys` are those of the log, which do not overlap; `stray` are others, which only a log has
    that was cut in the middle of a change. `pending` are those of open transactions, by producer.
    """

    keys: IntervalSet = field(default_factory=IntervalSet)
    stray: dict[OffsetRange, None] = field(default_factory=dict)
    pending: dict[int, IntervalSet] = field(default_factory=dict)
    read_committed: bool = True
    """Whether all who committed here read committed records only."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not (self.keys or self.stray or self.pending)

    def put(self, found: OffsetRange) -> None:
        """The log has this range."""
        if self.keys.overlaps(*found):
            if self.keys.before(found.first) != found:
                self.stray[found] = None
        else:
            self.keys.insert(*found)

    def remove(self, found: OffsetRange) -> None:
        """The log has it no more, pending or not."""
        if found in self.stray:
            del self.stray[found]
        else:
            self.keys.remove(*found)
        for producer_id in [one for one, ranges in self.pending.items() if ranges.remove(*found)]:
            if not self.pending[producer_id]:
                del self.pending[producer_id]

    def beyond(self, stable: int) -> list[OffsetRange]:
        """What is committed from `stable` on, as few ranges."""
        found: list[OffsetRange] = []
        for first, last in sorted([*self.keys, *self.stray]) if self.stray else self.keys:
            if last < stable:
                continue
            if found and first <= found[-1].last + 1:
                found[-1] = OffsetRange(found[-1].first, max(last, found[-1].last))
            else:
                found.append(OffsetRange(first, last))
        return found

    def is_pending(self, first: int, last: int, but_for: int = NO_PRODUCER_ID) -> bool:
        """Whether an open transaction of another producer has any of these offsets."""
        return any(
            ranges.overlaps(first, last)
            for producer_id, ranges in self.pending.items()
            if producer_id != but_for
        )

    def all_pending(self) -> list[OffsetRange]:
        """The ranges of open transactions, in order."""
        return sorted(each for ranges in self.pending.values() for each in ranges)


@dataclass(slots=True, eq=False)
class IndividualCommitShard:
    """One partition of the topic: groups by id, and of each its partitions with ranges."""

    partition_index: int
    groups: dict[str, dict[TopicPartition, CommittedRanges]] = field(default_factory=dict)
    called_out: dict[str, None] = field(default_factory=dict)
    """Groups that had to rebalance because of too many ranges, and made no progress since."""

    def of(self, group_id: str, topic: str, index: int) -> CommittedRanges | None:
        """A group's ranges in a partition, if it has some."""
        return self.groups.get(group_id, {}).get((topic, index))

    def count(self, group_id: str) -> int:
        """How many ranges a group has in all."""
        return sum(len(part.keys) for part in self.groups.get(group_id, {}).values())

    def parts(self) -> Iterator[tuple[str, str, int, CommittedRanges]]:
        """Group, topic, partition and ranges of each."""
        for group_id, parts in self.groups.items():
            for (topic, index), part in parts.items():
                yield group_id, topic, index, part

    def pending_of(self, producer_id: int) -> list[tuple[str, str, int, IntervalSet]]:
        """Group, topic, partition and ranges of each that a producer has in its transaction."""
        return [
            (group_id, topic, index, part.pending[producer_id])
            for group_id, topic, index, part in self.parts()
            if producer_id in part.pending
        ]

    # -- what the log says -----------------------------------------------------------------

    def replay(self, _offset: int, producer_id: int, record: CoordinatorRecord) -> None:
        """Change the state as the record says."""
        key, value = record.key, record.value
        assert isinstance(key, IndividualCommitKey)
        parts = self.groups.setdefault(key.group, {})
        place = key.topic, key.partition
        part = parts.get(place)
        if part is None:
            part = parts[place] = CommittedRanges()
        found = OffsetRange(key.first, key.last)
        if value is None:
            part.remove(found)
            self._drop_if_empty(key.group, place)
            return
        assert isinstance(value, IndividualCommitValue)
        if not value.isolation:
            part.read_committed = False
        if producer_id == NO_PRODUCER_ID:
            part.put(found)
        else:
            part.pending.setdefault(producer_id, IntervalSet()).insert(*found)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """What the producer has pending counts, or is gone."""
        for group_id, topic, index, part in list(self.parts()):
            ranges = part.pending.pop(producer_id, None)
            if ranges is None:
                continue
            if commit:
                for each in ranges:
                    part.put(each)
            self._drop_if_empty(group_id, (topic, index))

    def _drop_if_empty(self, group_id: str, place: TopicPartition) -> None:
        parts = self.groups[group_id]
        if parts[place].is_empty:
            del parts[place]
            if not parts:
                del self.groups[group_id]

    def on_loaded(self) -> None:
        """Nothing runs on time."""

    def on_unloaded(self, _error: ErrorCode) -> None:
        """Nobody is parked here."""
