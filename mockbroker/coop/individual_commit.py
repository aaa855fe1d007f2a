"""What a commit of single offsets does to a group's state in a partition.

The outcome depends on the set of offsets alone that were committed, not on how commits divided
them. `stable` is the first offset that is not done: it passes over ranges that it reaches, and over
holes, offsets that no consumer is given (`deliverable`). Ranges between which there are only holes
become one. So a commit touches the neighbours of what it brings and no other range.

    stable 43 {45-47, 50-50}, commit 48-49  ->  stable 43 {45-50}
    stable 43 {45-47, 50-50}, commit 43-44  ->  stable 48 {50-50}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.errors import Refusal
from mockbroker.coop.ic_shard import CommittedRanges
from mockbroker.coop.interval_set import IntervalSet, OffsetRange
from mockbroker.coop.numbers import DraftError
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.coop.deliverable import Deliverable

NOTHING_COMMITTED = -1
MALFORMED = Refusal(ErrorCode.INVALID_REQUEST)
NOT_YET = Refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
UNSTABLE = Refusal(ErrorCode.UNSTABLE_OFFSET_COMMIT)
TOO_OLD = Refusal(ErrorCode.INVALID_COMMIT_OFFSET_SIZE, DraftError.INDIVIDUAL_COMMIT_TOO_OLD)
TOO_MANY = Refusal(ErrorCode.REBALANCE_IN_PROGRESS, DraftError.MAX_INDIVIDUAL_COMMIT_REACHED)


class Outcome(NamedTuple):
    """`stable` and the number of ranges afterwards; ranges whose records are written.

    `gone` are in others of `put`, or in what is there; ranges below `stable` are not among them,
    because they may go once the stable offset itself is safe.
    """

    stable: int
    held: int
    gone: Sequence[OffsetRange] = ()
    put: Sequence[OffsetRange] = ()
    refusal: Refusal | None = None


class Standing(NamedTuple):
    """Where a group stands in a partition: its commit, or -1; its ranges; the partition's log."""

    committed: int
    part: CommittedRanges
    log: Deliverable

    @property
    def is_new(self) -> bool:
        """Whether nothing is committed: what ranges the log has are left over from before."""
        return self.committed < 0

    def stable(self) -> int:
        """The first offset that is not done; -1 if nothing is committed."""
        if self.is_new:
            return NOTHING_COMMITTED
        return _settle(self.committed, self.log, self._holding)

    def _holding(self, offset: int) -> int:
        """Behind the range that holds the offset; the offset itself if none does."""
        end = offset
        found = self.part.keys.before(offset)
        if found is not None and found.last >= offset:
            end = found.last + 1
        for first, last in self.part.stray:
            if first <= offset <= last:
                end = max(end, last + 1)
        return end

    def below(self, stable: int) -> list[OffsetRange]:
        """Ranges that count no more."""
        stray = [each for each in self.part.stray if each.last < stable]
        return sorted([*self.part.keys.within(0, stable - 1), *stray])

    def all_ranges(self) -> list[OffsetRange]:
        """Every range that the log has, those of open transactions too."""
        return sorted([*self.part.keys, *self.part.stray, *self.part.all_pending()])


def _settle(stable: int, log: Deliverable, behind: Callable[[int], int]) -> int:
    """Pass over holes, and over what is committed behind them."""
    stable = max(stable, log.log_start)
    while True:
        reached = log.next(stable)
        stable = behind(reached)
        if stable == reached:
            return stable


def commit(
    standing: Standing, asked: Sequence[tuple[int, int]], initial: int, room: int
) -> Outcome:
    """Commit the ranges; `initial` is where a new group begins, or -1: at the log's start.

    `room` is how many more ranges the group may have. What is refused changes nothing. Without
    ranges it agrees on a beginning, or tells how things stand.
    """
    is_new = standing.is_new
    left_over = standing.all_ranges() if is_new else []
    standing = begun(standing, initial)
    log, part = standing.log, standing.part
    before = standing.stable()
    refusal = _refusal(part, before, asked, log)
    if refusal is not None:
        held = len(part.keys)
        return Outcome(NOTHING_COMMITTED if is_new else before, held, refusal=refusal)
    around = _neighbourhood(part, asked, log)

    def behind(offset: int) -> int:
        found = around.before(offset)
        if found is not None and found.last >= offset:
            return found.last + 1
        return standing._holding(offset)  # noqa: SLF001 -- of the same state

    stable = _settle(before, log, behind)
    gone: list[OffsetRange] = list(left_over)
    put: list[OffsetRange] = []
    for each in around:
        if each.last < stable:
            continue
        taken = [one for one in part.keys.within(*each) if one != each]
        strays = [one for one in part.stray if one.first <= each.last and one.last >= each.first]
        gone += sorted(taken + strays)
        if taken or part.keys.before(each.first) != each:
            put.append(each)
    passed = len(standing.below(stable))
    growth = len(put) - (len(gone) - len(left_over)) - passed
    if growth > 0 and growth > room:
        return Outcome(before, len(part.keys), refusal=TOO_MANY)
    return Outcome(stable, len(part.keys) + len(part.stray) + growth, gone, put)


def begun(standing: Standing, initial: int) -> Standing:
    """The same, of a group that begins at `initial`, or at the log's start, if it is new."""
    if not standing.is_new:
        return standing
    start = initial if initial >= 0 else standing.log.log_start
    return Standing(start, CommittedRanges(), standing.log)


def refusal_of(standing: Standing, asked: Sequence[tuple[int, int]]) -> Refusal | None:
    """Why ranges cannot be committed, but for how many they are."""
    return _refusal(standing.part, standing.stable(), asked, standing.log)


def refusal_beyond(asked: Sequence[tuple[int, int]], log: Deliverable) -> Refusal | None:
    """Why ranges cannot be committed that are not of the log, as far as it is committed."""
    high_watermark = log.high_watermark
    if all(0 <= first <= last < high_watermark for first, last in asked):
        return None
    known = max(high_watermark, log.led_from)
    return NOT_YET if all(0 <= first <= last < known for first, last in asked) else MALFORMED


def _refusal(
    part: CommittedRanges,
    stable: int,
    asked: Sequence[tuple[int, int]],
    log: Deliverable,
) -> Refusal | None:
    beyond = refusal_beyond(asked, log)
    if beyond is not None:
        return beyond
    if any(first < stable for first, _ in asked):
        return TOO_OLD
    if part.pending and any(part.is_pending(first, last) for first, last in asked):
        return UNSTABLE
    return None


def _neighbourhood(
    part: CommittedRanges, asked: Sequence[tuple[int, int]], log: Deliverable
) -> IntervalSet:
    """What is asked for and what is next to it, as one range where only holes are between."""
    around = IntervalSet()
    for each in part.stray:
        around.add(*each)
    for first, last in asked:
        for near in (part.keys.before(first - 1), part.keys.after(last)):
            if near is not None:
                around.add(*near)
        around.add(first, last)
        for near in part.keys.within(first, last):
            around.add(*near)
    merged = IntervalSet()
    open_range: OffsetRange | None = None
    for each in around:
        if open_range is not None and log.next(open_range.last + 1) >= each.first:
            open_range = OffsetRange(open_range.first, each.last)
            continue
        if open_range is not None:
            merged.insert(*open_range)
        open_range = each
    if open_range is not None:
        merged.insert(*open_range)
    return merged
