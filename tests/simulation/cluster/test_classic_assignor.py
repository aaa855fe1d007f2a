"""A leader deals partitions out, each to one; a cooperative one waits for who has them."""

from __future__ import annotations

from mockbroker_protocol.messages.group_membership import JoinGroupResponseMember
from simulation.cluster.classic_assignor import (
    COOPERATIVE,
    EAGER,
    assign,
    assignment_bytes,
    read_assignment,
    subscription_bytes,
)

PARTS = [("t", 0), ("t", 1), ("u", 0)]


def member(name: str, owned: list[tuple[str, int]], generation: int) -> JoinGroupResponseMember:
    return JoinGroupResponseMember(name, metadata=subscription_bytes(["t", "u"], owned, generation))


def test_an_assignment_is_read_as_it_was_written() -> None:
    assert read_assignment(assignment_bytes(PARTS)) == PARTS
    assert read_assignment(b"") == []


def test_each_partition_is_dealt_to_one() -> None:
    dealt = assign(EAGER, [member("a", PARTS, 1), member("b", [], -1)], PARTS)
    assert dealt == {"a": [("t", 0), ("u", 0)], "b": [("t", 1)]}


def test_what_another_member_has_is_of_nobody_for_one_generation() -> None:
    dealt = assign(COOPERATIVE, [member("a", PARTS, 1), member("b", [], -1)], PARTS)
    assert dealt == {"a": [("t", 0), ("u", 0)], "b": []}
    later = assign(COOPERATIVE, [member("a", [], 2), member("b", PARTS[1:2], 1)], PARTS)
    assert later == {"a": [("t", 0), ("u", 0)], "b": [("t", 1)]}


def test_of_two_who_say_that_they_have_it_the_later_one_counts() -> None:
    dealt = assign(COOPERATIVE, [member("a", PARTS, 1), member("b", PARTS, 2)], PARTS)
    assert dealt == {"a": [], "b": [("t", 1)]}
