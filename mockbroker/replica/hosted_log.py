"""The log of a partition that this node hosts, and the readers that are told of its changes.

`Partition` extends it by leadership and replication; `LogUpkeep` works on it alone. A session's
readers are linked into the log that they read, so that a change costs a call for each of them and
nothing is looked up.

Invariant: each reader is linked at most once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from mockbroker.config.log_config import DEFAULT_LOG_CONFIG
from mockbroker.journal import DATA
from mockbroker.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.kept_logs import KeptLogs
    from mockbroker.replica.log_memory import LogMemory

EMPTY_LOG: Final = UnifiedLog()
"""What a read finds where there is no log yet. It knows no epochs, and nobody appends to it."""


class PartitionReader:
    """Who reads a partition, and where: `replica.fetch_entry` and the sessions build on it.

    `log_start_offset` is that of a follower's own log, -1 for consumers. Outside of a fetch session
    a reader is never linked, and the last three slots are not set.
    """

    __slots__ = ("fetch_offset", "linked", "log_start_offset", "next_watcher", "previous_watcher")

    fetch_offset: int
    log_start_offset: int
    linked: bool
    next_watcher: PartitionReader | None
    previous_watcher: PartitionReader | None

    def mark(self) -> None:
        """Something of the partition changed that a fetch may have to tell."""

    def mark_rolled(self, left_segment: int) -> None:
        """The log left the segment of this base offset and began another."""

    def wait_key(self) -> Hashable | None:
        """The key under which fetches of this reader wait; None: none waits."""
        return None

    def polled_ms(self) -> float:
        """When it last fetched in its session, be it without naming this partition; else 0.0."""
        return 0.0


class LogHost(Protocol):
    """The node, as far as a log needs it: `replica.partition.PartitionHost`."""

    kept_logs: KeptLogs
    log_memory: LogMemory | None
    metadata: MetadataStore
    gave_back: Callable[[int], None] | None


Host_co = TypeVar("Host_co", bound=LogHost, covariant=True)


class HostedLog(Generic[Host_co]):
    """A partition's log; None until the first append or position query makes it.

    `ready` and `cause` are notes of `ReplicaManager.drain`: whether it is on the list of what
    parked requests may wait for, and which of the journal's reasons put it there last.
    """

    __slots__ = (
        "_first_watcher",
        "_host",
        "_last_watcher",
        "_led_epoch",
        "cause",
        "index",
        "log",
        "ready",
        "topic",
        "topic_id",
        "writable_log",
    )

    def __init__(self, host: Host_co, topic: str, topic_id: bytes, index: int) -> None:
        self._host = host
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log: UnifiedLog | None = None
        self.writable_log: UnifiedLog | None = None
        """The log once it may change without asking `KeptLogs`."""
        self._led_epoch = -1
        """The last leader epoch in which this node led; -1: in none."""
        self.ready = False
        self.cause = DATA
        self._first_watcher: PartitionReader | None = None
        self._last_watcher: PartitionReader | None = None

    @property
    def high_watermark(self) -> int:
        """Up to where consumers may read."""
        return 0 if self.log is None else self.log.high_watermark

    def open_log(self) -> UnifiedLog:
        """The log, made now if this is its first use."""
        log = self.log
        if log is None:
            topic = self._host.metadata.topics.get(self.topic)
            log = UnifiedLog(
                self.topic,
                self.index,
                DEFAULT_LOG_CONFIG if topic is None else topic.config.log_config,
            )
            if self._led_epoch >= 0:
                log.assign_epoch(self._led_epoch)
            self.log = log
        return log

    def log_to_write(self) -> UnifiedLog:
        """The log, which is about to change: open scopes keep first what they need of it."""
        log = self.writable_log
        if log is None:
            log = self.open_log()
            self._host.kept_logs.keep(self, log)
            self.writable_log = log
        return log

    def _take(self, log: UnifiedLog | None) -> None:
        """This is the log from now on."""
        if self.log is not None:
            self.log_to_write()
        self._host.kept_logs.forget(self)
        self.log = log
        self.note_size()

    def tell_given_back(self, before_bytes: int) -> None:
        """The log had so many bytes before something was deleted in it, or all of it."""
        self.note_size()
        self.note_deletion()
        gave_back = self._host.gave_back
        if gave_back is not None:
            gave_back(before_bytes - (0 if self.log is None else self.log.size_bytes))

    def note_deletion(self) -> None:
        """Readers who stand where all of the log went are behind its next segment."""
        log = self.log
        if log is not None and log.log_end_offset and not log.segment_count:
            self.mark_rolled(log.log_end_offset - 1)

    def note_size(self) -> None:
        """The log's segments changed, where they are counted."""
        memory = self._host.log_memory
        if memory is not None:
            memory.note(self)

    def watch(self, reader: PartitionReader) -> None:
        """Tell `reader` of each change from now on; nothing happens when it is told already."""
        if reader.linked:
            return
        reader.linked = True
        last = self._last_watcher
        reader.previous_watcher = last
        if last is None:
            self._first_watcher = reader
        else:
            last.next_watcher = reader
        self._last_watcher = reader

    def unwatch(self, reader: PartitionReader) -> None:
        """Tell `reader` no more."""
        if not reader.linked:
            return
        before, after = reader.previous_watcher, reader.next_watcher
        if before is None:
            self._first_watcher = after
        else:
            before.next_watcher = after
        if after is None:
            self._last_watcher = before
        else:
            after.previous_watcher = before
        reader.linked = False
        reader.previous_watcher = reader.next_watcher = None

    @property
    def is_watched(self) -> bool:
        """Whether any reader is told of changes."""
        return self._first_watcher is not None

    def wait_keys(self) -> list[Hashable]:
        """Where fetches wait whose readers watch this log, each key once."""
        keys: dict[Hashable, None] = {}
        watcher = self._first_watcher
        while watcher is not None:
            key = watcher.wait_key()
            if key is not None:
                keys[key] = None
            watcher = watcher.next_watcher
        return list(keys)

    def mark_watchers(self) -> None:
        """Something changed that is told with the next answer; this alone wakes no parked fetch."""
        watcher = self._first_watcher
        while watcher is not None:
            watcher.mark()
            watcher = watcher.next_watcher

    def mark_rolled(self, left_segment: int) -> None:
        """The log left the segment of this base offset, or of an earlier one, for another."""
        watcher = self._first_watcher
        while watcher is not None:
            watcher.mark_rolled(left_segment)
            watcher = watcher.next_watcher
