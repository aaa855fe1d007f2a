"""What `__consumer_offsets` held, in the order of its log: what OffsetFetch may answer.

`Truth` keeps the records that a high watermark has passed; here those of committed offsets are
read, and which groups were deleted. An answer must be one of the committed values, and at the
coordinator in force none from before what was known when it was asked: what was acknowledged, and
what an earlier answer told.

Unless the one who asks insists (require_stable), a coordinator answers as of its own high watermark
(CoordinatorRuntime.scheduleReadOperation, CoordinatorLoaderImpl). A new leader's is behind until
its followers have fetched from it, and stands still below min.insync.replicas (KIP-966): until then
Kafka tells what was known up to there, older than what the coordinator before has told. Who insists
gets what the whole log says, once that is replicated.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from mockbroker.metadata.names import GROUP_METADATA_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.cluster.truth import Truth

OFFSET_KEYS = (0, 1)
CLASSIC_KEY = 2
GROUP_KEYS = (CLASSIC_KEY, 3)
"""GroupMetadata and ConsumerGroupMetadata: their tombstones end a group, or its protocol."""
OffsetKey = tuple[str, str, int]
"""Group, topic and partition."""


class OffsetHistory:
    """One partition of the topic. Values are offsets; None stands for no offset."""

    def __init__(self, truth: Truth, partition_index: int) -> None:
        self._truth = truth
        self._index = partition_index
        self._read = 0
        self._values: dict[OffsetKey, list[int | None]] = {}
        self._ends_at: dict[OffsetKey, list[int]] = {}
        """Beside each value where its record ends in the log."""
        self._known: dict[OffsetKey, int] = {}
        self._group_ends: dict[str, int] = {}
        self._generations: dict[str, int] = {}
        """The latest of a classic group that is replicated."""

    def incarnation(self, group: str) -> int:
        """How often the group was deleted or changed its protocol."""
        self._catch_up()
        return self._group_ends.get(group, 0)

    def generation(self, group: str) -> int:
        """The latest generation of a classic group that is replicated; -1: none is."""
        self._catch_up()
        return self._generations.get(group, -1)

    def known(self, key: OffsetKey, high_watermark: int | None = None) -> int:
        """What was told of the offset so far: a number that grows with the log.

        With a high watermark no more of it than a coordinator knows that has that one.
        """
        known = self._known.get(key, 0)
        if known and high_watermark is not None:
            known = min(known, bisect_right(self._ends_at[key], high_watermark) - 1)
        return known

    def told_by(self, key: OffsetKey, end: int) -> int:
        """The number of the last value that stands below this offset of the log."""
        self._catch_up()
        return max(0, bisect_right(self._ends_at.get(key, [0]), end) - 1)

    def acknowledge(self, key: OffsetKey, offset: int) -> str | None:
        """A commit was acknowledged; what is wrong with that, None when nothing is."""
        values = self._history(key)
        if offset not in values:
            if (key, offset) in self._told_as_they_led_no_more():
                return None
            return f"commit {offset} of {key} was acknowledged before it was replicated"
        last = len(values) - 1 - values[::-1].index(offset)
        self._known[key] = max(self.known(key), last)
        return None

    def tell(self, key: OffsetKey, offset: int | None, since: int) -> str | None:
        """An answer told the offset, `since` was known when it was asked; what is wrong."""
        values = self._history(key)
        if offset not in values:
            return f"{offset} was told of {key}, which is not replicated"
        if offset not in values[since:]:
            return f"{offset} was told of {key} after {values[since]} had been, or was acknowledged"
        self._known[key] = max(self.known(key), values.index(offset, since))
        return None

    def _told_as_they_led_no_more(self) -> Iterator[tuple[OffsetKey, int | None]]:
        """Commits of which a leader may tell in the step in which its replica goes elsewhere."""
        truth = self._truth.find(GROUP_METADATA_TOPIC, self._index)
        for _, content in () if truth is None else truth.in_sync_beyond():
            found = _commit_in(content)
            if found is not None:
                yield found

    def _history(self, key: OffsetKey) -> list[int | None]:
        self._catch_up()
        return self._values_of(key)

    def _values_of(self, key: OffsetKey) -> list[int | None]:
        values = self._values.get(key)
        if values is None:
            values = self._values[key] = [None]
            self._ends_at[key] = [0]
        return values

    def _catch_up(self) -> None:
        truth = self._truth.find(GROUP_METADATA_TOPIC, self._index)
        if truth is None:
            return
        for end, entry in enumerate(truth.committed[self._read :], self._read + 1):
            if entry is not None:
                self._take(entry[1], end)
        self._read = len(truth.committed)

    def _take(self, content: bytes, end: int) -> None:
        """A record's key and value with an equals sign between them, and where it ends."""
        kind = int.from_bytes(content[:2], "big")
        commit = _commit_in(content)
        if commit is not None:
            key, offset = commit
            self._values_of(key).append(offset)
            self._ends_at[key].append(end)
        elif kind in GROUP_KEYS:
            group, position = _text(content, 2)
            if len(content) == position + 1:
                self._group_ends[group] = self._group_ends.get(group, 0) + 1
            elif kind == CLASSIC_KEY:
                _, at = _text(
                    content, position + 3
                )  # behind "=" and the version: its protocol type
                generation = int.from_bytes(content[at : at + 4], "big")
                self._generations[group] = generation


def _commit_in(content: bytes) -> tuple[OffsetKey, int | None] | None:
    """The offset that a record commits, or deletes; None of another record."""
    if int.from_bytes(content[:2], "big") not in OFFSET_KEYS:
        return None
    group, position = _text(content, 2)
    topic, position = _text(content, position)
    partition = int.from_bytes(content[position : position + 4], "big")
    value = content[position + 5 :]
    offset = int.from_bytes(value[2:10], "big", signed=True) if value else None
    return (group, topic, partition), offset


def _text(content: bytes, position: int) -> tuple[str, int]:
    end = position + 2 + int.from_bytes(content[position : position + 2], "big")
    return content[position + 2 : end].decode(), end
