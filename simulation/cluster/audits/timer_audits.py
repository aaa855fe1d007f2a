"""The timer of a broker, looked through: time-outs of what is done do not go on.

- A parked operation that completed, and a coordinator's write that is done, have no time-out left;
  nor has anything of a classic group that is gone.
- Of operations that completed, no more entries lie about than the purge interval allows.
- A log that grows old is looked at in the first round after that (LogManager.cleanupLogs), also
  when the wall clock was moved.
- An action runs when its millisecond has come, neither before nor after: `Probes` has some.
"""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.deferred_writes import DeferredWrite
from mockbroker.coordinator.group.classic_group import ClassicGroup
from mockbroker.coordinator.group.shard import GroupShard
from mockbroker.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.node.broker import Broker

MOST_MS = 40.0
NEVER = float("inf")
CLEANER = "log.cleaner.backoff.ms"


def wrong_timers(broker: Broker) -> Iterator[str]:
    """Time-outs that nobody waits for, and entries of operations that were not swept."""
    services = broker.services
    if services.replicas.has_ready or broker.requests.unfinished:
        return
    groups = services.groups
    shards = groups.service.runtime.shards() if groups.in_use else []
    for bucket in services.timer._buckets.values():  # noqa: SLF001 -- for the audit alone
        for task in bucket:
            action = task._action  # noqa: SLF001
            left = "" if action is None else _left_behind(action, shards)
            if left:
                yield f"a time-out at {task.tick_ms} is of {left}"
    yield from _late_rounds(broker)
    replicas = services.replicas
    for purgatory in (replicas.fetch_purgatory, replicas.produce_purgatory):
        watched = {each: None for of in purgatory._watchers.values() for each in of}  # noqa: SLF001
        waiting = sum(each.watch_entries for each in watched if not each.completed)
        dead = purgatory.purgatory_size - waiting
        if dead > purgatory.purge_interval:
            yield f"{dead} entries are of operations that completed"


def _late_rounds(broker: Broker) -> Iterator[str]:
    """Rounds over logs for which nothing wakes the broker; the cleaner's may be changed by then."""
    clock, replicas = broker.services.clock, broker.services.replicas
    task = replicas.upkeep._task  # noqa: SLF001 -- for the audit alone
    for duty in replicas.upkeep._duties:  # noqa: SLF001
        if duty.next_due == NEVER or duty.interval == CLEANER:
            continue
        interval_ms = replicas.config.int(duty.interval)
        due_ms = max(duty.next_due - clock.epoch_ms, int(clock.now_ms) + 1)
        round_ms = (
            duty.first_ms + max(0, ceil((due_ms - duty.first_ms) / interval_ms)) * interval_ms
        )
        armed_ms = None if task is None else task.tick_ms
        if armed_ms is None or armed_ms > round_ms:
            yield f"logs are due at {due_ms}, by {duty.interval} at {round_ms}: {armed_ms}"


def _left_behind(action: Callable[[], None], shards: list[GroupShard]) -> str:
    """What is done, or gone, whose time-out this is; empty: nothing is.

    `shards`: those that the broker coordinates by now; what it gave away is gone.
    """
    if isinstance(action, partial):
        operation = action.args[0] if action.args else None
        done = isinstance(operation, DelayedOperation) and operation.completed
        return f"{type(operation).__name__}, which has completed" if done else ""
    write = getattr(action, "__self__", None)
    if isinstance(write, DeferredWrite):
        done = write._done is None  # noqa: SLF001
        return f"a write up to {write.end_offset}, which is done" if done else ""
    cells = held_by(action)
    group = next((one for one in cells if isinstance(one, ClassicGroup)), None)
    shard = next((one for one in cells if isinstance(one, GroupShard)), None)
    if group is None or shard is None:
        return ""
    is_there = shard in shards and shard.groups.get(group.group_id) is group
    return "" if is_there else f"group {group.group_id}, which is gone"


def held_by(action: object) -> list[object]:
    """What a function that is due later has in its closure."""
    return [cell.cell_contents for cell in getattr(action, "__closure__", None) or ()]


class _Probe(NamedTuple):
    """An action on a broker's timer: when it was due, and where it writes when it ran."""

    due_ms: float
    ran_ms: list[float]


class Probes:
    """Puts an action on each broker's timer at a time, and looks when it ran."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._by_broker: dict[Broker, _Probe] = {}

    def look(self, broker: Broker, slack_ms: float) -> Iterator[str]:
        """What is wrong with the last one; another one is put there."""
        clock: Clock = broker.services.clock
        before = self._by_broker.get(broker)
        if before is not None and not before.ran_ms:
            if clock.now_ms > before.due_ms + 1 + slack_ms:
                yield f"an action that was due at {before.due_ms:.3f} has not run"
            return
        if before is not None and before.ran_ms[0] < before.due_ms:
            yield f"an action ran at {before.ran_ms[0]:.3f}, due at {before.due_ms:.3f}"
        due_ms, ran_ms = clock.now_ms + self._rng.random() * MOST_MS, list[float]()
        broker.services.timer.schedule(due_ms, lambda: ran_ms.append(clock.now_ms))
        self._by_broker[broker] = _Probe(due_ms, ran_ms)
