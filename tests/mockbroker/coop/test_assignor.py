"""The assignor: the draft's example, members that do not share, weights."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coop.assignor import Member, assign, cut
from mockbroker.coop.key_filter import SLOTS, KeyRange
from tests.support.keyed_log import HIGH, LOW


def members(sharing: int, others: int = 0) -> list[Member]:
    all_members = [Member(f"M{n}", ("t",), n <= sharing) for n in range(1, sharing + others + 1)]
    return all_members[::-1]  # as they come they do not count


def of_topic(found: dict[str, dict[str, dict[int, tuple[KeyRange, ...]]]]) -> dict[str, object]:
    return {member: topics.get("t", {}) for member, topics in found.items()}


def test_as_01_five_members_share_three_partitions() -> None:
    assert of_topic(assign(members(5), {"t": 3})) == {
        "M1": {0: (LOW,)},
        "M2": {1: (LOW,)},
        "M3": {2: ()},
        "M4": {0: (HIGH,)},
        "M5": {1: (HIGH,)},
    }


def test_as_02_enough_partitions_are_not_split() -> None:
    assert of_topic(assign(members(2), {"t": 3})) == {"M1": {0: (), 2: ()}, "M2": {1: ()}}


def test_as_03_thirds() -> None:
    assert of_topic(assign(members(3), {"t": 1})) == {
        "M1": {0: (KeyRange(0, 715827881),)},
        "M2": {0: (KeyRange(715827882, 1431655764),)},
        "M3": {0: (KeyRange(1431655765, 2147483647),)},
    }


@pytest.mark.parametrize("switch", [{"allowed": False}, {"closed_topics": {"t"}}])
def test_as_04_where_sharing_is_off_one_has_it_whole(switch: dict[str, object]) -> None:
    found = assign(members(3), {"t": 1}, **switch)  # type: ignore[arg-type]
    assert of_topic(found) == {"M1": {0: ()}, "M2": {}, "M3": {}}


def test_as_05_who_does_not_share_has_whole_partitions() -> None:
    mixed = [Member("M1", ("t",), shares=False), *members(5)[:4]]
    found = of_topic(assign(mixed, {"t": 3}))
    assert found == {
        "M1": {0: ()},
        "M2": {1: (LOW,)},
        "M3": {2: (LOW,)},
        "M4": {1: (HIGH,)},
        "M5": {2: (HIGH,)},
    }


def test_as_06_one_partition_is_left_for_those_who_share() -> None:
    """Of two that do not share one is idle: two partitions, three that share."""
    both = [Member("A", ("t",), shares=False), Member("B", ("t",), shares=False), *members(3)]
    found = of_topic(assign(both, {"t": 2}))
    assert found["A"] == {0: ()}
    assert found["B"] == {}
    assert [found[f"M{n}"] for n in (1, 2, 3)] == [{1: part} for part in cut(3)]


def test_as_07_hot_partitions_get_more_owners() -> None:
    weights = {("t", 0): 100.0, ("t", 1): 10.0, ("t", 2): 10.0}
    quarters = cut(4)
    assert of_topic(assign(members(6), {"t": 3}, weights=weights)) == {
        **{f"M{n + 1}": {0: quarters[n]} for n in range(4)},
        "M5": {1: ()},
        "M6": {2: ()},
    }


def test_as_08_topics_go_on_where_the_last_one_ended() -> None:
    two = [Member(name, ("a", "b", "only B") if name == "B" else ("a", "b"), True) for name in "AB"]
    found = assign(two, {"a": 1, "b": 1, "only B": 2, "gone": 3})
    # Two share and there is one partition of each: both are cut. What one reads alone is whole.
    assert found["A"] == {"a": {0: (LOW,)}, "b": {0: (LOW,)}}
    assert found["B"] == {"a": {0: (HIGH,)}, "b": {0: (HIGH,)}, "only B": {0: (), 1: ()}}
    plain = assign(two, {"a": 1, "b": 1, "only B": 1}, allowed=False)
    assert plain == {"A": {"a": {0: ()}}, "B": {"b": {0: ()}, "only B": {0: ()}}}


def test_nobody_and_nothing() -> None:
    assert assign([], {"t": 3}) == {}
    assert assign(members(1), {}) == {"M1": {}}
    assert assign(members(1), {"t": 0}) == {"M1": {}}


@given(st.integers(0, 9), st.integers(0, 5), st.integers(1, 6), st.booleans())
def test_each_slot_of_each_partition_has_one_owner(
    sharing: int, others: int, count: int, weighted: bool
) -> None:
    weights = {("t", n): float(n * n) for n in range(count)} if weighted else None
    found = assign(members(sharing, others), {"t": count}, weights=weights)
    for index in range(count):
        owned = [topics["t"][index] for topics in found.values() if index in topics.get("t", {})]
        if sharing + others == 0:
            assert owned == []
        elif len(owned) == 1:
            assert owned == [()]
        else:
            parts = sorted(part for ranges in owned for part in ranges)
            assert parts[0].lo == 0
            assert parts[-1].hi == SLOTS - 1
            assert all(before.hi + 1 == after.lo for before, after in pairwise(parts))
