"""The logs of one node as they were when a scope began, of those that changed since.

A partition asks here before its log changes for the first time since a scope began or ended; from
then on it appends without asking. So an open scope costs each log that is written to one
checkpoint, and without one an append costs nothing. Scopes lie in each other; each keeps what it
needs by itself. A node's object outlives its crashes.

Invariant: a partition whose `writable_log` is set is among `_asked`, and every open scope that
needs its log has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mockbroker.log.checkpoint import LogCheckpoint

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog

LogKey = tuple[bytes, int]
"""Topic id and partition."""


class AskingPartition(Protocol):
    """`replica.partition.Partition`, as far as it is needed here."""

    topic_id: bytes
    index: int
    writable_log: UnifiedLog | None


class ScopedTopics(Protocol):
    """Which topics a scope knows: `state.metadata_marks.MetadataMarks` says it."""

    def existed(self, topic_id: bytes, /) -> bool:
        """Whether the topic was there when the scope began."""


class KeptByScope:
    """What one scope keeps of one node: checkpoints by topic id and partition.

    Topics that came to be in the scope go with it: nothing of them is kept.
    """

    __slots__ = ("checkpoints", "topics")

    def __init__(self, topics: ScopedTopics) -> None:
        self.topics = topics
        self.checkpoints: dict[LogKey, LogCheckpoint] = {}


class KeptLogs:
    """The checkpoints of one node, by open scope, the outermost first."""

    __slots__ = ("_asked", "scopes")

    def __init__(self) -> None:
        self.scopes: list[KeptByScope] = []
        self._asked: dict[AskingPartition, None] = {}

    def begin(self, topics: ScopedTopics) -> KeptByScope:
        """A scope begins: keep from now on what changes."""
        self._ask_again()
        kept = KeptByScope(topics)
        self.scopes.append(kept)
        return kept

    def end(self, kept: KeptByScope) -> None:
        """The scope that began last has ended."""
        assert self.scopes[-1] is kept
        self.scopes.pop()

    def start_anew(self, kept: KeptByScope) -> None:
        """The scope goes on as if it began now."""
        self._ask_again()
        kept.checkpoints = {}

    def keep(self, partition: AskingPartition, log: UnifiedLog) -> None:
        """The log of a partition is about to change, or to go."""
        self._asked[partition] = None
        self.keep_log((partition.topic_id, partition.index), log)

    def keep_log(self, key: LogKey, log: UnifiedLog) -> None:
        """The same of a log that no partition has: its node has just started without the topic."""
        for kept in self.scopes:
            if key not in kept.checkpoints and kept.topics.existed(key[0]):
                kept.checkpoints[key] = LogCheckpoint(log)

    def forget(self, partition: AskingPartition) -> None:
        """The partition is gone from the node, or has another log: it must ask again."""
        partition.writable_log = None
        self._asked.pop(partition, None)

    def _ask_again(self) -> None:
        for partition in self._asked:
            partition.writable_log = None
        self._asked.clear()
