"""What commits of single offsets add up to, whatever their order and division."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coop.deliverable import Deliverable
from mockbroker.coop.ic_shard import CommittedRanges
from mockbroker.coop.individual_commit import MALFORMED, TOO_MANY, TOO_OLD, Standing, commit
from mockbroker.coop.interval_set import OffsetRange
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import build_batch, control_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.keyed_log import LOG_END, log_k

ROOM = 1 << 30


def log_with_holes() -> UnifiedLog:
    """Records at all offsets below 40 but for every fifth, and 20 to 24."""
    log = UnifiedLog()
    kept = [at for at in range(40) if at % 5 != 4 and not 20 <= at < 25]
    batches = [build_batch([Record(at, 0, b"k", b"v") for at in kept])]
    batches.append(control_batch(7, 0, True, 0, 0, base_offset=40))
    for batch in batches:
        log.append_as_follower(bytearray(batch), 0)
    log.set_high_watermark(41)
    return log


class Group:
    """Its state, by commits and by what the log would say of them."""

    def __init__(self, log: UnifiedLog, *, read_committed: bool = False) -> None:
        self.log = log
        self.read_committed = read_committed
        self.committed = -1
        self.part = CommittedRanges()

    def standing(self) -> Standing:
        look = Deliverable(self.log, read_committed=self.read_committed)
        return Standing(self.committed, self.part, look)

    def commit(self, *ranges: tuple[int, int], initial: int = -1) -> int:
        """The stable offset, or the error of what is refused."""
        outcome = commit(self.standing(), ranges, initial, ROOM)
        if outcome.refusal is not None:
            return -outcome.refusal.error
        for each in outcome.gone:
            self.part.remove(each)
        for each in outcome.put:
            self.part.put(each)
        self.committed = outcome.stable
        for each in self.standing().below(self.committed):
            self.part.remove(each)
        assert outcome.held == len(self.part.keys)
        return outcome.stable

    def stands(self) -> tuple[int, list[OffsetRange]]:
        standing = self.standing()
        return standing.stable(), self.part.beyond(standing.stable())


def test_a_marker_is_passed_over() -> None:
    """IC-25."""
    log = UnifiedLog()
    for batch in log_k():
        log.append_as_follower(bytearray(batch), 0)
    log.set_high_watermark(LOG_END)
    group = Group(log, read_committed=True)
    assert group.commit((0, 9)) == 11
    assert group.commit((11, 12)) == LOG_END


def test_ranges_with_only_holes_between_become_one() -> None:
    group = Group(log_with_holes())
    group.commit((5, 8), initial=2)
    group.commit((10, 13))
    assert group.stands() == (2, [(5, 13)])
    assert group.commit((2, 3)) == 15
    group.commit((16, 18), (25, 28))
    assert group.stands() == (15, [(16, 28)])


def test_what_is_refused_changes_nothing() -> None:
    group = Group(log_with_holes())
    group.commit((10, 11), initial=2)
    for ranges, refusal in (([(1, 2)], TOO_OLD), ([(40, 41)], MALFORMED), ([(3, 2)], MALFORMED)):
        assert group.commit((30, 31), *ranges) == -refusal.error
    assert commit(group.standing(), [(15, 15)], -1, 0).refusal is TOO_MANY
    assert group.stands() == (2, [(10, 11)])


def test_a_new_leader_that_does_not_know_what_is_committed_is_asked_again() -> None:
    log = log_with_holes()
    log.assign_epoch(3)
    log.append_as_leader(build_batch([Record(0, 0, b"k", b"v")]), 3, 0)
    log.set_high_watermark(30)
    group = Group(log)
    assert group.commit((0, 2)) == 3
    assert group.commit((30, 31)) == -ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert group.commit((30, 41)) == -MALFORMED.error
    log.set_high_watermark(41)
    assert group.commit((30, 31)) == 3
    assert group.stands() == (3, [(30, 31)])


def test_what_is_left_over_of_an_earlier_group_goes() -> None:
    group = Group(log_with_holes())
    group.part.put(OffsetRange(5, 6))
    outcome = commit(group.standing(), [(7, 8)], -1, ROOM)
    assert (outcome.stable, outcome.gone, outcome.put) == (0, [(5, 6)], [(7, 8)])


def test_torn_ranges_are_mended_by_the_next_commit() -> None:
    group = Group(log_with_holes())
    group.commit((10, 12), initial=2)
    group.part.put(OffsetRange(10, 18))
    assert group.stands() == (2, [(10, 18)])
    outcome = commit(group.standing(), [(30, 30)], -1, ROOM)
    assert (outcome.gone, outcome.put) == ([(10, 12), (10, 18)], [(10, 18), (30, 30)])


OFFSETS = st.sets(st.integers(0, 40), max_size=30)


@given(OFFSETS, st.randoms(use_true_random=False), st.booleans())
def test_the_set_of_offsets_alone_counts(offsets: set[int], dice: object, one_by_one: bool) -> None:
    log = log_with_holes()
    ordered = sorted(offsets)
    dice.shuffle(ordered)  # type: ignore[attr-defined]
    group = Group(log)
    group.commit(initial=0)
    if one_by_one:
        for offset in ordered:
            group.commit((offset, offset))
    else:
        group.commit(*[(offset, offset) for offset in ordered])
    holes = {at for at in range(41) if at % 5 == 4 or 20 <= at < 25 or at == 40}
    done = offsets | holes
    stable = next((at for at in range(41) if at not in done), 41)
    found, ranges = group.stands()
    assert found == stable
    told = {at for first, last in ranges for at in range(first, last + 1)}
    assert told - holes == {at for at in offsets if at >= stable} - holes
    for before, after in pairwise(ranges):
        assert not set(range(before.last + 1, after.first)) <= holes
