"""A group's members, votes and durable half."""

from __future__ import annotations

import pytest

from mockbroker.clock import Timer
from mockbroker.coordinator.group.classic_group import ClassicGroup, group_metadata_record
from mockbroker.coordinator.group.members import ClassicMember
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import GroupMetadataValue, MemberMetadata
from tests.support.groups import subscription


def ignore(_response: object) -> None:
    """An answer that nobody waits for."""


def member(
    member_id: str, *protocols: str, instance: str | None = None, data: bytes = b"x"
) -> ClassicMember:
    offered = [(name, data) for name in protocols or ("range",)]
    return ClassicMember(member_id, instance, "c", "/h", 60_000, 10_000, offered)


def group_of(*members: ClassicMember) -> ClassicGroup:
    group = ClassicGroup("g")
    group.protocol_type = "consumer"
    group.transition(GroupState.PREPARING_REBALANCE, 0)
    for one in members:
        group.add(one, ignore)
    return group


@pytest.mark.parametrize(
    ("preferences", "chosen"),
    [
        ([("range",)], "range"),
        ([("range", "sticky"), ("sticky", "range"), ("sticky",)], "sticky"),
        ([("a", "b"), ("b", "a"), ("b", "a")], "b"),
        # Ties go as java.util.HashMap iterates, which a JVM was asked for.
        ([("range", "roundrobin"), ("roundrobin", "range")], "range"),
        ([("range", "sticky"), ("sticky", "range")], "sticky"),
        ([("cooperative-sticky", "range"), ("range", "cooperative-sticky")], "range"),
        ([("cooperative-sticky", "sticky"), ("sticky", "cooperative-sticky")], "sticky"),
    ],
)
def test_the_most_votes_win(preferences: list[tuple[str, ...]], chosen: str) -> None:
    group = group_of(*(member(str(index), *names) for index, names in enumerate(preferences)))
    assert group.select_protocol() == chosen


def test_a_newcomer_must_share_a_protocol_with_all() -> None:
    group = group_of(member("a", "range", "sticky"), member("b", "sticky"))
    assert group.supports("consumer", ["sticky"])
    assert not group.supports("consumer", ["range"])
    assert not group.supports("connect", ["sticky"])
    group.remove("b")
    assert group.supports("consumer", ["range"])


def test_the_first_member_leads_and_the_next_one_follows() -> None:
    group = group_of(member("a"), member("b"))
    assert group.leader_id == "a"
    group.remove("a")
    assert group.leader_id == "b"
    group.remove("b")
    assert group.leader_id is None


def test_counts_follow_members() -> None:
    group = group_of(member("a"), member("b", instance="i"))
    assert (group.awaiting_joins, group.has_all_members_joined) == (2, True)
    group.pending_joins["p"] = Timer().schedule(1, lambda: None)
    assert not group.has_all_members_joined
    group.remove("p")
    assert group.take_join(group.members["a"]) is ignore
    assert (group.awaiting_joins, group.has_all_members_joined) == (1, False)
    group.remove("b")
    assert (group.awaiting_joins, group.static_members) == (0, {})
    assert group.remove("nobody") is None


def test_members_are_known_by_id_and_instance() -> None:
    group = group_of(member("a"), member("b", instance="i"))
    assert group.validate_member("a", None) is ErrorCode.NONE
    assert group.validate_member("b", "i") is ErrorCode.NONE
    assert group.validate_member("b", None) is ErrorCode.NONE
    assert group.validate_member("a", "i") is ErrorCode.FENCED_INSTANCE_ID
    assert group.validate_member("a", "j") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.validate_member("c", None) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_keeps_its_place_under_a_new_id() -> None:
    group = group_of(member("a", instance="i"), member("b"))
    group.take_join(group.members["a"])
    group.pending_syncs = {"a": None, "b": None}
    group.replace_static(group.members["a"], "n")
    assert list(group.members) == ["n", "b"]
    assert (group.leader_id, group.static_members) == ("n", {"i": "n"})
    assert set(group.pending_syncs) == {"n", "b"}


def test_a_leader_that_did_not_join_loses_to_one_who_did() -> None:
    group = group_of(member("a"), member("b"))
    group.take_join(group.members["a"])
    assert group.elect_joined_leader()
    assert group.leader_id == "b"
    group.take_join(group.members["b"])
    assert not group.elect_joined_leader()
    assert not ClassicGroup("g").elect_joined_leader()


def test_transitions_that_do_not_exist_are_our_bug() -> None:
    with pytest.raises(AssertionError):
        ClassicGroup("g").transition(GroupState.STABLE, 0)


def test_the_record_of_a_generation_rebuilds_it() -> None:
    group = group_of(member("a", data=subscription("t")), member("b", data=subscription("u")))
    group.begin_generation(5_000)
    value = group.metadata_record(5_000, {"a": b"A"}).value
    assert isinstance(value, GroupMetadataValue)
    rebuilt = ClassicGroup("g")
    rebuilt.apply(value)
    assert rebuilt.state is GroupState.STABLE
    assert rebuilt.generation_id == 1
    assert rebuilt.leader_id == "a"
    assert (rebuilt.protocol_type, rebuilt.protocol_name) == ("consumer", "range")
    assert {one.member_id: one.assignment for one in rebuilt.members.values()} == {
        "a": b"A",
        "b": b"",
    }
    assert rebuilt.subscribed_topics == frozenset("tu")
    assert rebuilt.metadata_record(5_000).value == value


def test_a_later_record_replaces_an_earlier_one() -> None:
    group = ClassicGroup("g")
    one = MemberMetadata("a", "i", "c", "/h", -1, 10_000, b"s", b"A")
    group.apply(GroupMetadataValue("consumer", 1, "range", "a", 1, [one]))
    assert group.members["a"].rebalance_timeout_ms == 10_000
    assert group.static_members == {"i": "a"}
    group.apply(GroupMetadataValue("consumer", 2, None, None, -1, []))
    assert (group.state, group.members, group.static_members) == (GroupState.EMPTY, {}, {})
    assert group.state_timestamp_ms is None


def test_a_later_record_tells_the_latest_of_a_member() -> None:
    group = ClassicGroup("g")
    for generation, protocol, timeout_ms in ((1, "range", 200_000), (2, "sticky", 30_000)):
        data = subscription(protocol)
        stored = MemberMetadata("a", None, "c", "/h", timeout_ms + 1, timeout_ms, data, b"")
        group.apply(GroupMetadataValue("consumer", generation, protocol, "a", 1, [stored]))
    member = group.members["a"]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (30_000, 30_001)
    assert member.protocols == [("sticky", subscription("sticky"))]
    assert group.protocol_counts == {"sticky": 1}
    assert group.subscribed_topics == frozenset({"sticky"})


def test_a_tombstone_has_no_value() -> None:
    assert group_metadata_record("g", None).value is None


def test_unreadable_subscriptions_may_read_anything() -> None:
    group = group_of(member("a", data=b"?"))
    group.begin_generation(0)
    assert group.subscribed_topics is None
    assert group.is_subscribed_to("t")
    group.protocol_type = "connect"
    assert not group.is_subscribed_to("t")


def test_a_protocol_that_a_member_names_twice_has_one_vote() -> None:
    group = group_of(member("a", "range", "range"), member("b", "range"))
    assert group.select_protocol() == "range"
    group.remove("a")
    assert group.select_protocol() == "range"
    assert group.supports("consumer", ["range"])


def test_who_is_not_in_the_leaders_assignments_has_nothing_any_more() -> None:
    group = group_of(member("a"), member("b"))
    group.begin_generation(0)
    group.members["b"].assignment = b"before"
    value = group.metadata_record(0, {"a": b"A"}).value
    assert isinstance(value, GroupMetadataValue)
    assert [one.assignment for one in value.members] == [b"A", b""]


def test_each_generation_has_a_number_of_its_own() -> None:
    group = group_of(member("a"))
    numbers = []
    for _ in range(3):
        group.begin_generation(0)
        numbers.append(group.generation_id)
        group.transition(GroupState.PREPARING_REBALANCE, 0)
    assert numbers == [1, 2, 3]
