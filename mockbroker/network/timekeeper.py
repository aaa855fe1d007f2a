"""What time it is for the core: the machine's, or stopped, faster, or moved by hand.

`launch` makes one for a cluster; its server reads `now_ms` once a step and asks `delay_seconds` for
its one timer. `api`, `admin` and `app` call the verbs, inside a step of the loop that the servers
run in. Two times are kept apart, as on a machine:

    now_ms     only goes forward; every time-out, session and transaction deadline runs on it
    wall_ms    what record timestamps have; `jump` moves it alone, both ways, as an operator does

Invariants: `now_ms` never goes back; while the clock is frozen no timer of a server is armed, and
only `advance` makes time pass; `advance` runs all that is due on the way, in order.
"""

from __future__ import annotations

from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING, Final

from mockbroker.journal import ClockChanged
from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.cluster.cluster import Cluster

MAX_RATE: Final = 1_000_000.0
MAX_MOVE_MS: Final = 1e14
"""About 3,000 years: record timestamps stay in their 64 bits."""
SLICE_SECONDS: Final = 0.01
"""A long `advancing` gives way to clients after so much work."""
_TURNS_WITHOUT_PROGRESS: Final = 1000


class TimeMark(NamedTuple):
    """The time at one moment, for `TimeKeeper.back_to`."""

    frozen: bool
    rate: float
    wall_ms: int
    machine_seconds: float
    moves: int


class TimeKeeper:
    """The time of one cluster. A frozen one has `scale` 0: reading it costs the same."""

    def __init__(self, cluster: Cluster, *, frozen: bool = False) -> None:
        self._cluster = cluster
        self._rate = 1.0
        self._moves = 0
        self._retime: list[Callable[[], None]] = []
        self.anchor_ms = cluster.clock.now_ms
        self.anchor_seconds = self.read_seconds = monotonic()
        """`read_seconds`: when `now_ms` was asked last, which each step does as it begins."""
        self.scale = 0.0 if frozen else 1000.0

    # -- what a server asks ----------------------------------------------------------------

    def now_ms(self) -> float:
        """The core's time, in milliseconds since it was made."""
        self.read_seconds = seconds = monotonic()
        return self.anchor_ms + (seconds - self.anchor_seconds) * self.scale

    def delay_seconds(self, deadline_ms: float) -> float | None:
        """How long a timer must run until `deadline_ms`; None: until someone moves the time.

        What is due already is due, also where time stands still.
        """
        if not self.scale:
            return None if deadline_ms > self.now_ms() else 0.0
        return max(0.0, (deadline_ms - self.now_ms()) / self.scale)

    def on_change(self, retime: Callable[[], None]) -> None:
        """Call `retime` whenever a timer that is armed may be wrong."""
        self._retime.append(retime)

    # -- verbs -----------------------------------------------------------------------------

    @property
    def frozen(self) -> bool:
        """Whether time stands still."""
        return not self.scale

    @property
    def rate(self) -> float:
        """Seconds that pass here in one of the machine, unless frozen."""
        return self._rate

    @property
    def wall_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._cluster.clock.epoch_ms + int(self.now_ms())

    def freeze(self) -> None:
        """Stop the time; nothing happens when it stands already."""
        if not self.frozen:
            self._set(0.0)
            self._tell("freeze", None)

    def unfreeze(self) -> None:
        """Let time pass on, from where it stands."""
        if self.frozen:
            self._set(self._rate * 1000.0)
            self._tell("unfreeze", None)

    def set_rate(self, rate: float) -> None:
        """Let time pass `rate` times as fast; ValueError unless above 0 and at most MAX_RATE."""
        if not 0 < rate <= MAX_RATE:
            raise ValueError(f"rate: {rate} is not above 0 and at most {MAX_RATE:g}")
        self._rate = float(rate)
        if not self.frozen:
            self._set(self._rate * 1000.0)
        self._tell("rate", None)

    @property
    def pace(self) -> tuple[bool, float]:
        """Whether it is frozen, and the rate, for `set_pace`."""
        return self.frozen, self._rate

    def set_pace(self, pace: tuple[bool, float]) -> None:
        """Go on at a pace that was noted; nothing happens when it is this one."""
        frozen, rate = pace
        if rate != self._rate:
            self.set_rate(rate)
        if frozen:
            self.freeze()
        else:
            self.unfreeze()

    def mark(self) -> TimeMark:
        """The wall time, and how it passes."""
        return TimeMark(self.frozen, self._rate, self.wall_ms, monotonic(), self._moves)

    def back_to(self, mark: TimeMark) -> None:
        """Let the wall time be, and pass, as if nobody had touched it since the mark.

        `now_ms` goes on from where it is: what was due in the time that was advanced has run.
        """
        if self._moves == mark.moves:
            return
        passed_ms = 0.0
        if not mark.frozen:
            passed_ms = (monotonic() - mark.machine_seconds) * mark.rate * 1000.0
        self.set_pace((mark.frozen, mark.rate))
        by_ms = int(mark.wall_ms + passed_ms) - self.wall_ms
        if by_ms:  # however far several jumps have led
            self._move_wall(by_ms)

    def jump(self, by_ms: float) -> None:
        """Move the wall time alone, forward or back: no deadline comes nearer."""
        if not isfinite(by_ms) or abs(by_ms) > MAX_MOVE_MS:
            raise ValueError(f"jump: {by_ms} ms is out of range")
        self._move_wall(by_ms)

    def _move_wall(self, by_ms: float) -> None:
        self._cluster.move_wall(int(by_ms))
        self._tell("jump", by_ms)

    def advance(self, by_ms: float, *, wall: bool = True) -> None:
        """Let `by_ms` pass at once: all that is due on the way runs, each at its own time.

        With `wall` False the wall time stays where it was: only deadlines come nearer. ValueError
        for a negative or endless time.
        """
        for _ in self.advancing(by_ms, wall=wall):
            pass

    def advancing(self, by_ms: float, *, wall: bool = True) -> Iterator[None]:
        """As `advance`, in slices of SLICE_SECONDS: each `next` is to be a step of its own.

        Between them it is as late as the last slice has brought it, and clients are served.
        """
        if not 0 <= by_ms <= MAX_MOVE_MS:
            raise ValueError(f"advance: {by_ms} ms is not from 0 to {MAX_MOVE_MS:g}")
        return self._advancing(by_ms, wall=wall)

    def _advancing(self, by_ms: float, *, wall: bool) -> Iterator[None]:
        skipped_before = self._cluster.rounds_skipped
        yield from self._run_until(self.now_ms() + by_ms)
        if not wall:
            self._cluster.move_wall(-int(by_ms))
        self._set(self.scale)
        self._tell("advance", by_ms, self._cluster.rounds_skipped - skipped_before)

    def _run_until(self, end_ms: float) -> Iterator[None]:
        now_ms, turns = self.now_ms(), 0
        slice_ends = monotonic() + SLICE_SECONDS
        while turns < _TURNS_WITHOUT_PROGRESS:
            if monotonic() >= slice_ends:
                yield
                now_ms = max(now_ms, self.now_ms())
                slice_ends = monotonic() + SLICE_SECONDS
            self._cluster.skip_idle(end_ms)
            deadline_ms = self._cluster.next_deadline()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            turns = 0 if deadline_ms > now_ms else turns + 1
            now_ms = max(now_ms, deadline_ms)
            self._tick(now_ms)
        self._tick(max(now_ms, end_ms))

    def _tick(self, now_ms: float) -> None:
        self.anchor_ms = now_ms
        self.anchor_seconds = monotonic()
        self._cluster.tick(now_ms)

    def _set(self, scale: float) -> None:
        self.anchor_ms = self.now_ms()
        self.anchor_seconds = monotonic()
        self.scale = scale
        for retime in self._retime:
            retime()

    def _tell(self, action: str, by_ms: float | None, skipped_rounds: int = 0) -> None:
        self._moves += 1
        self._cluster.set_time(max(self._cluster.clock.now_ms, self.now_ms()))
        now_ms = self._cluster.clock.now_ms
        event = ClockChanged(action, by_ms, self._rate, self.frozen, now_ms, skipped_rounds)
        self._cluster.journal.record(event)
