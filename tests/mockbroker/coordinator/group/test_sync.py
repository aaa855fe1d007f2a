"""Assignments: who brings them, who takes them, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.shard import GroupShard
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from tests.support.groups import REBALANCE_MS, Groups

if TYPE_CHECKING:
    from collections.abc import Callable


def joined(groups: Groups, count: int = 2) -> list[str]:
    """Members of generation 1 that have not synced; the leader first."""
    ids = [groups.new_id() for _ in range(count)]
    for one in ids:
        groups.join(one)
    assert groups.group().state is GroupState.COMPLETING_REBALANCE
    return ids


def test_followers_wait_for_the_leaders_assignments() -> None:
    groups = Groups()
    leader, follower = joined(groups)
    waiting = groups.sync(follower, 1)
    assert waiting.waits
    own = groups.sync(leader, 1, {leader: b"L", follower: b"F"}).value
    assert (own.error_code, own.assignment, waiting.value.assignment) == (0, b"L", b"F")
    assert (own.protocol_type, own.protocol_name) == ("consumer", "range")
    assert groups.group().state is GroupState.STABLE


def test_a_member_that_the_leader_forgot_gets_nothing() -> None:
    groups = Groups()
    leader, follower = joined(groups)
    waiting = groups.sync(follower, 1)
    groups.sync(leader, 1, {leader: b"L", "stranger": b"S"})
    assert (waiting.value.error_code, waiting.value.assignment) == (0, b"")


def test_a_stable_group_ignores_what_its_leader_brings_again() -> None:
    groups = Groups()
    leader, follower = joined(groups)
    groups.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert groups.sync(leader, 1, {leader: b"new", follower: b"new"}).value.assignment == b"L"
    assert groups.sync(follower, 1).value.assignment == b"F"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_id": "none"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, object], error: ErrorCode) -> None:
    groups = Groups()
    leader, _ = joined(groups)
    arguments: dict[str, object] = {"member_id": leader, "generation_id": 1, **options}
    response = groups.sync(**arguments).value  # type: ignore[arg-type]
    assert (response.error_code, response.assignment) == (error, b"")
    assert response.protocol_name is None


def test_a_sync_during_a_rebalance_is_told_to_join_again() -> None:
    groups = Groups()
    leader, follower = joined(groups)
    groups.sync(leader, 1, {})
    groups.join(leader)
    response = groups.sync(follower, 1).value
    assert response.error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_an_empty_group_knows_nobody() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    groups.leave((member_id, None))
    assert groups.sync(member_id, 2).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_parked_syncs_learn_of_a_rebalance() -> None:
    groups = Groups()
    _, follower = joined(groups)
    waiting = groups.sync(follower, 1)
    groups.join(version=3)
    assert waiting.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_second_sync_of_a_member_supersedes_the_first() -> None:
    groups = Groups()
    leader, follower = joined(groups)
    first = groups.sync(follower, 1)
    second = groups.sync(follower, 1)
    assert first.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    groups.sync(leader, 1, {follower: b"F"})
    assert second.value.assignment == b"F"


@pytest.mark.parametrize(
    ("append_error", "error"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_assignments_that_cannot_be_written_start_another_rebalance(
    append_error: ErrorCode, error: ErrorCode
) -> None:
    groups = Groups()
    leader, follower = joined(groups)
    waiting = groups.sync(follower, 1)
    groups.fail_with = append_error
    own = groups.sync(leader, 1, {follower: b"F"}).value
    assert (own.error_code, waiting.value.error_code) == (error, error)
    assert groups.group().state is GroupState.PREPARING_REBALANCE
    assert groups.group().members[follower].assignment == b""


def test_a_client_id_that_no_record_can_hold_leaves_no_sync_waiting() -> None:
    groups = Groups()
    ids = [groups.new_id() for _ in range(2)]
    answers = [groups.join(one, client_id="x" * 40_000) for one in ids]
    leader = answers[0].value.leader
    (follower,) = [one for one in ids if one != leader]
    waiting = groups.sync(follower, 1)
    led = groups.sync(leader, 1, {})
    assert led.value.error_code == waiting.value.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_assignments_that_are_replicated_in_the_next_generation_are_not_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = Groups()
    leader, follower = joined(groups)
    held: list[Callable[[ErrorCode], None]] = []

    def hold(
        _shard: object, _records: object, done: Callable[[ErrorCode], None], **_: object
    ) -> None:
        held.append(done)

    with monkeypatch.context() as patch:
        patch.setattr(GroupShard, "write", hold)
        groups.sync(leader, 1, {leader: b"L", follower: b"F"})
    groups.rebalance()
    for one in (leader, follower):
        groups.join(one)
    waiting = groups.sync(follower, 2)
    (written,) = held
    written(ErrorCode.NONE)
    assert waiting.waits
    assert groups.group().state is GroupState.COMPLETING_REBALANCE
    assert groups.group().generation_id == 2


def test_a_generation_that_has_synced_is_left_alone() -> None:
    groups = Groups()
    members = groups.stable(2)
    for _ in range(REBALANCE_MS // 5_000 + 1):
        groups.advance(5_000)
        assert [groups.heartbeat(one, 1) for one in members] == [0, 0]
