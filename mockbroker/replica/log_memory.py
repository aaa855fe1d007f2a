"""What the logs of one node may take in memory, where `mockbroker.memory.limit.bytes` says so.

`Partition` asks for room before it appends what a client sent, and tells the size of its log
whenever that changes. Where there is no room the oldest segments of all logs go, whole and as by
retention (Kafka: UnifiedLog.deleteOldSegments): those with records that are not below the last
stable offset stay, and those of internal topics and of topics without `delete` in their
cleanup.policy. When nothing more may go, the append is refused.

So that the oldest records go and not those of some logs, no segment is older than GENERATIONS say:
whenever a part of the limit was appended, each log begins another segment with its next batch.

Bytes of batches are counted, as they are stored. What open scopes keep of deleted segments is not.
A node's own: brokers of one process have a limit each. Nothing here outlives a crash; the logs do,
and are counted again.

Invariants: `held_bytes` is the sum over all logs; `_oldest` has exactly the segments of logs that
are not internal, those of one log in their order.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.journal import MemoryLimitMet
from mockbroker.log.results import AppendOrigin, AppendResult
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.journal import Journal
    from mockbroker.log.segment import Segment
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.store import MetadataStore

GENERATIONS: Final = 16
"""Into so many the limit is divided; about as much goes at a time where one log is written to."""
_NO_ROOM: Final = "The logs hold what mockbroker.memory.limit.bytes allows, and nothing may go."


class MeasuredPartition(Protocol):
    """`replica.hosted_log.HostedLog`, as far as it is needed here."""

    topic: str
    index: int
    log: UnifiedLog | None

    def log_to_write(self) -> UnifiedLog:
        """The log, which is about to change."""

    def mark_watchers(self) -> None:
        """Its log start moved."""

    def tell_given_back(self, before_bytes: int, /) -> None:
        """The log had so many bytes before; this calls `LogMemory.note`."""


class MemoryHost(Protocol):
    """The node."""

    broker_id: int
    journal: Journal | None
    metadata: MetadataStore


class _Held:
    """One log as it was when it was noted last."""

    __slots__ = ("active_bytes", "generation", "segments", "size_bytes")

    def __init__(self) -> None:
        self.segments: Sequence[Segment] = ()
        self.active_bytes = 0
        self.size_bytes = 0
        self.generation = 0


class LogMemory:
    """The bytes of a node's logs, and which of their segments are the oldest."""

    __slots__ = (
        "_appended_bytes",
        "_generation_bytes",
        "_held",
        "_host",
        "_is_ordered",
        "_newest_wall_ms",
        "_oldest",
        "deleted_bytes",
        "deleted_segments",
        "held_bytes",
        "is_full",
        "limit_bytes",
        "refused",
    )

    def __init__(self, limit_bytes: int, host: MemoryHost) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self.is_full = False
        """Whether an append was refused, and none had room since."""
        self.refused = 0
        self.deleted_bytes = 0
        self.deleted_segments = 0
        self._host = host
        self._appended_bytes = 0
        self._generation_bytes = max(1, limit_bytes // GENERATIONS)
        self._held: dict[MeasuredPartition, _Held] = {}
        self._oldest: OrderedDict[Segment, MeasuredPartition] = OrderedDict()
        self._newest_wall_ms = 0
        self._is_ordered = True
        """Whether `_oldest` is in order; logs that came with their segments disturb it."""

    # -- before an append ----------------------------------------------------------------------

    def make_room(
        self, partition: MeasuredPartition, size_bytes: int, origin: AppendOrigin
    ) -> AppendResult | None:
        """Delete the oldest segments until so much more may be stored.

        The answer for a client is returned if they do not do; what others append is promised. The
        partition's log begins another segment, if its own is of an older generation.
        """
        if self.held_bytes + size_bytes > self.limit_bytes:
            if size_bytes <= self.limit_bytes:
                self._delete_oldest(size_bytes)
            if origin is AppendOrigin.CLIENT and self.held_bytes + size_bytes > self.limit_bytes:
                return self._refuse(size_bytes)
        if self.held_bytes + size_bytes <= self.limit_bytes:
            self.is_full = False
        held, log = self._held.get(partition), partition.log
        if held is not None and log is not None and held.generation != self._generation:
            log.must_roll = True
        return None

    def _refuse(self, size_bytes: int) -> AppendResult:
        self.refused += 1
        if not self.is_full:
            self.is_full = True
            self._tell("full", None, 0, 0, size_bytes)
        return AppendResult(ErrorCode.KAFKA_STORAGE_ERROR, error_message=_NO_ROOM)

    @property
    def _generation(self) -> int:
        return self._appended_bytes // self._generation_bytes

    def _delete_oldest(self, wanted_bytes: int) -> None:
        if not self._is_ordered:
            by_age = sorted(self._oldest.items(), key=lambda each: each[0].created_wall_ms)
            self._oldest = OrderedDict(by_age)
            self._is_ordered = True
        oldest = self._oldest
        starts: dict[MeasuredPartition, tuple[int, int]] = {}
        for _ in range(len(oldest)):
            if self.held_bytes + wanted_bytes <= self.limit_bytes:
                break
            segment, partition = next(iter(oldest.items()))
            if not _may_go(partition, segment):
                oldest.move_to_end(segment)
                continue
            log = partition.log_to_write()
            start, size = starts.get(partition, (log.log_start_offset, 0))
            starts[partition] = start, size + segment.size_bytes
            before = log.size_bytes
            log.delete_oldest_segments(1)
            partition.mark_watchers()
            partition.tell_given_back(before)
            self.deleted_segments += 1
            self.deleted_bytes += segment.size_bytes
        for partition, (start, size) in starts.items():
            log = partition.log_to_write()
            self._tell("deleted", partition, start, log.log_start_offset, size)

    def _tell(
        self, event: str, partition: MeasuredPartition | None, start: int, end: int, size: int
    ) -> None:
        journal = self._host.journal
        if journal is not None:
            topic, index = (None, None) if partition is None else (partition.topic, partition.index)
            journal.record(
                MemoryLimitMet(
                    self._host.broker_id, event, topic, index, start, end, size, self.held_bytes
                )
            )

    # -- after a change ------------------------------------------------------------------------

    def note(self, partition: MeasuredPartition) -> None:
        """The partition's log was appended to, cut, exchanged or taken away."""
        log = partition.log
        segments = () if log is None else log.segments()
        held = self._held.get(partition)
        if held is None:
            if not segments:
                return
            held = self._held[partition] = _Held()
        active_bytes = segments[-1].size_bytes if segments else 0
        if segments is held.segments:
            grown = active_bytes - held.active_bytes
        else:
            grown = sum(segment.size_bytes for segment in segments) - held.size_bytes
        held.active_bytes = active_bytes
        held.size_bytes += grown
        self.held_bytes += grown
        if segments is not held.segments:
            self._follow(partition, held, segments)
        if grown > 0:
            self._appended_bytes += grown

    def _follow(
        self, partition: MeasuredPartition, held: _Held, segments: Sequence[Segment]
    ) -> None:
        """The log has other segments than before."""
        known, now = set(held.segments), set(segments)
        for segment in known - now:
            self._oldest.pop(segment, None)
        topic = self._host.metadata.topics.get(partition.topic)
        if topic is None or not topic.internal:
            for segment in segments:
                if segment not in known:
                    self._oldest[segment] = partition
                    if segment.created_wall_ms < self._newest_wall_ms:
                        self._is_ordered = False
                    self._newest_wall_ms = max(self._newest_wall_ms, segment.created_wall_ms)
        held.segments = segments
        if not segments:
            del self._held[partition]
        elif segments[-1] not in known:
            held.generation = self._generation


def _may_go(partition: MeasuredPartition, segment: Segment) -> bool:
    log = partition.log
    assert log is not None, "a log that is gone has no segments"
    segments = log.segments()
    if not log.config.delete or segments[0] is not segment:
        return False
    end = segments[1].base_offset if len(segments) > 1 else log.log_end_offset
    return end <= log.last_stable_offset
