"""Heartbeats and leaving."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import LeaveGroupRequest, LeaveGroupResponse
from tests.support.groups import SESSION_MS, Answer, Groups

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, 0),
        ({"member_id": "stranger"}, UNKNOWN),
        ({"instance": "i"}, UNKNOWN),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"group_id": "none"}, UNKNOWN),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_heartbeats_in_a_stable_group(options: dict[str, object], error: int) -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    arguments: dict[str, object] = {"member_id": member_id, "generation_id": 1, **options}
    assert groups.heartbeat(**arguments) == error  # type: ignore[arg-type]


def test_heartbeats_follow_the_state() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    groups.join(leader)
    assert groups.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    groups.join(follower)
    assert groups.group().state is GroupState.COMPLETING_REBALANCE
    assert groups.heartbeat(follower, 2) == 0
    assert groups.heartbeat(follower, 1) == ErrorCode.ILLEGAL_GENERATION


def test_the_last_member_leaves_an_empty_group() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    assert groups.leave((member_id, None)) == [0]
    assert groups.group().state is GroupState.EMPTY
    assert groups.group().generation_id == 2
    assert groups.leave((member_id, None)) == [UNKNOWN]


def test_who_leaves_makes_the_others_rebalance() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    assert groups.leave((leader, None)) == [0]
    assert groups.group().leader_id == follower
    assert groups.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_rebalance_goes_on_when_the_one_it_waits_for_leaves() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    waiting = groups.join(leader)
    groups.leave((follower, None))
    assert waiting.value.generation_id == 2


def test_what_is_parked_for_a_member_that_an_admin_removes_is_answered() -> None:
    groups = Groups()
    ids = [groups.new_id() for _ in range(2)]
    for one in ids:
        groups.join(one)
    synced = groups.sync(ids[1], 1)
    groups.leave((ids[1], None))
    assert synced.value.error_code == UNKNOWN
    waiting = groups.join(groups.new_id())
    assert waiting.waits
    member_id = next(one for one in groups.group().members if one not in ids)
    groups.leave((member_id, None))
    assert (waiting.value.error_code, waiting.value.member_id) == (UNKNOWN, "")


def test_many_leave_at_once_each_with_its_own_error() -> None:
    groups = Groups()
    leader, follower, third = groups.stable(3)
    generation_id = groups.group().generation_id
    assert groups.leave((leader, None), ("stranger", None), (third, "i"), (follower, None)) == [
        0,
        UNKNOWN,
        UNKNOWN,
        0,
    ]
    assert list(groups.group().members) == [third]
    assert groups.join(third).value.generation_id == generation_id + 1


def test_a_static_member_is_removed_by_its_instance_alone() -> None:
    groups = Groups()
    member_id = groups.join(instance="one").value.member_id
    assert groups.leave(("", "two"), ("", None)) == [UNKNOWN, UNKNOWN]
    assert groups.leave((member_id, "two")) == [UNKNOWN]
    assert groups.leave(("", "one")) == [0]
    assert groups.group().static_members == {}
    assert groups.group().state is GroupState.EMPTY


def test_a_pending_id_may_leave() -> None:
    groups = Groups()
    (leader,) = groups.stable(1)
    pending = groups.new_id()
    waiting = groups.join(leader)
    assert waiting.waits
    assert groups.leave((pending, None)) == [0]
    assert waiting.value.generation_id == 2
    assert groups.join(pending).value.error_code == UNKNOWN


@pytest.mark.parametrize("group_id", ["g", "none"])
def test_below_version_3_one_member_leaves(group_id: str) -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    answer: Answer[LeaveGroupResponse] = Answer()
    groups.service.leave(LeaveGroupRequest(group_id, member_id), 2, answer)
    expected = 0 if group_id == "g" else UNKNOWN
    assert (answer.value.error_code, answer.value.members) == (expected, [])


def test_a_session_lasts_from_the_last_heartbeat_on() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    for _ in range(3):
        groups.advance(SESSION_MS - 1)
        assert groups.heartbeat(member_id, 1) == 0
    groups.advance(SESSION_MS - 1)
    assert groups.group().state is GroupState.STABLE
    groups.advance(1)
    assert groups.group().state is GroupState.EMPTY
    assert groups.heartbeat(member_id, 1) == UNKNOWN
