"""The uniform assignor where all read the same."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.assignment import GroupSpec, MemberSpec, Partitions
from mockbroker.coordinator.group.consumer.uniform import assign_homogeneous

ONE, GONE = bytes([1]) * 16, bytes([9]) * 16


def spec(count: int, **assigned: Partitions) -> GroupSpec:
    topics = frozenset([ONE])
    owners = {
        (topic_id, index): member_id
        for member_id, partitions in assigned.items()
        for topic_id, indexes in partitions.items()
        for index in indexes
    }
    members = {one: MemberSpec(topics, partitions) for one, partitions in assigned.items()}
    return GroupSpec(members, {ONE: count}, owners, is_homogeneous=True)


def test_a_newcomer_gets_what_is_over_the_others_quota() -> None:
    given = assign_homogeneous(spec(4, a={ONE: (0, 1, 2, 3)}, b={}))
    assert given == {"a": {ONE: (0, 1)}, "b": {ONE: (2, 3)}}


def test_one_that_has_an_extra_partition_keeps_it() -> None:
    given = assign_homogeneous(spec(3, a={ONE: (0,)}, b={ONE: (1, 2)}))
    assert given == {"a": {ONE: (0,)}, "b": {ONE: (1, 2)}}


def test_topics_that_nobody_reads_are_dropped() -> None:
    assert assign_homogeneous(spec(1, a={GONE: (0,), ONE: (0,)})) == {"a": {ONE: (0,)}}


def test_more_members_than_partitions() -> None:
    given = assign_homogeneous(spec(1, a={}, b={}))
    assert sorted(given.values(), key=len) == [{}, {ONE: (0,)}]
