"""The cache of fetch sessions, held against KIP-227 after each step.

- A session goes on in its own epoch alone, and by names or ids as it began; who asks otherwise is
  refused, and changes nothing. A parked fetch whose session went on is told so.
- A session that is used is young. When a shard is full, the one that was idle for longer than the
  limit goes; else, of those that are old or, for a follower, any consumer's, the least
  (FetchSessionCacheShard.tryEvict). Who finds none is refused, and nobody else. Somebody comes in
  the very millisecond in which the one that was idle has reached its limit, or is just beyond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.journal import SessionEvent
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest
from simulation.clients import fetch_at_once
from simulation.parked import superseded
from simulation.session_handler import RequestedPartition, SessionKey, topics_of

if TYPE_CHECKING:
    from random import Random

    from mockbroker.fetch.session import FetchSession
    from mockbroker.journal import Event
    from simulation.checkers import AnswerChecker
    from simulation.world import World

ASK_EVERY_MS = 4.0
"""How often somebody asks what must be refused."""
BY_NAMES, BY_IDS = 12, 17
MOST_LIMIT_MS = 40.0
"""Sessions that may be idle for longer are not waited for."""
MOST_SLOTS = 2
"""Nor are shards filled that have more slots."""
TIMES = 6
UNKNOWN_ID = 2**31 - 2


class Kept(NamedTuple):
    """A session as it was after the last step."""

    id: int
    privileged: bool
    size: int
    epoch: int
    created_ms: int
    last_used_ms: int

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The least goes first."""
        return self.privileged, self.size, self.id

    def is_old(self, eviction_ms: int) -> bool:
        """Whether it had its time when it was last used."""
        return self.last_used_ms - self.created_ms > eviction_ms


class SessionAudits:
    """Watches the first broker's cache; `answers` has the answers to parked fetches looked at."""

    def __init__(
        self,
        world: World,
        answers: AnswerChecker,
        rng: Random,
        eviction_ms: int,
        time_scale: float = 1.0,
    ) -> None:
        self._world = world
        self._scale = time_scale
        self._answers = answers
        self._rng = rng
        self._limit_ms = eviction_ms
        self._cache = world.broker.services.fetch.cache
        self._shards: list[dict[int, Kept]] = [{} for _ in self._cache.shards]
        self._events: list[SessionEvent] = []
        self.refused = 0
        self.came = 0
        """So often somebody came as a session reached its limit."""
        self.opens = True
        """Whether sessions may still be opened."""
        self._waits_to_open = False
        world.cluster.journal.listen(self._hear)
        world.on_step.append(self.look)
        self._ask_later()

    def _ask_later(self) -> None:
        self._world.at(self._rng.random() * 2 * ASK_EVERY_MS * self._scale, self._ask)

    def _ask(self) -> None:
        self._ask_what_is_refused()
        self._open_later()
        self._ask_later()

    def _hear(self, event: Event) -> None:
        if isinstance(event, SessionEvent):
            self._events.append(event)

    def look(self) -> None:
        """The cache after a step."""
        now_ms = int(self._world.broker.services.clock.now_ms)
        events, self._events = self._events, []
        made = [event for event in events if event.event in {"opened", "refused"}]
        if len(made) == 1:
            self._judge_creation(made[0], events, now_ms)
        for number, shard in enumerate(self._cache.shards):
            before = self._shards[number]
            after = {session_id: _kept(one) for session_id, one in shard.sessions.items()}
            for session_id, kept in after.items():
                was = before.get(session_id)
                if was is not None and was.epoch != kept.epoch and kept.last_used_ms != now_ms:
                    self._wrong(f"{kept} was used at {now_ms}")
            self._shards[number] = after
        self._note_superseded()

    def _wrong(self, what: str) -> None:
        self._world.violate(f"fetch sessions: {what}")

    # -- who must go -------------------------------------------------------------------------

    def _judge_creation(self, made: SessionEvent, events: list[SessionEvent], now_ms: int) -> None:
        evicted = [one for one in events if one.event == "evicted"]
        # Who opens a session with the id of one that is there closes that first.
        closed = {
            one.session_id
            for one in events[: events.index(made)]
            if one.event in {"closed", "emptied"}
        }
        count = len(self._cache.shards)
        number = (self._cache._attempts - 1) % count  # noqa: SLF001 -- where it was to go
        before = [one for one in self._shards[number].values() if one.id not in closed]
        gone = [self._shards[number].get(event.session_id) for event in evicted]
        newcomer = self._cache.shards[number].sessions.get(made.session_id)
        if len(before) < self._cache.shards[number]._max_entries:  # noqa: SLF001
            if evicted or newcomer is None:
                self._wrong(f"shard {number} had room, {made} and {evicted}")
            return
        follows = newcomer is not None and newcomer.privileged
        size = made.partitions if newcomer is None else newcomer.size
        victim = self._victim(before, (follows, size, 0), now_ms)
        if newcomer is None and victim is not None:
            self._wrong(f"{made} although {victim} must go at {now_ms}")
        if newcomer is not None and gone != [victim]:
            self._wrong(f"{gone} went at {now_ms}, and {victim} must: {before}, {made}")

    def _victim(
        self, full: list[Kept], newcomer: tuple[bool, int, int], now_ms: int
    ) -> Kept | None:
        stalest = min(full, key=lambda one: (one.last_used_ms, one.id), default=None)
        if stalest is None or now_ms - stalest.last_used_ms > self._limit_ms:
            return stalest
        may_go = [
            one
            for one in full
            if one.is_old(self._limit_ms) or (newcomer[0] and not one.privileged)
        ]
        least = min(may_go, key=lambda one: one.rank, default=None)
        return None if least is None or newcomer < least.rank else least

    def _open_later(self) -> None:
        """When the stalest of the shard that has the next session has been idle for the limit.

        Where there is room, or one that was idle for too long, sessions are opened at once; nobody
        uses them again.
        """
        done = self.came >= TIMES or not self.opens
        slow = self._limit_ms > MOST_LIMIT_MS * self._scale
        slots = self._cache.shards[0]._max_entries  # noqa: SLF001 -- for the audit alone
        if done or slow or self._waits_to_open or not 0 < slots <= MOST_SLOTS:
            return
        for _ in self._cache.shards:
            wait_ms = self._ms_until_idle()
            if wait_ms > 0:
                self._waits_to_open = True
                self._world.at(wait_ms, self._open_now)
                return
            self._open()

    def _ms_until_idle(self) -> float:
        shards = self._cache.shards
        shard = shards[self._cache._attempts % len(shards)]  # noqa: SLF001 -- for the audit alone
        if len(shard.sessions) < shard._max_entries:  # noqa: SLF001
            return 0
        idle_since_ms = min(one.last_used_ms for one in shard.sessions.values())
        # Half of the millisecond is over: clocks tell whole ones.
        due_ms = idle_since_ms + self._limit_ms + self._rng.choice((0, 1)) + 0.5
        return due_ms - self._world.broker.services.clock.now_ms

    def _open_now(self) -> None:
        self._waits_to_open = False
        if self.opens:
            self.came += 1
            self._open()

    def _open(self) -> None:
        if self._world.unfinished:
            return
        wanted: dict[SessionKey, RequestedPartition] = {
            (name, 0): RequestedPartition(0, 0, -1) for name in self._world.cluster.metadata.topics
        }
        request = FetchRequest(session_epoch=0, topics=topics_of(wanted, by_id=False))
        self.look()  # this step may have used sessions before
        fetch_at_once(self._world, request, BY_NAMES)
        self.look()  # and its end may be a millisecond later

    # -- what must be refused ----------------------------------------------------------------

    def _note_superseded(self) -> None:
        """Parked fetches whose session went on: their answers are looked at."""
        purgatory = self._world.broker.services.replicas.fetch_purgatory
        for operations in purgatory._watchers.values():  # noqa: SLF001
            for operation in operations:
                ctx = superseded(operation)
                if ctx is not None:
                    self._answers.superseded[ctx.connection_id, ctx.correlation_id] = None

    def _ask_what_is_refused(self) -> None:
        rng = self._rng
        sessions = [one for shard in self._cache.shards for one in shard.sessions.values()]
        if not sessions or self._world.unfinished:
            return
        session = rng.choice(sessions)
        before = _kept(session)
        version = BY_IDS if session.uses_topic_ids else BY_NAMES
        ahead, behind = session.epoch + rng.choice((1, 2, 1000)), session.epoch - 1
        for what, session_id, epoch, by, error in (
            ("an epoch ahead", session.id, ahead, version, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
            ("an epoch behind", session.id, behind, version, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
            ("no session", UNKNOWN_ID, 1, version, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
            (
                "the other family",
                session.id,
                session.epoch,
                BY_NAMES if session.uses_topic_ids else BY_IDS,
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
            ),
        ):
            if epoch <= 0:
                continue
            request = FetchRequest(session_id=session_id, session_epoch=epoch)
            answer = fetch_at_once(self._world, request, by)
            self.refused += 1
            if answer.error_code != error or answer.responses:
                self._wrong(f"{what} of {before} is answered {answer.error_code}, not {error}")
        if self._cache.get(before.id) is not session or _kept(session) != before:
            self._wrong(f"{before} changed by what was refused")


def _kept(session: FetchSession) -> Kept:
    return Kept(
        session.id,
        session.privileged,
        session.cached_size,
        session.epoch,
        session.created_ms,
        session.last_used_ms,
    )
