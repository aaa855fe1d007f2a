"""Sets of offsets as ranges, against plain sets."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coop import interval_set
from mockbroker.coop.interval_set import IntervalSet

if TYPE_CHECKING:
    from collections.abc import Iterable

RANGES = st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda it: (it[0], sum(it)))


def as_ranges(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """The ranges of a plain set."""
    found: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if found and found[-1][1] == offset - 1:
            found[-1] = (found[-1][0], offset)
        else:
            found.append((offset, offset))
    return found


@given(st.lists(st.tuples(st.booleans(), RANGES), max_size=60), RANGES)
def test_it_is_what_a_plain_set_is(
    changes: list[tuple[bool, tuple[int, int]]], asked: tuple[int, int]
) -> None:
    with mock.patch.object(interval_set, "_BLOCK", 2):
        made, plain = IntervalSet(), set[int]()
        for puts_in, (first, last) in changes:
            offsets = range(first, last + 1)
            if puts_in:
                made.add(first, last)
                plain.update(offsets)
            else:
                made.discard(first, last)
                plain.difference_update(offsets)
            assert list(made) == as_ranges(plain)
            assert len(made) == len(as_ranges(plain))
        first, last = asked
        wanted = set(range(first, last + 1))
        ranges = as_ranges(plain)
        assert made.covers(first, last) == (wanted <= plain)
        assert made.overlaps(first, last) == bool(wanted & plain)
        assert list(made.within(first, last)) == [
            r for r in ranges if r[0] <= last and r[1] >= first
        ]
        assert list(made.gaps(first, last)) == as_ranges(wanted - plain)
        assert made.before(first) == max((r for r in ranges if r[0] <= first), default=None)
        assert made.after(first) == min((r for r in ranges if r[0] > first), default=None)
        assert made.lowest() == (ranges[0] if ranges else None)
        assert made.highest() == (ranges[-1] if ranges else None)
        assert made == IntervalSet(ranges)


def test_ranges_that_were_put_in_one_by_one_are_known_again() -> None:
    made = IntervalSet()
    made.insert(5, 6)
    made.insert(7, 9)
    assert repr(made) == "{5-6,7-9}"
    assert not made.remove(5, 9)
    assert made.remove(7, 9)
    assert list(made) == [(5, 6)]
