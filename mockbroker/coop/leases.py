"""What of one partition is handed out to the members of one group that fetch cooperatively.

Each offset below the marker is done, leased to a member, or free to be handed out again; from the
marker on nothing was handed out yet. A lease ends when its time is over, when its member gives it
back or leaves, and with its generation: then what it holds is free, and goes out before anything
new, lowest offsets first. How often an offset was handed out is kept as long as it is not done.

Only memory: after a restart the marker stands at the stable offset, and what is committed above it
is skipped. Invariants: leases and free pieces are sorted and overlap nowhere; all lie below the
marker.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.coop.interval_set import IntervalSet


class Holder(NamedTuple):
    """A member in a generation, or at an epoch."""

    member: str
    generation: int


class Piece(NamedTuple):
    """Offsets, ends included, and how often they were handed out."""

    first: int
    last: int
    deliveries: int

    @property
    def offsets(self) -> int:
        """How many they are."""
        return self.last - self.first + 1


class Lease(NamedTuple):
    """A piece that somebody has until the broker's clock is at `deadline_ms`."""

    first: int
    last: int
    deliveries: int
    holder: Holder
    deadline_ms: float

    @property
    def piece(self) -> Piece:
        """What it is of."""
        return Piece(self.first, self.last, self.deliveries)


class Span(NamedTuple):
    """A batch with records: what may be handed out, whole."""

    first: int
    last: int
    size_bytes: int


class Bounds(NamedTuple):
    """Of one acquisition: offsets and bytes; offsets that may be leased in all.

    What was handed out `max_deliveries` times is nobody's any more; 0: there is no limit.
    """

    max_records: int
    max_bytes: int
    max_locks: int
    max_deliveries: int = 0

    def is_dead(self, piece: Piece) -> bool:
        """Whether a piece was handed out too often."""
        return 0 < self.max_deliveries <= piece.deliveries


PartT = TypeVar("PartT", Piece, Lease)


class Leases:
    """See the module; `expired` and `redelivered` count pieces since it was made."""

    __slots__ = ("_free", "_leased", "expired", "marker", "redelivered")

    def __init__(self, stable: int) -> None:
        self.marker = stable
        self._leased: list[Lease] = []
        self._free: list[Piece] = []
        self.expired = 0
        self.redelivered = 0

    @property
    def leased(self) -> tuple[Lease, ...]:
        """What is handed out, in order."""
        return tuple(self._leased)

    @property
    def free(self) -> tuple[Piece, ...]:
        """What is to be handed out again, in order."""
        return tuple(self._free)

    @property
    def deadline_ms(self) -> float | None:
        """When the next lease ends."""
        return min((lease.deadline_ms for lease in self._leased), default=None)

    # -- handing out -----------------------------------------------------------------------

    def expire(self, now_ms: float) -> int:
        """End the leases whose time is over; how many."""
        return self._end(lambda lease: lease.deadline_ms <= now_ms, counted=True)

    def end_of_others(self, is_current: Callable[[Holder], bool]) -> int:
        """End the leases of those who are not in the group any more, or not in its generation."""
        return self._end(lambda lease: not is_current(lease.holder))

    def take_dead(self, max_deliveries: int) -> list[Piece]:
        """Take out what was handed out that often and not done: it is given up."""
        dead = [piece for piece in self._free if piece.deliveries >= max_deliveries]
        self._free = [piece for piece in self._free if piece.deliveries < max_deliveries]
        return dead

    def acquire(
        self,
        holder: Holder,
        deadline_ms: float,
        bounds: Bounds,
        spans: Callable[[int], Iterable[Span]],
        done: IntervalSet,
    ) -> list[Piece]:
        """Hand out what is free, or else what `spans` gives from the marker on; nothing is done.

        Whole pieces: the first one whatever its size, others as far as they fit.
        """
        room = bounds.max_locks - sum(lease.piece.offsets for lease in self._leased)
        if room <= 0:
            return []
        most = min(bounds.max_records, room)
        self._leave_out(done)
        taken = self._take_free(most, bounds)
        if not taken:
            taken = self._take_new(most, bounds, spans, done)
        for first, last, deliveries in taken:
            insort(self._leased, Lease(first, last, deliveries, holder, deadline_ms))
        return taken

    def has_something(
        self, bounds: Bounds, spans: Callable[[int], Iterable[Span]], done: IntervalSet
    ) -> bool:
        """Whether `acquire` would hand out anything."""
        if sum(lease.piece.offsets for lease in self._leased) >= bounds.max_locks:
            return False
        self._leave_out(done)
        if not all(map(bounds.is_dead, self._free)):
            return True
        return any(
            next(iter(done.gaps(max(span.first, self.marker), span.last)), None) is not None
            for span in spans(self.marker)
        )

    def _leave_out(self, done: IntervalSet) -> None:
        """What is free and done by now, in a transaction that nobody told of, goes to nobody."""
        if any(done.overlaps(piece.first, piece.last) for piece in self._free):
            self._free = [
                Piece(*gap, piece.deliveries)
                for piece in self._free
                for gap in done.gaps(piece.first, piece.last)
            ]

    def _take_free(self, most: int, bounds: Bounds) -> list[Piece]:
        taken: list[Piece] = []
        used = 0
        for piece in [each for each in self._free if not bounds.is_dead(each)]:
            if taken and used + piece.offsets > most:
                break
            self._free.remove(piece)
            taken.append(piece._replace(deliveries=piece.deliveries + 1))
            used += piece.offsets
        self.redelivered += len(taken)
        return taken

    def _take_new(
        self,
        most: int,
        bounds: Bounds,
        spans: Callable[[int], Iterable[Span]],
        done: IntervalSet,
    ) -> list[Piece]:
        taken: list[Piece] = []
        used = size = 0
        for span in spans(self.marker):
            first = max(span.first, self.marker)
            pieces = [Piece(gap.first, gap.last, 1) for gap in done.gaps(first, span.last)]
            offsets = sum(piece.offsets for piece in pieces)
            if taken and (used + offsets > most or size + span.size_bytes > bounds.max_bytes):
                break
            taken += pieces
            used += offsets
            if pieces:
                size += span.size_bytes
            self.marker = span.last + 1
            if used >= most:
                break
        return taken

    # -- what members say ------------------------------------------------------------------

    def refuses(self, member: str, first: int, last: int) -> bool:
        """Whether a member may not commit these: another has some, or some never were given."""
        return last >= self.marker or any(
            lease.holder.member != member for lease in _touching(self._leased, first, last)
        )

    def holds(self, member: str, first: int, last: int) -> bool:
        """Whether the member has all of these."""
        at = first
        for lease in _touching(self._leased, first, last):
            if lease.first > at or lease.holder.member != member:
                return False
            at = lease.last + 1
        return at > last

    def done(self, first: int, last: int) -> list[Piece]:
        """These are committed: nobody has them, and they are not given out again.

        What was handed out of them, or was to be.
        """
        leased = [lease.piece for lease in _cut_out(self._leased, first, last)]
        return leased + _cut_out(self._free, first, last)

    def take_back(self, piece: Piece) -> None:
        """What was taken out as given up, or as committed, could not be: it is free."""
        insort(self._free, piece)

    def release(self, first: int, last: int) -> None:
        """What of these is leased is free now."""
        for lease in _cut_out(self._leased, first, last):
            insort(self._free, lease.piece)

    def renew(self, first: int, last: int, deadline_ms: float) -> None:
        """What of these is leased is leased until then."""
        for lease in _cut_out(self._leased, first, last):
            insort(self._leased, lease._replace(deadline_ms=deadline_ms))

    def stable_at(self, stable: int) -> None:
        """All below is done, whoever did it."""
        self.done(0, stable - 1)
        self.marker = max(self.marker, stable)

    def cut(self, end: int) -> None:
        """The log was cut there: what comes behind is new."""
        last = max(self.marker, end)
        _cut_out(self._leased, end, last)
        _cut_out(self._free, end, last)
        self.marker = min(self.marker, end)

    def reset(self, stable: int) -> None:
        """Somebody set the group's position: nothing from there on was ever handed out."""
        self._leased.clear()
        self._free.clear()
        self.marker = stable

    def _end(self, ends: Callable[[Lease], bool], *, counted: bool = False) -> int:
        ended = [lease for lease in self._leased if ends(lease)]
        if not ended:
            return 0
        self._leased = [lease for lease in self._leased if not ends(lease)]
        for lease in ended:
            insort(self._free, lease.piece)
        if counted:
            self.expired += len(ended)
        return len(ended)


def _touching(parts: list[PartT], first: int, last: int) -> list[PartT]:
    start = _start(parts, first)
    stop = bisect_right(parts, last, lo=start, key=lambda part: part.first)
    return parts[start:stop]


def _start(parts: list[PartT], first: int) -> int:
    """Where the first part stands that reaches `first` or lies behind it."""
    at = bisect_right(parts, first, key=lambda part: part.first)
    return at - 1 if at and parts[at - 1].last >= first else at


def _cut_out(parts: list[PartT], first: int, last: int) -> list[PartT]:
    """Take these offsets out of the parts; what was taken out. The rest of a part stays."""
    start = _start(parts, first)
    touched = _touching(parts, first, last)
    kept: list[PartT] = []
    cut: list[PartT] = []
    for part in touched:
        if part.first < first:
            kept.append(part._replace(last=first - 1))
        if part.last > last:
            kept.append(part._replace(first=last + 1))
        cut.append(part._replace(first=max(part.first, first), last=min(part.last, last)))
    parts[start : start + len(touched)] = kept
    return cut
