"""Which brokers the controller hears of: heartbeats over the links, and who is fenced.

A broker sends one each broker.heartbeat.interval.ms; one that was not heard of for
broker.session.timeout.ms is fenced, and unfenced when it is heard of again (Kafka:
BrokerLifecycleManager, BrokerHeartbeatManager).

Invariant: the alarm is set at or before the first session that may end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.cluster.links.link import Link
    from mockbroker.metadata.replication_control import ReplicationControl


class BrokerSessions:
    """The controller's side."""

    def __init__(
        self, clock: Clock, timer: Timer, control: ReplicationControl, timeout_ms: float
    ) -> None:
        self._clock = clock
        self._timer = timer
        self._control = control
        self.timeout_ms = timeout_ms
        self._heard_ms: dict[int, float] = {}
        self._kept_out: set[int] = set()
        self.alarm: TimerTask | None = None

    def heard(self, node_id: int) -> None:
        """A heartbeat arrived."""
        new = node_id not in self._heard_ms
        self._heard_ms[node_id] = self._clock.now_ms
        if new and node_id not in self._kept_out:
            self._control.unfence(node_id)
        if self.alarm is None:
            self.alarm = self._timer.schedule(self._clock.now_ms + self.timeout_ms, self._check)

    def begin(self, node_id: int) -> None:
        """The broker, which runs, has registered anew."""
        self._heard_ms.pop(node_id, None)
        self.heard(node_id)

    def end(self, node_id: int) -> None:
        """The broker is known to be gone: fence it now."""
        self._heard_ms.pop(node_id, None)
        self._control.fence(node_id)

    @property
    def kept_out(self) -> frozenset[int]:
        """The brokers that are fenced whatever they say."""
        return frozenset(self._kept_out)

    def keep_out(self, node_id: int) -> None:
        """Fence the broker, and leave it so whatever it says, until `let_in`."""
        self._kept_out.add(node_id)
        self.end(node_id)

    def let_in(self, node_id: int) -> None:
        """Its next heartbeat unfences it. One that was not kept out goes on with its session."""
        if node_id in self._kept_out:
            self._kept_out.discard(node_id)
            self._heard_ms.pop(node_id, None)

    def knows(self, node_id: int) -> bool:
        """Whether the broker's session is open."""
        return node_id in self._heard_ms

    def first_end_ms(self, heard: Collection[int]) -> float | None:
        """When the first session ends if only these brokers are heard from now on; None: none."""
        silent = [time for node_id, time in self._heard_ms.items() if node_id not in heard]
        return min(silent) + self.timeout_ms if silent else None

    def move(self, node_id: int, heard_ms: float) -> None:
        """Beats were skipped, of which the last arrived then: `rearm` when all are told."""
        self._heard_ms[node_id] = heard_ms

    def rearm(self) -> None:
        """Sessions were moved: the first that may end is another."""
        if self.alarm is not None:
            self.alarm.cancel()
            self._arm()

    def _arm(self) -> None:
        self.alarm = None
        if self._heard_ms:
            first_ms = min(self._heard_ms.values()) + self.timeout_ms
            self.alarm = self._timer.schedule(first_ms, self._check)

    def _check(self) -> None:
        now_ms = self._clock.now_ms
        for node_id, heard_ms in sorted(self._heard_ms.items()):
            if now_ms - heard_ms >= self.timeout_ms:
                self.end(node_id)
        self._arm()


class Heartbeat:
    """A broker's side: `beat` now and after each interval, until `stop`."""

    def __init__(
        self,
        clock: Clock,
        timer: Timer,
        link: Link,
        interval_ms: int,
        heard: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._timer = timer
        self._link = link
        self.interval_ms = interval_ms
        self._heard = heard
        self.task: TimerTask | None = None
        link.on_open.append(self.beat)

    def beat(self) -> None:
        """Send one, and the next after the interval."""
        if self.task is not None:
            self.task.cancel()
        self._link.send(self._heard)
        self.task = self._timer.schedule(self._clock.now_ms + self.interval_ms, self.beat)

    @property
    def is_lost(self) -> bool:
        """Whether a beat changes nothing, for it does not arrive, or behind one that waits."""
        link = self._link
        return link.cut or (link.held and link.last_waiting is self._heard)

    @property
    def delay_ms(self) -> int | None:
        """How long each beat takes; None: that may change."""
        return self._link.steady_delay_ms

    def stop(self) -> None:
        """Say nothing more."""
        if self.task is not None:
            self.task.cancel()
            self.task = None
        self._link.on_open.remove(self.beat)
