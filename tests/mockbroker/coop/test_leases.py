"""Leases by themselves: the cases of cooperative fetch that need no broker, and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.leases import Bounds, Holder, Lease, Leases, Piece, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

A, B, C = Holder("A", 1), Holder("B", 1), Holder("C", 1)
TEN = Bounds(10, 1 << 20, 2000)
LEASE_MS = 30_000


def batches(marker: int, end: int = 40) -> Iterator[Span]:
    for first in range(0, end, 10):
        if first + 9 >= marker:
            yield Span(first, first + 9, 100)


def take(
    leases: Leases,
    holder: Holder,
    now_ms: float = 0,
    bounds: Bounds = TEN,
    done: tuple[tuple[int, int], ...] = (),
) -> list[tuple[int, int, int]]:
    leases.expire(now_ms)
    taken = leases.acquire(holder, now_ms + LEASE_MS, bounds, batches, IntervalSet(done))
    return [(piece.first, piece.last, piece.deliveries) for piece in taken]


def three() -> Leases:
    leases = Leases(0)
    for holder in (A, B, A):
        take(leases, holder)
    return leases


def test_cf_01_batches_go_round() -> None:
    leases = Leases(0)
    assert [take(leases, holder) for holder in (A, B, A)] == [
        [(0, 9, 1)],
        [(10, 19, 1)],
        [(20, 29, 1)],
    ]
    assert leases.marker == 30
    assert leases.leased[0] == Lease(0, 9, 1, A, LEASE_MS)
    assert leases.deadline_ms == LEASE_MS


def test_cf_02_what_is_committed_is_nobodys() -> None:
    leases = three()
    assert not leases.refuses("B", 10, 19)
    leases.done(10, 19)
    assert not leases.refuses("A", 0, 9)
    leases.done(0, 9)
    assert [lease[:2] for lease in leases.leased] == [(20, 29)]


def test_cf_03_anothers_lease() -> None:
    assert three().refuses("B", 20, 21)
    assert three().refuses("B", 19, 20)


def test_cf_04_what_expired_goes_to_whoever_comes() -> None:
    leases = three()
    leases.done(0, 19)
    assert take(leases, B, LEASE_MS) == [(20, 29, 2)]
    assert leases.leased == (Lease(20, 29, 2, B, 2 * LEASE_MS),)
    assert leases.refuses("A", 20, 29)
    assert (leases.expired, leases.redelivered) == (1, 1)


def test_cf_05_a_lease_counts_until_its_time() -> None:
    leases = three()
    assert leases.expire(LEASE_MS - 1) == 0
    assert leases.expire(LEASE_MS) == 3


def test_cf_06_the_lowest_goes_first_and_nothing_new_with_it() -> None:
    leases = three()
    wide = TEN._replace(max_records=25)
    assert take(leases, C, LEASE_MS, wide) == [(0, 9, 2), (10, 19, 2)]
    assert take(leases, B, LEASE_MS, wide) == [(20, 29, 2)]
    assert take(leases, B, LEASE_MS, wide) == [(30, 39, 1)]


def test_cf_07_late_but_nobody_took_it() -> None:
    leases = three()
    leases.expire(LEASE_MS)
    assert not leases.refuses("A", 0, 9)
    leases.done(0, 9)
    assert [piece[:2] for piece in leases.free] == [(10, 19), (20, 29)]


def test_what_is_free_and_done_in_another_way_goes_to_nobody() -> None:
    leases = three()
    leases.expire(LEASE_MS)
    assert take(leases, B, done=((0, 3), (9, 9))) == [(4, 8, 2)]
    done = IntervalSet([(10, 39)])
    assert not leases.has_something(TEN, batches, done)
    assert leases.has_something(TEN, batches, IntervalSet([(10, 38)]))


def test_what_could_not_be_committed_is_free() -> None:
    leases = three()
    leases.expire(LEASE_MS - 1)
    for piece in leases.done(5, 12):
        leases.take_back(piece)
    assert leases.free == (Piece(5, 9, 1), Piece(10, 12, 1))
    assert [lease[:2] for lease in leases.leased] == [(0, 4), (13, 19), (20, 29)]


def test_cf_08_what_was_never_handed_out() -> None:
    leases = Leases(0)
    assert leases.refuses("A", 5, 5)
    take(leases, A)
    assert leases.refuses("A", 9, 10)


def test_cf_09_no_more_than_the_locks() -> None:
    leases = Leases(0)
    few = TEN._replace(max_locks=20, max_records=100)
    assert take(leases, A, bounds=few) == [(0, 9, 1), (10, 19, 1)]
    assert take(leases, B, bounds=few) == []
    leases.done(0, 4)
    assert take(leases, B, bounds=few) == [(20, 29, 1)]  # a batch is whole


def test_cf_10_committed_records_are_not_handed_out() -> None:
    leases = Leases(0)
    done = ((3, 4), (10, 19))
    wide = TEN._replace(max_records=20)
    taken = take(leases, A, bounds=wide, done=done)
    assert taken == [(0, 2, 1), (5, 9, 1), (20, 29, 1)]
    assert leases.marker == 30


def test_bytes_bound_batches_but_the_first() -> None:
    leases = Leases(0)
    wide = Bounds(100, 250, 2000)
    assert take(leases, A, bounds=wide) == [(0, 9, 1), (10, 19, 1)]
    assert take(leases, A, bounds=wide._replace(max_bytes=1)) == [(20, 29, 1)]


def test_cf_12_given_back_is_free_at_once() -> None:
    leases = three()
    assert leases.holds("A", 0, 4)
    assert not leases.holds("B", 0, 4)
    assert not leases.holds("A", 5, 12)
    assert not leases.holds("A", 30, 31)
    leases.release(0, 4)
    assert take(leases, B) == [(0, 4, 2)]
    assert [lease[:2] for lease in leases.leased] == [(0, 4), (5, 9), (10, 19), (20, 29)]


def test_renewed() -> None:
    leases = three()
    leases.renew(0, 4, 50_000)
    assert leases.expire(LEASE_MS) == 3
    assert leases.leased == (Lease(0, 4, 1, A, 50_000),)
    assert leases.free[0] == Piece(5, 9, 1)


def test_cf_14_a_new_generation_frees_all_and_keeps_the_counts() -> None:
    leases = three()
    assert leases.end_of_others(lambda holder: holder == B) == 2
    assert leases.free == (Piece(0, 9, 1), Piece(20, 29, 1))
    assert leases.end_of_others(lambda _: False) == 1
    assert take(leases, Holder("A", 2), bounds=TEN._replace(max_records=30)) == [
        (0, 9, 2),
        (10, 19, 2),
        (20, 29, 2),
    ]


def test_delivered_too_often() -> None:
    leases = three()
    leases.expire(LEASE_MS)
    take(leases, B, LEASE_MS)
    leases.release(0, 9)
    assert leases.take_dead(2) == [Piece(0, 9, 2)]
    assert leases.take_dead(2) == []


def test_positions_that_are_set() -> None:
    leases = three()
    leases.expire(LEASE_MS)
    take(leases, B, LEASE_MS)
    leases.stable_at(15)
    assert (leases.leased, leases.free) == ((), (Piece(15, 19, 1), Piece(20, 29, 1)))
    leases.stable_at(35)
    assert (leases.free, leases.marker) == ((), 35)
    leases.reset(5)
    assert take(leases, A) == [(5, 9, 1)]


class Deliveries(RuleBasedStateMachine):
    """Against a plain dict: each offset is done, somebody's, free, or not handed out yet."""

    def __init__(self) -> None:
        super().__init__()
        self.leases = Leases(0)
        self.now_ms = 0
        self.done = IntervalSet()
        self.held: dict[int, tuple[str, int]] = {}
        self.counts: dict[int, int] = {}

    def free(self) -> set[int]:
        return {
            at
            for at in range(self.leases.marker)
            if at not in self.held and not self.done.covers(at, at)
        }

    @rule(holder=st.sampled_from([A, B, C]), most=st.integers(1, 35))
    def fetch(self, holder: Holder, most: int) -> None:
        before = self.free()
        bounds = Bounds(most, 1 << 20, 30)
        locked = len(self.held)
        end = self.now_ms + 100
        taken = self.leases.acquire(holder, end, bounds, batches, self.done)
        offsets = [at for piece in taken for at in range(piece.first, piece.last + 1)]
        assert len(set(offsets)) == len(offsets)
        if locked >= 30:
            assert not offsets
        elif before:
            assert offsets
            assert min(offsets) == min(before)
            assert set(offsets) <= before
        for piece in taken:
            for at in range(piece.first, piece.last + 1):
                assert at not in self.held
                self.counts[at] = self.counts.get(at, 0) + 1
                assert self.counts[at] == piece.deliveries
                self.held[at] = (holder.member, end)

    @rule(who=st.sampled_from("ABC"), first=st.integers(0, 41), size=st.integers(0, 12))
    def commit(self, who: str, first: int, size: int) -> None:
        last = first + size
        others = any(self.held.get(at, (who, 0))[0] != who for at in range(first, last + 1))
        assert self.leases.refuses(who, first, last) == (others or last >= self.leases.marker)
        if not self.leases.refuses(who, first, last):
            self.leases.done(first, last)
            self.done.add(first, last)
            for at in range(first, last + 1):
                self.held.pop(at, None)

    @rule(who=st.sampled_from("ABC"), first=st.integers(0, 41), size=st.integers(0, 12))
    def give_back(self, who: str, first: int, size: int) -> None:
        offsets = range(first, first + size + 1)
        has = all(self.held.get(at, ("", 0))[0] == who for at in offsets)
        assert self.leases.holds(who, first, first + size) == has
        if has:
            self.leases.release(first, first + size)
            for at in offsets:
                del self.held[at]

    @rule(passed=st.integers(1, 80))
    def wait(self, passed: int) -> None:
        self.now_ms += passed
        self.leases.expire(self.now_ms)
        self.held = {at: one for at, one in self.held.items() if one[1] > self.now_ms}

    @invariant()
    def all_is_told(self) -> None:
        leased = {
            at: (lease.holder.member, lease.deadline_ms)
            for lease in self.leases.leased
            for at in range(lease.first, lease.last + 1)
        }
        assert leased == self.held
        told = [at for piece in self.leases.free for at in range(piece.first, piece.last + 1)]
        assert told == sorted(self.free())


TestDeliveries = Deliveries.TestCase
TestDeliveries.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
