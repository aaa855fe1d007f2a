"""A shard is its log: replaying every record gives the same groups and positions."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from tests.support.group_state import durable
from tests.support.groups import SESSION_MS, Groups, subscription


def test_replaying_the_log_rebuilds_the_coordinator() -> None:
    groups = Groups()
    groups.commit(3, group_id="simple", metadata="note")
    protocols = [("range", subscription("t"))]
    for group_id in ("a", "b", "c"):
        (leader, *_) = groups.stable(3, group_id=group_id, protocols=protocols)
        for offset in range(3):
            groups.commit(offset, group_id=group_id, member_id=leader, generation_id=1)
    static = groups.join(instance="one", group_id="static").value.member_id
    groups.sync(static, 1, {static: b"S"}, group_id="static")
    groups.join(instance="one", group_id="static")
    groups.leave(*((one, None) for one in groups.group("b").members), group_id="b")
    groups.leave(*((one, None) for one in groups.group("c").members), group_id="c")
    groups.service.delete_group("c", lambda _error: None)
    expected = durable(groups.service)
    assert set(expected) == {"simple", "a", "b", "static"}
    assert durable(groups.reload()) == expected


def test_members_of_a_loaded_group_go_on_in_their_generation() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    groups.service = groups.reload()
    assert groups.heartbeat(leader, 1) == 0
    assert groups.sync(follower, 1).value.assignment == b"for 1"
    assert groups.join(follower).value.generation_id == 1
    groups.advance(SESSION_MS)
    assert groups.group().state is GroupState.EMPTY


def test_a_rebalance_that_was_not_finished_is_forgotten() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    groups.join(leader)
    groups.join(follower)
    assert groups.group().generation_id == 2
    groups.service = groups.reload()
    assert groups.group().generation_id == 1
    assert groups.heartbeat(leader, 2) == ErrorCode.ILLEGAL_GENERATION


def test_a_loaded_group_that_is_too_large_rebalances() -> None:
    groups = Groups()
    groups.stable(3)
    groups.config.replace_dynamic({"group.max.size": "2"}, cluster_default=False)
    groups.service = groups.reload()
    assert groups.group().state is GroupState.PREPARING_REBALANCE


def test_what_is_parked_learns_that_the_partition_moved() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    joining = groups.join(leader)
    other = [groups.new_id(group_id="g2") for _ in range(2)]
    for one in other:
        groups.join(one, group_id="g2")
    syncing = groups.sync(other[1], 1, group_id="g2")
    for group_id in ("g", "g2"):
        groups.service.runtime.unload(groups.service.runtime.partition_for(group_id))
    assert joining.value.error_code == ErrorCode.NOT_COORDINATOR
    assert syncing.value.error_code == ErrorCode.NOT_COORDINATOR
    assert groups.heartbeat(follower, 1) == ErrorCode.NOT_COORDINATOR
    assert groups.timer.next_deadline() is None


def test_a_transaction_marker_needs_a_producer() -> None:
    with pytest.raises(AssertionError):
        Groups().shard().end_transaction(-1, commit=True)
