"""Ranges of neighbouring partitions."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.assignment import GroupSpec, MemberSpec
from mockbroker.coordinator.group.consumer.range_assignor import assign_ranges

ONE, TWO = bytes([1]) * 16, bytes([2]) * 16


def spec(counts: dict[bytes, int], **members: tuple[str | None, frozenset[bytes]]) -> GroupSpec:
    specs = {one: MemberSpec(topics, {}, instance) for one, (instance, topics) in members.items()}
    return GroupSpec(specs, counts, {}, is_homogeneous=False)


def test_the_first_members_get_one_more() -> None:
    both = frozenset([ONE, TWO])
    given = assign_ranges(spec({ONE: 5, TWO: 2}, b=(None, both), a=(None, both)))
    assert given == {"a": {ONE: (0, 1, 2), TWO: (0,)}, "b": {ONE: (3, 4), TWO: (1,)}}


def test_topics_come_in_one_order_whatever_the_set_of_them_hands_out() -> None:
    """The same seed is the same run: sets of bytes differ from process to process."""
    ids = [bytes([number * 7 % 40 + 1]) * 16 for number in range(40)]
    given = assign_ranges(spec(dict.fromkeys(ids, 1), a=(None, frozenset(ids))))
    assert list(given["a"]) == sorted(ids)


def test_static_members_come_first_by_instance() -> None:
    one = frozenset([ONE])
    given = assign_ranges(spec({ONE: 3}, a=(None, one), z=("1", one), y=("2", one)))
    assert given == {"z": {ONE: (0,)}, "y": {ONE: (1,)}, "a": {ONE: (2,)}}


def test_who_comes_late_may_get_nothing() -> None:
    one = frozenset([ONE])
    assert assign_ranges(spec({ONE: 1}, a=(None, one), b=(None, one))) == {
        "a": {ONE: (0,)},
        "b": {},
    }
