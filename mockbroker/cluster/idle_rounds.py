"""Rounds of a cluster's brokers in which nothing can change: skipped when time is moved far.

Brokers beside others never stand still: heartbeats, fetches of followers that bring nothing, looks
for followers that lag, looks for leaders to move back. `network.timekeeper` asks before each step
of a long advance, and `Peers` answers with this room: as long as nothing but such rounds is due,
all that a round would leave behind is when it was, so each goes on where its last round would have
left it. A round whose outcome is open is none of them, and is played like any other timer's task;
so are all of them while a fault rule names the listener between brokers.

Invariants: nothing is skipped past the first task that is no idle round, nor past the end of the
session of a broker that is not heard; the last rounds before either are played.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.cluster.links.broker_client import BrokerClient
from mockbroker.fetch.incremental import IncrementalFetchContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mockbroker.clock import Timer, TimerTask
    from mockbroker.cluster.interconnect import Interconnect
    from mockbroker.cluster.links.heartbeats import BrokerSessions
    from mockbroker.cluster.nodes import PeerIncarnation
    from mockbroker.metadata.replication_control import ReplicationControl
    from mockbroker.node.broker import Broker
    from mockbroker.replica.fetcher import ReplicaFetcher

HEARTBEATS: Final = "heartbeats"
FETCHES: Final = "follower fetches"
IN_SYNC_CHECKS: Final = "in-sync checks"
BALANCE_CHECKS: Final = "balance checks"

WORTH_MS: Final = 2000
"""Looking for idle rounds costs more than playing those of a shorter time."""
MAX_PATIENCE_MS: Final = 16_000
TRIES: Final = 8
"""Looks in a row, before the next waits longer."""
PLAYED_ROUNDS: Final = 2
"""Of the fetches: so many are left to be played before something happens."""


class IdleRound:
    """A task that comes again each `period_ms`.

    `moved(last_ms)` makes up for rounds that are not played, of which the last would have been
    then, and for `timeout`, which would end one of them if it took too long.
    """

    __slots__ = ("broker", "kind", "lasts_ms", "moved", "period_ms", "task", "timeout", "timer")

    def __init__(
        self,
        kind: str,
        timer: Timer,
        task: TimerTask,
        period_ms: int,
        moved: Callable[[int], None] | None = None,
        timeout: TimerTask | None = None,
    ) -> None:
        self.kind = kind
        self.broker: Broker | None = None
        """Whose metrics count it; None: the controller's."""
        self.lasts_ms = 0
        """How long a round goes on after its task has run, on links that are slow."""
        self.timer = timer
        self.task = task
        self.period_ms = period_ms
        self.moved = moved
        self.timeout = timeout

    def skip(self, until_ms: int) -> int:
        """Skip the rounds that are over by then; returns how many."""
        until_ms -= self.lasts_ms
        rounds = max(0, (until_ms - self.task.tick_ms) // self.period_ms + 1)
        if rounds:
            last_ms = self.task.tick_ms + (rounds - 1) * self.period_ms
            self.timer.move(self.task, last_ms + self.period_ms)
            if self.moved is not None:
                self.moved(last_ms)
        return rounds


class IdleRounds:
    """Those of one cluster. `skipped` counts by kind, since the start."""

    def __init__(
        self,
        interconnect: Interconnect,
        sessions: BrokerSessions,
        control: ReplicationControl,
        running: Mapping[int, PeerIncarnation],
    ) -> None:
        self._interconnect = interconnect
        self._sessions = sessions
        self._control = control
        self._running = running
        self.skipped = dict.fromkeys((HEARTBEATS, FETCHES, IN_SYNC_CHECKS, BALANCE_CHECKS), 0)
        self._next_try_ms = 0.0
        self._patience_ms = WORTH_MS
        self._vain_tries = 0

    def skip(self, until_ms: float) -> None:
        """Skip what is idle from now to `until_ms`, or to the first thing that is not."""
        now_ms = self._interconnect.clock.now_ms
        if until_ms - now_ms < WORTH_MS or now_ms < self._next_try_ms:
            return
        # All nodes have the same rules.
        rules = next((node.request_faults for node in self._interconnect.nodes), None)
        if rules is not None and rules.meets_brokers:
            return
        sessions = self._sessions
        rounds, heard = self._rounds()
        idle = {each.task for each in rounds}
        idle.update(each.timeout for each in rounds if each.timeout is not None)
        if sessions.alarm is not None:
            idle.add(sessions.alarm)
        ends = [until_ms]
        timers = [each.timer for each in self._running.values()]
        for timer in (self._interconnect.timer, *timers):
            first = timer.next_deadline(beside=idle)
            if first is not None:
                ends.append(first)
        session_ends = sessions.first_end_ms(heard)
        if session_ends is not None:
            ends.append(session_ends)
        end_ms = min(ends)
        fetching = [each.period_ms for each in rounds if each.kind is FETCHES]
        last_ms = int(end_ms) - 1 - PLAYED_ROUNDS * max(fetching, default=0)
        if last_ms - now_ms < WORTH_MS:
            self._vain_tries += 1
            if not self._vain_tries % TRIES:  # else a message may have been on its way just now
                self._next_try_ms = now_ms + self._patience_ms
                self._patience_ms = min(2 * self._patience_ms, MAX_PATIENCE_MS)
            return
        self._next_try_ms = end_ms
        self._patience_ms = WORTH_MS
        self._vain_tries = 0
        # Of what is due in one millisecond that runs first which was scheduled first.
        for each in sorted(rounds, key=lambda each: -each.period_ms):
            rounds_skipped = each.skip(last_ms)
            self.skipped[each.kind] += rounds_skipped
            if each.broker is not None:
                each.broker.rounds_skipped += rounds_skipped
        sessions.rearm()

    def _rounds(self) -> tuple[list[IdleRound], set[int]]:
        """All that are idle now, and whose heartbeats arrive."""
        rounds: list[IdleRound] = []
        heard: set[int] = set()
        balance = self._control.idle_balance()
        if balance is not None:
            rounds.append(IdleRound(BALANCE_CHECKS, self._interconnect.timer, *balance))
        for node_id, incarnation in sorted(self._running.items()):
            for own in self._own_rounds(node_id, incarnation, heard):
                own.broker = incarnation.broker
                rounds.append(own)
            for fetcher in incarnation.fetchers.idle():
                fetch = self._idle_fetch(node_id, fetcher)
                if fetch is not None:
                    rounds.append(fetch)
        return rounds, heard

    def _own_rounds(
        self, node_id: int, incarnation: PeerIncarnation, heard: set[int]
    ) -> Iterator[IdleRound]:
        """Heartbeats, which arrive or are lost, and the looks for followers that lag."""
        sessions, timer = self._sessions, incarnation.timer
        beat = incarnation.heartbeat
        period_ms = beat.interval_ms
        if beat.task is not None and period_ms > 0 and period_ms < sessions.timeout_ms:
            if beat.is_lost:
                yield IdleRound(HEARTBEATS, timer, beat.task, period_ms)
            elif beat.delay_ms is not None and sessions.knows(node_id):
                heard.add(node_id)
                delay_ms = beat.delay_ms
                arrives = IdleRound(
                    HEARTBEATS,
                    timer,
                    beat.task,
                    period_ms,
                    lambda last_ms: sessions.move(node_id, last_ms + delay_ms),
                )
                arrives.lasts_ms = delay_ms
                yield arrives
        proposals = incarnation.proposals
        if proposals.is_idle:
            assert proposals.task is not None
            yield IdleRound(IN_SYNC_CHECKS, timer, proposals.task, proposals.interval_ms)

    def _idle_fetch(self, node_id: int, fetcher: ReplicaFetcher) -> IdleRound | None:
        """The fetch that a leader has parked, if its answer and those of the next are empty."""
        client = fetcher.channel
        assert isinstance(client, BrokerClient)
        leader = self._running.get(client.target)
        links = self._interconnect.links
        there_ms = links.get(node_id, client.target).steady_delay_ms
        back_ms = links.get(client.target, node_id).steady_delay_ms
        if (
            leader is None
            or client.connection_id is None
            or not client.waits_for_one
            or there_ms is None
            or back_ms is None
        ):
            return None
        connection = leader.broker.connection(client.connection_id)
        ctx = None if connection is None else connection.in_work
        context = None if ctx is None else ctx.fetch
        if ctx is None or not isinstance(context, IncrementalFetchContext):
            return None
        services = leader.broker.services
        session, purgatory = context.quiet_session(), services.replicas.fetch_purgatory
        if session is None or services.replicas.may_rejoin(node_id):
            return None
        waiting = purgatory.waiting(session)
        if len(waiting) != 1 or waiting[0].timer_task is None:
            return None
        operation, fetch = waiting[0], ctx
        assert operation.timer_task is not None

        task, lasts_ms = operation.timer_task, back_ms + there_ms
        period_ms = fetcher.max_wait_ms + lasts_ms

        def moved(last_ms: int) -> None:
            operation.deadline_ms = last_ms + period_ms
            fetch.arrived_ms = last_ms + lasts_ms
            services.fetch.cache.touch(session, last_ms + lasts_ms)
            client.move(last_ms + back_ms)

        found = IdleRound(FETCHES, leader.timer, task, period_ms, moved, client.alarm)
        found.broker = leader.broker
        found.lasts_ms = lasts_ms
        return found
