"""Which brokers the controller hears of: heartbeats over the links, and who is fenced.

A broker sends one each broker.heartbeat.interval.ms; one that was not heard of for
broker.session.timeout.ms is fenced, and unfenced when it is heard of again (Kafka:
BrokerLifecycleManager, BrokerHeartbeatManager).

Invariant: the alarm is set at or before the first session that may end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self._timeout_ms = timeout_ms
        self._heard_ms: dict[int, float] = {}
        self._kept_out: set[int] = set()
        self._alarm: TimerTask | None = None

    def heard(self, node_id: int) -> None:
        """A heartbeat arrived."""
        new = node_id not in self._heard_ms
        self._heard_ms[node_id] = self._clock.now_ms
        if new and node_id not in self._kept_out:
            self._control.unfence(node_id)
        if self._alarm is None:
            self._alarm = self._timer.schedule(self._clock.now_ms + self._timeout_ms, self._check)

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

    def _check(self) -> None:
        self._alarm = None
        now_ms = self._clock.now_ms
        for node_id, heard_ms in sorted(self._heard_ms.items()):
            if now_ms - heard_ms >= self._timeout_ms:
                self.end(node_id)
        if self._heard_ms:
            first_ms = min(self._heard_ms.values()) + self._timeout_ms
            self._alarm = self._timer.schedule(first_ms, self._check)


class Heartbeat:
    """A broker's side: `beat` now and after each interval, until `stop`."""

    def __init__(
        self,
        clock: Clock,
        timer: Timer,
        link: Link,
        interval_ms: float,
        heard: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._timer = timer
        self._link = link
        self._interval_ms = interval_ms
        self._heard = heard
        self._task: TimerTask | None = None
        link.on_open.append(self.beat)

    def beat(self) -> None:
        """Send one, and the next after the interval."""
        if self._task is not None:
            self._task.cancel()
        self._link.send(self._heard)
        self._task = self._timer.schedule(self._clock.now_ms + self._interval_ms, self.beat)

    def stop(self) -> None:
        """Say nothing more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._link.on_open.remove(self.beat)
