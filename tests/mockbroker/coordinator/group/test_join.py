"""Who may join, under which id, and what a join is answered."""

from __future__ import annotations

import re

import pytest

from mockbroker.coordinator.group.join import NEW_MEMBER_JOIN_TIMEOUT_MS
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from tests.support.groups import REBALANCE_MS, SESSION_MS, Groups

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def test_a_stranger_is_given_an_id_and_comes_in_with_it() -> None:
    groups = Groups()
    first = groups.join(client_id="consumer").value
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert re.fullmatch(f"consumer-{UUID}", first.member_id)
    assert (first.generation_id, first.leader, first.members) == (-1, "", [])
    second = groups.join(first.member_id).value
    assert second.error_code == 0
    assert (second.generation_id, second.leader) == (1, first.member_id)
    assert second.protocol_name == "range"
    assert second.protocol_type == "consumer"
    assert [(one.member_id, one.metadata) for one in second.members] == [(first.member_id, b"r")]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_stranger_of_an_old_version_comes_in_at_once(version: int) -> None:
    groups = Groups()
    response = groups.join(version=version).value
    assert response.error_code == 0
    assert response.generation_id == 1
    assert response.leader == response.member_id != ""


def test_version_0_rebalances_within_its_session() -> None:
    groups = Groups()
    member_id = groups.join(version=0, rebalance_ms=-1).value.member_id
    assert groups.group().members[member_id].rebalance_timeout_ms == SESSION_MS


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_no_group_accepts_is_refused(options: dict[str, object], error: ErrorCode) -> None:
    groups = Groups()
    response = groups.join(**options).value  # type: ignore[arg-type]
    assert response.error_code == error
    assert response.member_id == options.get("member_id", "")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": [("roundrobin", b"")]}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "stranger", "instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_does_not_fit_into_a_group_is_refused(
    options: dict[str, object], error: ErrorCode
) -> None:
    groups = Groups()
    groups.stable(1)
    response = groups.join(**options).value  # type: ignore[arg-type]
    assert response.error_code == error
    assert groups.group().state is GroupState.STABLE


def test_members_that_ask_for_ids_together_are_one_generation() -> None:
    groups = Groups()
    ids = [groups.new_id() for _ in range(3)]
    answers = [groups.join(member_id) for member_id in ids]
    assert [answer.value.generation_id for answer in answers] == [1, 1, 1]
    assert {answer.value.leader for answer in answers} == {ids[0]}
    assert [len(answer.value.members) for answer in answers] == [3, 0, 0]


def test_a_newcomer_makes_the_others_join_again() -> None:
    groups = Groups()
    (leader,) = groups.stable(1)
    newcomer = groups.new_id()
    assert groups.heartbeat(leader, 1) == 0
    waiting = groups.join(newcomer)
    assert waiting.waits
    assert groups.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    again = groups.join(leader).value
    assert again.generation_id == waiting.value.generation_id == 2
    assert again.leader == leader
    assert [one.member_id for one in again.members] == [leader, newcomer]
    assert waiting.value.members == []


def test_a_follower_with_the_same_protocols_gets_the_generation_back() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    response = groups.join(follower).value
    assert (response.generation_id, response.leader, response.members) == (1, leader, [])
    assert groups.group().state is GroupState.STABLE


def test_a_follower_with_other_protocols_starts_a_rebalance() -> None:
    groups = Groups()
    _, follower = groups.stable(2)
    assert groups.join(follower, protocols=[("range", b"changed")]).waits
    assert groups.group().state is GroupState.PREPARING_REBALANCE


def test_a_leader_that_joins_again_starts_a_rebalance() -> None:
    groups = Groups()
    leader, _ = groups.stable(2)
    assert groups.join(leader).waits
    assert groups.group().state is GroupState.PREPARING_REBALANCE


def test_a_join_that_is_repeated_before_the_sync_gets_the_same_answer() -> None:
    groups = Groups()
    member_id = groups.new_id()
    first = groups.join(member_id).value
    assert groups.join(member_id).value == first
    assert groups.group().state is GroupState.COMPLETING_REBALANCE


def test_a_second_join_of_a_member_supersedes_the_first() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    first = groups.join(leader)
    second = groups.join(leader)
    assert first.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert second.waits
    groups.join(follower)
    assert second.value.generation_id == 2


def test_the_group_is_full_for_one_more() -> None:
    groups = Groups({"group.max.size": "2"})
    groups.stable(2)
    response = groups.join().value
    assert (response.error_code, response.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_while_joining_the_first_who_come_fill_the_group() -> None:
    groups = Groups({"group.max.size": "2"})
    leader, follower = groups.stable(2)
    groups.leave((follower, None))
    one, two = groups.new_id(), groups.new_id()
    first = groups.join(one)
    assert first.waits
    assert groups.join(leader).waits  # the other pending id is still waited for
    assert groups.join(two).value.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert two not in groups.group().pending_joins


def test_a_pending_id_expires_with_its_session() -> None:
    groups = Groups()
    (leader,) = groups.stable(1)
    pending = groups.new_id(session_ms=6_000)
    groups.advance(5_999)
    assert pending in groups.group().pending_joins
    assert groups.heartbeat(leader, 1) == 0
    groups.advance(1)
    assert groups.join(pending).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_id_is_not_of_a_static_member() -> None:
    groups = Groups()
    pending = groups.new_id()
    response = groups.join(pending, instance="i").value
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_new_member_that_went_away_is_dropped_after_five_minutes() -> None:
    groups = Groups()
    groups.stable(1, session_ms=1_800_000)
    groups.group().members[next(iter(groups.group().members))].rebalance_timeout_ms = 10**9
    newcomer = groups.new_id()
    waiting = groups.join(newcomer)
    groups.advance(NEW_MEMBER_JOIN_TIMEOUT_MS - 1)
    assert waiting.waits
    groups.advance(1)
    assert waiting.value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer not in groups.group().members


def test_the_reason_of_a_join_is_kept() -> None:
    groups = Groups()
    member_id = groups.new_id()
    groups.join(member_id, reason="rebalance enforced by user")
    assert groups.group().members[member_id].join_reason == "rebalance enforced by user"


def test_a_group_that_cannot_be_written_is_not_made() -> None:
    groups = Groups()
    groups.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    assert groups.join().value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.shard().groups == {}


# -- static members (KIP-345, KIP-814) -------------------------------------------------------


def stable_static(groups: Groups, *instances: str) -> dict[str, str]:
    """A stable group of static members: their ids by instance."""
    answers = {one: groups.join(instance=one) for one in instances}
    first = instances[0]
    for round_of in range(len(instances) - 1):  # the early ones join again until all are there
        for one in instances[: round_of + 1]:
            member_id = groups.group().static_members[one]
            if groups.group().members[member_id].parked_join is None:
                answers[one] = groups.join(member_id, instance=one)
    ids = dict(groups.group().static_members)
    generation_id = groups.group().generation_id
    leader = groups.group().leader_id
    assert leader is not None
    order = sorted(ids.items(), key=lambda item: item[1] != leader)
    for instance, member_id in order:
        data = {one: one.encode() for one in ids.values()} if member_id == leader else None
        groups.sync(member_id, generation_id, data, instance=instance)
    assert groups.group().state is GroupState.STABLE, first
    return ids


def test_a_static_member_comes_in_at_once() -> None:
    groups = Groups()
    response = groups.join(instance="one").value
    assert response.error_code == 0
    assert re.fullmatch(f"one-{UUID}", response.member_id)
    assert response.members[0].group_instance_id == "one"


def test_a_restarted_static_follower_keeps_its_generation() -> None:
    groups = Groups()
    ids = stable_static(groups, "one", "two")
    generation_id = groups.group().generation_id
    leader_instance = next(one for one, mid in ids.items() if mid == groups.group().leader_id)
    other = next(one for one in ids if one != leader_instance)
    before = groups.group().members[ids[other]].assignment
    response = groups.join(instance=other).value
    assert response.error_code == 0
    assert response.generation_id == generation_id
    assert response.member_id != ids[other]
    assert not response.skip_assignment
    assert response.members == []
    synced = groups.sync(response.member_id, generation_id, instance=other).value
    assert synced.assignment == before
    assert groups.group().state is GroupState.STABLE


def test_a_restarted_static_leader_is_told_to_keep_the_assignment() -> None:
    groups = Groups()
    ids = stable_static(groups, "one", "two")
    leader = groups.group().leader_id
    instance = next(one for one, member_id in ids.items() if member_id == leader)
    response = groups.join(instance=instance).value
    assert response.skip_assignment
    assert response.leader == response.member_id != leader
    assert len(response.members) == 2


def test_a_restarted_static_leader_below_version_9_acts_as_a_follower() -> None:
    groups = Groups()
    ids = stable_static(groups, "one", "two")
    leader = groups.group().leader_id
    instance = next(one for one, member_id in ids.items() if member_id == leader)
    response = groups.join(instance=instance, version=8).value
    assert not response.skip_assignment
    assert response.leader == leader != response.member_id
    assert response.members == []


def test_the_replaced_id_is_fenced() -> None:
    groups = Groups()
    ids = stable_static(groups, "one")
    generation_id = groups.group().generation_id
    new_id = groups.join(instance="one").value.member_id
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert groups.heartbeat(ids["one"], generation_id, instance="one") == fenced
    assert groups.join(ids["one"], instance="one").value.error_code == fenced
    assert groups.sync(ids["one"], generation_id, instance="one").value.error_code == fenced
    committed = groups.commit(1, member_id=ids["one"], generation_id=generation_id, instance="one")
    assert committed == fenced
    assert groups.leave((ids["one"], "one")) == [fenced]
    assert groups.heartbeat(ids["one"], generation_id) == ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.heartbeat(new_id, generation_id, instance="one") == 0


def test_a_parked_answer_of_the_replaced_id_is_fenced() -> None:
    groups = Groups()
    ids = stable_static(groups, "one", "two")
    leader = groups.group().leader_id
    instance = next(one for one, member_id in ids.items() if member_id == leader)
    waiting = groups.join(ids[instance], instance=instance)
    assert waiting.waits
    replaced = groups.join(instance=instance)
    assert waiting.value.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert waiting.value.member_id == ids[instance]
    assert replaced.waits


def test_a_static_member_that_changes_the_protocol_starts_a_rebalance() -> None:
    groups = Groups()
    both = [("range", b"r"), ("sticky", b"s")]
    member_id = groups.join(instance="one", protocols=both).value.member_id
    groups.sync(member_id, 1, {}, instance="one")
    turned = groups.join(instance="one", protocols=[("sticky", b"s"), ("range", b"r")])
    assert turned.value.generation_id == 2
    assert turned.value.protocol_name == "sticky"


def test_a_static_member_that_restarts_before_the_sync_starts_a_rebalance() -> None:
    groups = Groups()
    groups.join(instance="one")
    assert groups.group().state is GroupState.COMPLETING_REBALANCE
    assert groups.join(instance="one").value.generation_id == 2


def test_a_replacement_that_cannot_be_written_is_taken_back() -> None:
    groups = Groups()
    ids = stable_static(groups, "one")
    generation_id = groups.group().generation_id
    groups.fail_with = ErrorCode.NOT_LEADER_OR_FOLLOWER
    response = groups.join(instance="one", protocols=[("range", b"new")]).value
    assert response.error_code == ErrorCode.NOT_COORDINATOR
    assert groups.heartbeat(ids["one"], generation_id, instance="one") == 0
    assert groups.group().members[ids["one"]].protocols == [("range", b"r")]


def test_static_members_that_do_not_come_stay_in_the_group() -> None:
    groups = Groups()
    ids = stable_static(groups, "one", "two")
    leader = groups.group().leader_id
    comes = next(one for one, member_id in ids.items() if member_id != leader)
    waiting = groups.join(ids[comes], instance=comes, protocols=[("range", b"x")])
    for _ in range(REBALANCE_MS // 5_000):
        groups.advance(5_000)
        for instance, member_id in ids.items():
            if instance != comes:
                groups.heartbeat(member_id, groups.group().generation_id, instance=instance)
    assert waiting.value.leader == ids[comes]
    assert len(waiting.value.members) == 2
