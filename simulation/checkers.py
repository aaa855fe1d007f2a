"""The rules that every run must keep, and the eyes on them.

`AnswerChecker` watches the broker's end of each wire: answers come once, in order, and not after
their time. `ReadingChecker` holds what one reader gets against the ledger. `check_view` is the
claim of KIP-227: what an incremental session told equals what a full fetch tells now.
`check_cache` and `check_nothing_waits` look into the broker.

Each broken rule goes to `World.violate`; nothing here raises.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from mockbroker.fetch.session import CHANGED, QUIET, READY
from mockbroker.log.offsets import FetchIsolation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.frames import FrameBuffer
from simulation.stage import Observer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.fetch.session import CachedPartition, FetchSession
    from mockbroker.node.broker import Broker
    from simulation.ledger import Ledger, TrueLog
    from simulation.session_handler import AnsweredPartition, SessionKey
    from simulation.stage import Wire
    from simulation.world import World

TOLERANCE_MS = 1.0
"""Kafka's timer ticks each millisecond."""

GONE = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_ID,
    )
)


@dataclass(slots=True)
class _Expected:
    """A request on its way: where its bytes end, and how long the broker may keep it."""

    correlation_id: int
    end: int
    max_wait_ms: float
    arrived_ms: float | None = None


@dataclass(slots=True)
class _WireBook:
    """The requests and answers of one wire."""

    expected: deque[_Expected] = field(default_factory=deque)
    elapsed: deque[float] = field(default_factory=deque)
    frames: FrameBuffer = field(default_factory=FrameBuffer)
    sent_bytes: int = 0
    arrived_bytes: int = 0
    answered_ms: float = 0.0


class AnswerChecker(Observer):
    """Rules 3 and 5: each request is answered once, in order, and none is kept too long."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._books: dict[int, _WireBook] = {}
        self._tolerance_ms = TOLERANCE_MS + world.slack_ms
        self.answers = 0
        self.superseded: dict[tuple[int, int], None] = {}
        """Wire and number of fetches whose session went on while they were parked."""
        world.observers.append(self)

    def expect(self, wire: Wire, correlation_id: int, size: int, max_wait_ms: float) -> None:
        """A client is about to send a request of so many bytes."""
        book = self._books.setdefault(wire.id, _WireBook())
        book.sent_bytes += size
        book.expected.append(_Expected(correlation_id, book.sent_bytes, max_wait_ms))

    def elapsed_ms(self, wire: Wire) -> float:
        """How long the broker took for the next answer that its client reads."""
        elapsed = self._books[wire.id].elapsed
        return elapsed.popleft() if elapsed else 0.0

    def bytes_arrived(self, wire: Wire, count: int) -> None:
        book = self._books[wire.id]
        book.arrived_bytes += count
        for expected in book.expected:
            if expected.end > book.arrived_bytes:
                break
            if expected.arrived_ms is None:
                expected.arrived_ms = self._world.now_ms

    def bytes_emitted(self, wire: Wire, data: bytes) -> None:
        book = self._books.setdefault(wire.id, _WireBook())
        for frame in book.frames.feed(data):
            number = int.from_bytes(frame[:4], "big")
            if self.superseded and (wire.id, number) in self.superseded:
                self._check_superseded(wire, number, bytes(frame))
            self._answered(wire, book, number)

    def _check_superseded(self, wire: Wire, correlation_id: int, frame: bytes) -> None:
        """It answers nothing but that its epoch is over, by a header without tags or with none."""
        del self.superseded[wire.id, correlation_id]
        error = int(ErrorCode.INVALID_FETCH_SESSION_EPOCH).to_bytes(2, "big")
        if error not in (frame[8:10], frame[9:11]):
            self._world.violate(
                f"wire {wire.id}: fetch {correlation_id} is answered although its session went on"
            )

    def _answered(self, wire: Wire, book: _WireBook, correlation_id: int) -> None:
        world = self._world
        self.answers += 1
        if not book.expected:
            world.violate(f"wire {wire.id}: answer {correlation_id} to nothing")
            return
        expected = book.expected.popleft()
        if expected.correlation_id != correlation_id or expected.arrived_ms is None:
            world.violate(
                f"wire {wire.id}: answer {correlation_id} where {expected.correlation_id} is due"
            )
            return
        began_ms = max(expected.arrived_ms, book.answered_ms)
        elapsed_ms = world.now_ms - began_ms
        if elapsed_ms > expected.max_wait_ms + self._tolerance_ms:
            world.violate(
                f"wire {wire.id}: answer {correlation_id} after {elapsed_ms:.3f} ms of at most "
                f"{expected.max_wait_ms:.3f}"
            )
        book.answered_ms = world.now_ms
        book.elapsed.append(elapsed_ms)

    def hung_up(self, wire: Wire) -> None:
        self._books.pop(wire.id, None)

    def check_overdue(self) -> None:
        """Nothing that arrived whole waits beyond its time."""
        now_ms = self._world.now_ms
        for wire_id, book in self._books.items():
            if book.expected and book.expected[0].arrived_ms is not None:
                first = book.expected[0]
                assert first.arrived_ms is not None
                due_ms = max(first.arrived_ms, book.answered_ms) + first.max_wait_ms
                if now_ms > due_ms + self._tolerance_ms:
                    self._world.violate(
                        f"wire {wire_id}: request {first.correlation_id} is unanswered "
                        f"{now_ms - due_ms:.3f} ms after its time"
                    )


class ReadingChecker:
    """Rule 1 for one reader: every record once, in order, equal to what the log holds."""

    def __init__(self, world: World, ledger: Ledger, name: str, *, committed: bool) -> None:
        self._world = world
        self._ledger = ledger
        self._name = name
        self._committed = committed
        self._reading: dict[tuple[str, int], TrueLog] = {}
        self.records = 0

    def got(
        self,
        topic: str,
        index: int,
        topic_id: bytes | None,
        start: int,
        end: int,
        records: list[tuple[int, bytes]],
    ) -> None:
        """The reader moved from `start` to `end` and got these; `topic_id` None: it goes by name.

        By name it may find itself in a later incarnation, never in an earlier one.
        """
        self.records += len(records)
        key = topic, index
        logs = self._ledger.incarnations(topic, index)
        current = self._reading.get(key)
        candidates = logs if current is None else logs[logs.index(current) :]
        for log in candidates:
            if topic_id not in (None, log.topic_id):
                continue
            self._ledger.catch_up(log)
            readable_end = log.readable_end(committed=self._committed)
            if end <= readable_end and records == log.visible(
                start, end, committed=self._committed
            ):
                self._reading[key] = log
                return
        self._world.violate(
            f"{self._name} read {records[:3]}… from {start} to {end} of {topic}-{index}, "
            f"which no log holds like that"
        )

    def jumped(self, topic: str, index: int, start: int, end: int) -> None:
        """The reader was told that `start` is out of range and goes on at `end`."""
        logs = self._ledger.incarnations(topic, index)
        if len(logs) > 1:
            return  # another incarnation may have been in its way
        log = logs[-1].log if logs else None
        if log is None or not start < log.log_start_offset:
            self._world.violate(
                f"{self._name} was sent from {start} to {end} of {topic}-{index} for nothing"
            )


def check_turns(world: World, name: str, session_id: int, given: Mapping[SessionKey, int]) -> None:
    """KIP-74: those that were given something are behind all others of their session now."""
    cache = world.broker.services.fetch.cache
    session = cache.get(session_id)
    if session is None:
        return
    served: list[int] = []
    others: list[int] = []
    for cached in session.partitions():
        topic = cached.topic
        key = (topic.topic_id if session.uses_topic_ids else topic.name or ""), cached.index
        (served if given.get(key) else others).append(cached.stamp)
    if served and others and min(served) < max(others):
        world.violate(f"{name}: who was given something is not behind the others")


def check_sizes(
    world: World,
    name: str,
    given: Mapping[SessionKey, int],
    full: Mapping[SessionKey, int],
) -> None:
    """Rule 2 for data: an incremental answer without limits gives what a full one gives."""
    for key in {**given, **full}:
        if given.get(key, 0) != full.get(key, 0):
            world.violate(
                f"{name}: its session gave {given.get(key, 0)} bytes of {key}, a full fetch "
                f"gives {full.get(key, 0)}"
            )


def check_view(
    world: World,
    name: str,
    view: Mapping[SessionKey, AnsweredPartition],
    full: Mapping[SessionKey, AnsweredPartition],
) -> None:
    """Rule 2: what the session told of each partition is what a full fetch tells now.

    Where a topic is gone, a session by id answers 3 or 103 for what a full fetch calls 100.
    """
    for key, told in full.items():
        held = view.get(key)
        if held == told:
            continue
        if held is not None and told.error in GONE and held.error in GONE:
            continue
        world.violate(f"{name}: its session holds {held} for {key}, a full fetch tells {told}")


# -- inside the broker -----------------------------------------------------------------------


def check_cache(world: World, broker: Broker | None = None) -> None:
    """Rule 4, while sessions live: shards, sizes, states, order and links agree."""
    for number, shard in enumerate((broker or world.broker).services.fetch.cache.shards):
        sessions = shard.sessions
        if sum(session.cached_size for session in sessions.values()) != shard.total_size:
            world.violate(f"shard {number} counts {shard.total_size} partitions wrongly")
        for session_id, session in sessions.items():
            if session.id != session_id or session.closed:
                world.violate(f"session {session_id} is cached as {session.id}, closed or not")
            check_session(world, session)


def check_session(world: World, session: FetchSession) -> None:
    """The invariants that `fetch.session` states."""
    partitions = list(session.partitions())
    name = f"session {session.id}"
    if len(partitions) != session.size:
        world.violate(f"{name} holds {len(partitions)} partitions and counts {session.size}")
    if len({cached.stamp for cached in partitions}) != len(partitions):
        world.violate(f"{name} has two partitions at one place")
    queued = {(stamp, cached.topic.name, cached.index) for stamp, cached in session.ready}
    for cached in partitions:
        where = f"{name}, {cached.topic.name}-{cached.index}"
        if (cached.state == CHANGED) != (cached in session.changed):
            world.violate(f"{where} is in state {cached.state} and on the wrong list")
        if cached.state == READY and (cached.stamp, cached.topic.name, cached.index) not in queued:
            world.violate(f"{where} is ready and not queued")
        if cached.partition is not None and not cached.linked:
            world.violate(f"{where} is not told of changes")
        if cached.state != CHANGED:
            _check_unchanged(world, session, cached, where)


def _check_unchanged(
    world: World, session: FetchSession, cached: CachedPartition, where: str
) -> None:
    """A partition that polls pass over has nothing to tell."""
    partition = cached.partition
    if partition is None or partition.deleted:
        world.violate(f"{where} has gone and nobody will look")
        return
    log = partition.log
    if log is None:
        told = (0, 0, 0)
    else:
        bound = log.high_watermark
        if session.isolation is FetchIsolation.TXN_COMMITTED:
            bound = log.last_stable_offset
        elif session.isolation is FetchIsolation.LOG_END:
            bound = log.log_end_offset
        told = (log.high_watermark, log.log_start_offset, bound)
    if told[:2] != (cached.cached_high_watermark, cached.cached_log_start_offset):
        world.violate(f"{where} stands at {told[:2]}, which was not told and is not marked")
    if cached.state == QUIET and cached.fetch_offset != told[2]:
        world.violate(f"{where} is quiet at {cached.fetch_offset} below {told[2]}")
    if cached.state == READY and cached.fetch_offset >= told[2]:
        world.violate(f"{where} is ready at {cached.fetch_offset} of {told[2]}")


def check_nothing_waits(world: World) -> None:
    """Rule 4, when all clients have left: purgatories and timer are empty."""
    services = world.broker.services
    replicas = services.replicas
    for kind, purgatory in (
        ("fetch", replicas.fetch_purgatory),
        ("produce", replicas.produce_purgatory),
        ("delete records", replicas.delete_records_purgatory),
    ):
        purgatory.purge()
        left = (
            purgatory.num_delayed_operations,
            purgatory.purgatory_size,
            purgatory.watched_keys,
        )
        if any(left):
            world.violate(f"the {kind} purgatory holds operations, entries, keys {left}")
    tasks = len(services.timer) - replicas.upkeep.is_armed  # logs grow old when nobody waits
    if tasks:
        world.violate(f"{tasks} timer tasks are left")
    if replicas.has_ready or services.has_deferred:
        world.violate("something is ready and was not drained")


def check_segments(world: World) -> None:
    """A segment that another one follows has no room for the first batch of that.

    For logs of a leader that is alone: nothing is cut, each batch came by itself, and none is old.
    """
    for partition in world.broker.services.replicas.all_partitions():
        log = partition.log
        if log is None:
            continue
        for before, after in pairwise(log.segments()):
            size = after.size_of(0) if len(after) else 0
            room = log.config.segment_bytes - before.size_bytes
            if size and size <= room:
                world.violate(f"{log!r}: {size} bytes at {after.base_offset} had room in {room}")


def check_no_sessions(world: World, ledger: Ledger) -> None:
    """Rule 4, when every session was closed: the cache is empty, no partition is watched."""
    cache = world.broker.services.fetch.cache
    if cache.num_sessions or cache.num_partitions:
        world.violate(
            f"{cache.num_sessions} sessions and {cache.num_partitions} partitions are left"
        )
    for log in ledger.logs():
        if log.partition.is_watched:
            world.violate(f"{log} is still watched")
