"""A fetch session: the partitions that a client reads, in order, and which of them need a look.

`FetchManager` makes and updates sessions, the contexts walk them, `Partition` marks their entries.
The cost of a poll follows what changed (KIP-227, kept in CPU too): each cached partition is in
one of three states, and a poll never meets the quiet ones.

QUIET    at its bound, and everything that an answer could tell was told
READY    has records to give; worth a look only while the byte budget can hold a batch
CHANGED  must be looked at by the next poll whatever the budget: new, named in the request, marked
         by its partition, in error, diverging, or positioned beyond its bound

Order is kept by a stamp per partition: `changed` is sorted by it at each poll, `ready` is a heap on
it, and both merged give exactly the order of a walk over the whole session. A partition that was
served gets a new stamp, which moves it to the back.

Invariants: a partition is in `changed` exactly while its state is CHANGED; one that is READY has
exactly one entry with its current stamp in `ready` (others there are stale and skipped); every
partition of an open session that is hosted here is linked into its `Partition`.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from heapq import heapify, heappush
from itertools import islice, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from mockbroker.fetch.savings import WireSize
from mockbroker.log.offsets import FetchIsolation
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.fetch_params import UNKNOWN_HIGH_WATERMARK
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.fetch import (
        FetchRequestForgottenTopic,
        FetchRequestPartition,
        FetchRequestTopic,
        FetchResponsePartition,
    )

INVALID_SESSION_ID: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_MAX_EPOCH: Final = 2**31 - 1

QUIET: Final = 0
READY: Final = 1
CHANGED: Final = 2
FORGOTTEN: Final = 3

SMALLEST_BATCH_BYTES: Final = 61
"""A batch of magic 2 without records: a smaller budget gives nobody anything."""

_STALE_ENTRIES_ALLOWED: Final = 64
_SMALL_DICT: Final = 16
_NOTHING_READY: Final = 2**31

ReaderProfile = tuple[int, bool, int, str]
_name_of = itemgetter(0)


def next_epoch(epoch: int) -> int:
    """The epoch after `epoch`: wraps to 1, never to 0 (Kafka: FetchMetadata.nextEpoch)."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == _MAX_EPOCH else epoch + 1


class SessionListener:
    """A parked fetch of a session, told of each change of its partitions: `waiting.SessionWait`."""

    __slots__ = ()

    @abstractmethod
    def note(self, cached: CachedPartition) -> None:
        """A partition of the session changed; weigh it at the next check."""

    @abstractmethod
    def note_rolled(self, cached: CachedPartition, left_segment: int) -> None:
        """A partition's log began another segment: its reader stands on an older one now."""


class SessionTopic(FetchTopic):
    """The partitions of one topic in a session, by index."""

    __slots__ = ("partitions", "session")

    def __init__(self, session: FetchSession, name: str | None, topic_id: bytes) -> None:
        super().__init__(name, topic_id)
        self.session = session
        self.partitions: dict[int, CachedPartition] = {}


class CachedPartition(FetchEntry):
    """A partition of a session: the reader's last request and what it was last told."""

    __slots__ = (
        "cached_high_watermark",
        "cached_log_start_offset",
        "in_heap",
        "session",
        "stamp",
        "state",
    )

    def __init__(self, topic: SessionTopic, request: FetchRequestPartition, stamp: int) -> None:
        # As FetchEntry does it, without the call: a session may hold 100,000.
        self.topic = topic
        self.session = topic.session
        self.index = request.partition
        self.partition = None
        self.fetch_offset = request.fetch_offset
        self.max_bytes = request.partition_max_bytes
        self.current_leader_epoch = request.current_leader_epoch
        self.last_fetched_epoch = request.last_fetched_epoch
        self.log_start_offset = request.log_start_offset
        self.high_watermark = request.high_watermark
        self.linked = False
        self.next_watcher = None
        self.previous_watcher = None
        self.cached_high_watermark = -1
        self.cached_log_start_offset = -1
        self.stamp = stamp
        self.state = CHANGED
        self.in_heap = False

    def mark(self) -> None:
        """Its partition changed: the next poll looks at it, and parked fetches weigh it anew."""
        session = self.session
        if self.state != CHANGED:
            self.state = CHANGED
            session.changed[self] = None
        for wait in session.waits:
            wait.note(self)

    def mark_rolled(self, left_segment: int) -> None:
        for wait in self.session.waits:
            wait.note_rolled(self, left_segment)

    def polled_ms(self) -> float:
        session = self.session
        return 0.0 if self.state == FORGOTTEN or session.closed else float(session.last_used_ms)

    def wait_key(self) -> Hashable | None:
        session = self.session
        return session if session.waits else None

    def link(self, partition: Partition | None) -> None:
        """It was found to be `partition`; None: it is unknown or not hosted here."""
        current = self.partition
        if current is not None:
            current.unwatch(self)
        self.partition = partition
        if partition is not None:
            partition.watch(self)

    def has_news(self, data: FetchResponsePartition, size_bytes: int) -> bool:
        """Whether an incremental answer includes it; remembers what it says thereby.

        Kafka: CachedPartition.maybeUpdateResponseData. The comparisons are "differs", so a high
        watermark that went down counts too. KIP-1166 adds the last rule: a reader that knows less
        than we do is answered, and is taken to know it from then on.
        """
        included = size_bytes > 0
        high_watermark = data.high_watermark
        if high_watermark != self.cached_high_watermark:
            self.cached_high_watermark = high_watermark
            included = True
        if data.log_start_offset != self.cached_log_start_offset:
            self.cached_log_start_offset = data.log_start_offset
            included = True
        if data.error_code:
            # Forces one more inclusion after the error has gone.
            self.cached_high_watermark = -1
            return True
        if data.preferred_read_replica != -1 or data.diverging_epoch is not None:
            return True
        if self.high_watermark < high_watermark:
            self.high_watermark = high_watermark
            included = True
        return included


class FetchSession:
    """One session (Kafka: FetchSession). `epoch` is the one expected of the next request."""

    __slots__ = (
        "_names",
        "cached_size",
        "changed",
        "closed",
        "created_ms",
        "epoch",
        "evictable_by_all",
        "evictable_by_privileged",
        "extension",
        "id",
        "isolation",
        "last_used_ms",
        "measures_ready",
        "next_stamp",
        "privileged",
        "profile",
        "ready",
        "request_bytes_saved",
        "response_bytes_saved",
        "rights",
        "selections",
        "size",
        "smallest_ready_bytes",
        "topics",
        "uses_topic_ids",
        "waits",
        "wire_size",
    )

    def __init__(self, *, privileged: bool, uses_topic_ids: bool) -> None:
        self.id = INVALID_SESSION_ID
        self.privileged = privileged
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = 0
        self.last_used_ms = 0
        self.cached_size = 0
        self.evictable_by_all = False
        self.evictable_by_privileged = False
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.topics: dict[str | bytes, SessionTopic] = {}
        self.size = 0
        self.wire_size = WireSize()
        self.request_bytes_saved = 0
        self.response_bytes_saved = 0
        self.next_stamp = 0
        self.changed: dict[CachedPartition, None] = {}
        self.ready: list[tuple[int, CachedPartition]] = []
        self.smallest_ready_bytes = SMALLEST_BATCH_BYTES
        """No READY partition can give anything to a smaller budget."""
        self.measures_ready = False
        self.waits: list[SessionListener] = []
        self.closed = False
        self.isolation = FetchIsolation.HIGH_WATERMARK
        self.profile: ReaderProfile | None = None
        self.rights: tuple[object, int] | None = None
        """The reader and the changes of the `Gate` that its partitions passed last, if any."""
        self._names: list[tuple[str, SessionTopic]] | None = None
        """Its topics that have a name, by it; None: they are to be sorted."""
        self.selections: dict[object, bool] | None = None
        """By fault rule, whether it selects one of the partitions; None: they are others since."""
        self.extension: object | None = None
        """What an extension of the protocol keeps of it."""

    # -- contents --------------------------------------------------------------------------

    def update(
        self,
        topics: list[FetchRequestTopic],
        forgotten: list[FetchRequestForgottenTopic],
    ) -> None:
        """Apply additions and new values, then removals (Kafka: FetchSession.update)."""
        by_id = self.uses_topic_ids
        wire_size = self.wire_size
        for requested in topics:
            key: str | bytes = requested.topic_id if by_id else requested.topic
            topic = self.topics.get(key)
            if topic is None:
                topic = self._add_topic(key)
            partitions = topic.partitions
            before = len(partitions)
            for request in requested.partitions:
                cached = partitions.get(request.partition)
                if cached is None:
                    stamp = self.next_stamp
                    cached = CachedPartition(topic, request, stamp)
                    self.next_stamp = stamp + 1
                    self.size += 1
                    partitions[cached.index] = cached
                    self.changed[cached] = None
                    known = UNKNOWN_HIGH_WATERMARK
                else:
                    known = cached.high_watermark
                    cached.update(request)
                    cached.mark()
                if request.high_watermark != known:
                    wire_size.retag(known, request.high_watermark)
            if len(partitions) != before:
                wire_size.resize_topic(key, before, len(partitions))
                self.selections = None
        for gone in forgotten:
            topic = self.topics.get(gone.topic_id if by_id else gone.topic)
            if topic is not None:
                self._forget(topic, gone.partitions)

    def partitions(self) -> Iterable[CachedPartition]:
        """All partitions, topic by topic: not in the order of service."""
        for topic in self.topics.values():
            yield from topic.partitions.values()

    def topics_beginning_with(self, prefix: str) -> list[SessionTopic]:
        """Those of its topics whose names are known and begin so."""
        found = takewhile(lambda one: one[0].startswith(prefix), self._names_from(prefix))
        return [topic for _, topic in found]

    def topics_named(self, name: str) -> list[SessionTopic]:
        """Those of its topics that have this name: by ids several, if it was made anew."""
        return [topic for _, topic in takewhile(lambda one: one[0] == name, self._names_from(name))]

    def _names_from(self, name: str) -> Iterable[tuple[str, SessionTopic]]:
        names = self._names
        if names is None:
            named = ((topic.name, topic) for topic in self.topics.values())
            names = self._names = sorted(
                ((name, topic) for name, topic in named if name is not None), key=_name_of
            )
        return islice(names, bisect_left(names, name, key=_name_of), None)

    def forget_names(self) -> None:
        """There are others: sort them when somebody asks."""
        self._names = None

    def _add_topic(self, key: str | bytes) -> SessionTopic:
        self._names = None
        if isinstance(key, str):
            topic = SessionTopic(self, key, ZERO_UUID)
        else:
            topic = SessionTopic(self, None, key)
        self.topics[key] = topic
        return topic

    def _forget(self, topic: SessionTopic, indexes: list[int]) -> None:
        key = topic.topic_id if self.uses_topic_ids else topic.name or ""
        before = len(topic.partitions)
        for index in indexes:
            cached = topic.partitions.pop(index, None)
            if cached is None:
                continue
            cached.link(None)
            self.changed.pop(cached, None)
            cached.state = FORGOTTEN
            self.size -= 1
            self.wire_size.retag(cached.high_watermark, UNKNOWN_HIGH_WATERMARK)
        self.wire_size.resize_topic(key, before, len(topic.partitions))
        self.selections = None
        if not topic.partitions:
            self._names = None
            del self.topics[key]

    # -- order and readiness ---------------------------------------------------------------

    def adopt_reader(self, params: FetchParams) -> None:
        """Who reads decides what is quiet: when that differs from the last poll, look at all."""
        profile = (params.isolation, params.only_leader, params.replica_id, params.rack_id)
        if profile != self.profile:
            if self.profile is not None:
                for cached in self.partitions():
                    cached.mark()
            self.profile = profile
            self.isolation = params.isolation

    def reorder(self, order: Sequence[CachedPartition]) -> None:
        """Serve the partitions of a new session in this order."""
        for stamp, cached in enumerate(order):
            cached.stamp = stamp
        self.next_stamp = len(order)

    def move_to_back(self, cached: CachedPartition) -> None:
        """It was served: the others come first from now on (Kafka: PartitionIterator)."""
        cached.stamp = self.next_stamp
        cached.in_heap = False
        self.next_stamp += 1

    def settle(self, cached: CachedPartition, sticky: bool) -> None:
        """After an answer: decide what the next poll must do with it.

        `sticky`: the answer told an error, a divergence or a preferred replica, which it repeats.
        """
        state = CHANGED if sticky else self._state_of(cached)
        if state == CHANGED:
            if cached.state != CHANGED:
                cached.state = CHANGED
                self.changed[cached] = None
            return
        if cached.state == CHANGED:
            self.changed.pop(cached, None)
        cached.state = state
        if state == READY:
            if self.measures_ready:
                self._measure(cached)
            if not cached.in_heap:
                self.push_ready(cached)

    def _state_of(self, cached: CachedPartition) -> int:
        partition = cached.partition
        if partition is None or partition.deleted:
            return CHANGED
        log = partition.log
        if log is None:
            high_watermark = log_start = bound = 0
        else:
            high_watermark = log.high_watermark
            log_start = log.log_start_offset
            bound = high_watermark
            if self.isolation is not FetchIsolation.HIGH_WATERMARK:
                bound = log.end_offset(self.isolation)
        offset = cached.fetch_offset
        if (
            offset > bound
            or high_watermark != cached.cached_high_watermark
            or log_start != cached.cached_log_start_offset
        ):
            return CHANGED
        return QUIET if offset == bound else READY

    def shrink_changed(self, looked_at: int) -> None:
        """`looked_at` partitions were settled, most of them for good.

        A dict keeps the room of what left it, and walks over that room: give it back.
        """
        if looked_at > 2 * len(self.changed) + _SMALL_DICT:
            self.changed = dict.fromkeys(self.changed)

    def measure_ready(self, measures: bool) -> None:
        """Begin or end to keep the smallest batch that a READY partition begins with.

        Worth its price when a walk has met many partitions in vain because of what was left of its
        budget. Begin when all READY ones are about to be settled.
        """
        self.measures_ready = measures
        self.smallest_ready_bytes = _NOTHING_READY if measures else SMALLEST_BATCH_BYTES

    def _measure(self, cached: CachedPartition) -> None:
        partition = cached.partition
        if partition is not None and partition.log is not None:
            first = partition.log.read(cached.fetch_offset, 0, self.isolation, True)
            self.smallest_ready_bytes = min(self.smallest_ready_bytes, first.size_bytes)

    def push_ready(self, cached: CachedPartition) -> None:
        """Enter a READY partition into the heap under its stamp."""
        ready = self.ready
        if len(ready) > _STALE_ENTRIES_ALLOWED + 2 * self.size:
            ready[:] = [
                entry
                for entry in ready
                if entry[1].stamp == entry[0] and entry[1].state != FORGOTTEN
            ]
            heapify(ready)
        heappush(ready, (cached.stamp, cached))
        cached.in_heap = True

    # -- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """It has left the cache; fetches that are parked on it still answer."""
        self.closed = True
        if not self.waits:
            self._unlink()

    def end_wait(self, wait: SessionListener) -> None:
        """A parked fetch of this session was answered or given up."""
        self.waits.remove(wait)
        if self.closed and not self.waits:
            self._unlink()

    def _unlink(self) -> None:
        for cached in self.partitions():
            if cached.partition is not None:
                cached.partition.unwatch(cached)
