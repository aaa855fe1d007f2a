"""What becomes due in the logs of a node by time alone: deletion, compaction, silent producers.

`Partition` says when a log began something that grows old (a first append, a roll, a first
producer, another config); from then on each duty knows the earliest time at which the log can
need it. The rounds lie on Kafka's grid (log.retention.check.interval.ms, log.cleaner.backoff.ms,
producer.id.expiration.check.interval.ms), but a round in which no log can be due is not run, and a
node without such logs has no timer (Kafka: LogManager.cleanupLogs, LogCleaner's thread,
UnifiedLog's producer expire check).

A producer that writes an older timestamp than the others of its log before it is forgotten with
the oldest of them, no sooner.

Invariants: at most one timer task, armed for the earliest round in which a log may be due; a
partition that is gone is on no list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.hosted_log import HostedLog, LogHost

    # Does the duty at this wall time; returns when the log may be due again, or None.
    Work = Callable[[HostedLog[LogHost], UnifiedLog, int], int | None]

_NEVER: Final = float("inf")


class _Duty:
    """One kind of work: the logs that may need it, each with the wall time from which on."""

    __slots__ = ("due", "first_ms", "interval", "next_due", "wants", "work")

    def __init__(
        self, interval: str, first_ms: int, wants: Callable[[UnifiedLog], bool], work: Work
    ) -> None:
        self.interval = interval
        self.first_ms = first_ms
        self.wants = wants
        self.work = work
        self.due: dict[HostedLog[LogHost], float] = {}
        self.next_due = _NEVER

    def set(self, partition: HostedLog[LogHost], due_wall_ms: float) -> None:
        self.due[partition] = due_wall_ms
        self.next_due = min(self.next_due, due_wall_ms)


class LogUpkeep:
    """The duties of one node. `rounds` counts those that ran, `looks` the logs they looked at."""

    __slots__ = (
        "_clock",
        "_config",
        "_duties",
        "_task",
        "_timer",
        "_uncleanable",
        "looks",
        "rounds",
    )

    def __init__(self, clock: Clock, timer: Timer, config: BrokerConfig) -> None:
        self._clock = clock
        self._timer = timer
        self._config = config
        self._task: TimerTask | None = None
        self._duties: tuple[_Duty, ...] = ()
        self._uncleanable: set[HostedLog[LogHost]] = set()
        self.rounds = 0
        self.looks = 0

    @property
    def is_armed(self) -> bool:
        """Whether the timer holds this room's task."""
        return self._task is not None

    def look_at(self, partition: HostedLog[LogHost], log: UnifiedLog) -> None:
        """Something in this log began that grows old, or another config says how it does."""
        log.wants_upkeep = False
        if not self._duties:
            self._duties = self._make_duties()
        now_wall_ms = self._clock.wall_ms()
        for duty in self._duties:
            if duty.wants(log):
                duty.set(partition, now_wall_ms)
        self._arm()

    def forget(self, partition: HostedLog[LogHost]) -> None:
        """The partition is gone from this node."""
        for duty in self._duties:
            duty.due.pop(partition, None)
        self._uncleanable.discard(partition)

    def wall_moved(self, by_ms: int) -> None:
        """The wall time was set. What was due by then stays so: where it went back, that much
        earlier. Where it went forward more is, by the next round.
        """
        if by_ms < 0:
            for duty in self._duties:
                duty.due = {partition: due + by_ms for partition, due in duty.due.items()}
                duty.next_due += by_ms
        if self._duties:
            self._arm()

    def _make_duties(self) -> tuple[_Duty, ...]:
        first_ms = self._config.int("log.initial.task.delay.ms")
        check = "producer.id.expiration.check.interval.ms"
        return (
            _Duty("log.retention.check.interval.ms", first_ms, _is_only_deleted, self._delete),
            _Duty("log.cleaner.backoff.ms", 0, _is_compacted, self._clean),
            _Duty(check, self._config.int(check), _has_producers, self._expire),
        )

    # -- time ----------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have the timer call at the earliest round that may have work."""
        deadline = min(map(self._round_of, self._duties))
        task = self._task
        if task is not None:
            if task.pending and task.tick_ms <= deadline:
                return
            task.cancel()
        self._task = None if deadline == _NEVER else self._timer.schedule(deadline, self._run)

    def _round_of(self, duty: _Duty) -> float:
        """The first round of this duty after now in which something may be due."""
        if duty.next_due == _NEVER:
            return _NEVER
        interval_ms = max(1, self._config.int(duty.interval))
        due_ms = max(duty.next_due - self._clock.epoch_ms, int(self._clock.now_ms) + 1)
        rounds = max(0, -int((duty.first_ms - due_ms) // interval_ms))
        return duty.first_ms + rounds * interval_ms

    def _run(self) -> None:
        """A round: each duty that has logs which may be due, and whose turn it is."""
        self._task = None
        now_ms = int(self._clock.now_ms)
        now_wall_ms = self._clock.wall_ms()
        for duty in self._duties:
            interval_ms = max(1, self._config.int(duty.interval))
            since_ms = now_ms - duty.first_ms
            round_wall_ms = now_wall_ms - since_ms % interval_ms
            if since_ms < 0 or duty.next_due > round_wall_ms:
                continue
            self.rounds += 1
            self._work(duty, now_wall_ms)
        self._arm()

    def _work(self, duty: _Duty, now_wall_ms: int) -> None:
        due = [partition for partition, time in duty.due.items() if time <= now_wall_ms]
        for partition in due:
            again = None
            if partition.log is not None and duty.wants(partition.log):
                again = duty.work(partition, partition.log_to_write(), now_wall_ms)
            self.looks += 1
            if again is None:
                duty.due.pop(partition, None)
            else:
                # What is due and cannot be done yet is looked at in the next round.
                duty.due[partition] = max(again, now_wall_ms + 1)
        duty.next_due = min(duty.due.values(), default=_NEVER)

    # -- the duties ----------------------------------------------------------------------------

    def _delete(
        self, partition: HostedLog[LogHost], log: UnifiedLog, now_wall_ms: int
    ) -> int | None:
        from mockbroker.log.retention import delete_old_segments, next_deletion_ms

        start, size = log.log_start_offset, log.size_bytes
        delete_old_segments(log, now_wall_ms)
        if log.log_start_offset != start:
            partition.mark_watchers()
            partition.tell_given_back(size)
        return next_deletion_ms(log, now_wall_ms)

    def _clean(
        self, partition: HostedLog[LogHost], log: UnifiedLog, now_wall_ms: int
    ) -> int | None:
        from mockbroker.log.cleanable import cleanable, next_cleaning_ms
        from mockbroker.log.cleaner import clean

        times = [self._delete(partition, log, now_wall_ms)]
        if self._config.bool("log.cleaner.enable") and partition not in self._uncleanable:
            found = cleanable(log, now_wall_ms)
            if found.is_due:
                size = log.size_bytes
                try:
                    clean(log, found.first_dirty_offset, found.end_offset, now_wall_ms)
                except ProtocolError:
                    # As Kafka: a log that cannot be read is not cleaned any more.
                    self._uncleanable.add(partition)
                else:
                    partition.tell_given_back(size)
            times.append(next_cleaning_ms(log, now_wall_ms))
        return min((time for time in times if time is not None), default=None)

    def _expire(
        self, _partition: HostedLog[LogHost], log: UnifiedLog, now_wall_ms: int
    ) -> int | None:
        return log.expire_producers(now_wall_ms, self._config.int("producer.id.expiration.ms"))


def _is_only_deleted(log: UnifiedLog) -> bool:
    """Logs that are compacted too are the cleaner's (Kafka: LogManager.cleanupLogs)."""
    return log.config.delete and not log.config.compact


def _is_compacted(log: UnifiedLog) -> bool:
    return log.config.compact


def _has_producers(log: UnifiedLog) -> bool:
    return log.producers is not None
