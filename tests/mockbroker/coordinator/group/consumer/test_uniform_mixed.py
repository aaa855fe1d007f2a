"""The uniform assignor where members read different topics."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.assignment import GroupSpec, MemberSpec, Partitions
from mockbroker.coordinator.group.consumer.uniform_mixed import assign_heterogeneous

ONE, TWO = bytes([1]) * 16, bytes([2]) * 16


def spec(counts: dict[bytes, int], **members: tuple[frozenset[bytes], Partitions]) -> GroupSpec:
    specs = {one: MemberSpec(*two) for one, two in members.items()}
    return GroupSpec(specs, counts, {}, is_homogeneous=False)


def test_who_reads_more_takes_less_of_each() -> None:
    both, one = frozenset([ONE, TWO]), frozenset([ONE])
    given = assign_heterogeneous(spec({ONE: 4, TWO: 2}, a=(both, {}), b=(one, {})))
    assert given["a"][TWO] == (0, 1)
    assert len(given["a"][ONE]) == 1
    assert len(given["b"][ONE]) == 3


def test_a_balanced_assignment_stays() -> None:
    both, one = frozenset([ONE, TWO]), frozenset([ONE])
    members: dict[str, tuple[frozenset[bytes], Partitions]] = {
        "a": (both, {TWO: (0, 1)}),
        "b": (one, {ONE: (0, 1)}),
    }
    assert assign_heterogeneous(spec({ONE: 2, TWO: 2}, **members)) == {
        "a": {TWO: (0, 1)},
        "b": {ONE: (0, 1)},
    }


def test_the_most_loaded_gives_to_the_least() -> None:
    one = frozenset([ONE])
    members: dict[str, tuple[frozenset[bytes], Partitions]] = {
        "a": (one, {ONE: (0, 1, 2, 3)}),
        "b": (one, {}),
        "c": (frozenset([TWO]), {}),
    }
    given = assign_heterogeneous(spec({ONE: 4, TWO: 1}, **members))
    assert given == {"a": {ONE: (0, 1)}, "b": {ONE: (2, 3)}, "c": {TWO: (0,)}}


def test_nobody_reads_anything() -> None:
    assert assign_heterogeneous(spec({}, a=(frozenset(), {}))) == {}
