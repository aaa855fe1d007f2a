"""Slots of keys, and the ranges that divide them."""

from __future__ import annotations

import pytest

from mockbroker.coop.key_filter import SLOTS, BadRangeError, KeyFilter, KeyRange, slot_of, slots_of

SLOT_OF = {
    "a": 584102524, "b": 294391796, "c": 270014794, "abc": 479470107, "": 275646681,
    "order-2": 1091984643, "user-3": 1141442267, "21": 1173551340, "order-1": 1221710326,
    "foobar": 1357151166, "user-1": 1404122828, "user-2": 1822501856, "user-4": 2067937567,
}  # fmt: skip


@pytest.mark.parametrize(("key", "slot"), SLOT_OF.items())
def test_the_slot_of_a_key(key: str, slot: int) -> None:
    """KF-21."""
    assert slot_of(key.encode()) == slot
    exact = KeyFilter([KeyRange(slot, slot)])
    assert exact.matches(key.encode(), 0)
    beside = KeyFilter([KeyRange(slot + 1, SLOTS - 1), KeyRange(0, slot - 1)])
    assert not beside.matches(key.encode(), 0)


@pytest.mark.parametrize("bad", [(-1, 5), (6, 5), (SLOTS, SLOTS)])
def test_a_range_that_is_none(bad: tuple[int, int]) -> None:
    with pytest.raises(BadRangeError, match="is no range of slots"):
        KeyFilter([KeyRange(*bad)])


def test_an_end_behind_the_last_slot_is_the_last() -> None:
    everything = KeyFilter([KeyRange(0, 2**63 - 1)])
    assert all(everything.matches(key.encode(), 0) for key in SLOT_OF)


def test_ranges_may_come_in_any_order_and_overlap() -> None:
    wanted = KeyFilter(
        [KeyRange(300, 400), KeyRange(0, 100), KeyRange(50, 200), KeyRange(201, 250)]
    )
    assert (wanted._lows, wanted._highs) == ([0, 300], [250, 400])


def test_halves_of_the_slots_halve_a_partition() -> None:
    """KF-24: keys of one partition of two; a slot modulo 2 would put all of them on one side."""
    slots = slots_of([b"%d" % number for number in range(40_000)])
    mine = [slot for slot in slots if slot % 2 == 1]
    low = sum(slot < SLOTS // 2 for slot in mine)
    assert 0.48 < low / len(mine) < 0.52


def test_what_lies_within_ranges() -> None:
    some = [KeyRange(0, 9), KeyRange(10, 19), KeyRange(30, 39)]
    assert KeyFilter([KeyRange(0, 5), KeyRange(15, 19), KeyRange(39, 39)]).is_within(some)
    assert KeyFilter([KeyRange(5, 15)]).is_within(some)  # ranges that touch are one
    assert not KeyFilter([KeyRange(15, 30)]).is_within(some)
    assert not KeyFilter([KeyRange(20, 29)]).is_within(some)
    assert KeyFilter([], [b"a"]).is_within([KeyRange(slot_of(b"a"), slot_of(b"a"))])
    assert not KeyFilter([], [b"b"]).is_within([KeyRange(slot_of(b"a"), slot_of(b"a"))])
    assert not KeyFilter([], [None]).is_within([KeyRange(0, SLOTS - 1)])
