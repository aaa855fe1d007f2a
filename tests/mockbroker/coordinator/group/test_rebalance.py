"""When generations begin, who is waited for, and who is dropped."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.rebalance import (
    ANNOUNCED_GRACE_MS,
    MISSING_TOPICS_GRACE_MS,
    PENDING_MEMBER_GRACE_MS,
    RECONNECT_MS,
)
from mockbroker.coordinator.group.states import GroupState
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import JoinGroupResponse
from tests.support.groups import REBALANCE_MS, SESSION_MS, Answer, Groups, subscription


class FindingClient:
    """One who asked for the coordinator."""

    def __init__(self, client_id: str = "c", *, connected: bool = True) -> None:
        self.client_id = client_id
        self.peer = "/127.0.0.1"
        self.connected = connected


DELAYED = {"group.initial.rebalance.delay.ms": "3000"}


def test_a_lone_member_starts_at_once_without_initial_delay() -> None:
    groups = Groups()
    assert groups.join(version=3).value.generation_id == 1


def test_an_id_that_is_never_used_holds_up_the_first_rebalance_for_a_while_only() -> None:
    groups = Groups()
    groups.new_id()
    waiting = groups.join(groups.new_id())
    groups.advance(PENDING_MEMBER_GRACE_MS - 1)
    assert waiting.waits
    groups.advance(1)
    assert waiting.value.generation_id == 1


def test_the_initial_delay_gathers_members() -> None:
    groups = Groups(DELAYED)
    first = groups.join(version=3)
    groups.advance(2_999)
    assert first.waits
    groups.advance(1)
    assert first.value.generation_id == 1


def test_each_new_member_extends_the_initial_delay() -> None:
    groups = Groups(DELAYED)
    first = groups.join(version=3)
    groups.advance(2_000)
    second = groups.join(version=3)
    groups.advance(1_000)
    assert first.waits
    groups.advance(3_000)
    assert first.value.generation_id == second.value.generation_id == 1
    assert len(first.value.members) == 2


def test_the_initial_delay_ends_at_the_rebalance_timeout() -> None:
    groups = Groups(DELAYED)
    first = groups.join(version=3, rebalance_ms=7_000)
    for _ in range(6):
        groups.advance(1_000)
        groups.join(version=3, rebalance_ms=7_000)
    assert first.waits
    groups.advance(1_000)
    assert first.value.generation_id == 1


def test_absent_dynamic_members_are_dropped_at_the_rebalance_timeout() -> None:
    groups = Groups()
    leader, absent = groups.stable(2, session_ms=REBALANCE_MS * 2)
    waiting = groups.join(leader, session_ms=REBALANCE_MS * 2)
    groups.advance(REBALANCE_MS - 1)
    assert waiting.waits
    groups.advance(1)
    assert waiting.value.generation_id == 2
    assert [one.member_id for one in waiting.value.members] == [leader]
    assert groups.heartbeat(absent, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_counts() -> None:
    groups = Groups()
    leader, _ = groups.stable(2, session_ms=500_000)
    waiting = groups.join(leader, rebalance_ms=90_000, session_ms=500_000)
    groups.advance(60_000)
    assert waiting.waits or groups.group().generation_id == 2
    groups.advance(30_000)
    assert waiting.value.generation_id == 2


def test_an_absent_leader_is_replaced_by_who_joined() -> None:
    groups = Groups()
    leader, follower = groups.stable(2, session_ms=REBALANCE_MS * 2)
    waiting = groups.join(follower, protocols=[("range", b"x")], session_ms=REBALANCE_MS * 2)
    groups.advance(REBALANCE_MS)
    assert waiting.value.leader == follower
    assert leader not in groups.group().members


def test_members_that_never_sync_are_removed() -> None:
    groups = Groups()
    ids = [groups.new_id(session_ms=100_000) for _ in range(2)]
    answers = [groups.join(one, session_ms=100_000) for one in ids]
    assert answers[0].value.generation_id == 1
    synced = groups.sync(ids[1], 1)
    groups.advance(REBALANCE_MS - 1)
    assert synced.waits
    groups.advance(1)
    assert synced.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert list(groups.group().members) == [ids[1]]
    assert groups.group().leader_id == ids[1]
    assert groups.group().state is GroupState.PREPARING_REBALANCE


def test_a_member_that_never_syncs_in_a_stable_group_is_removed() -> None:
    groups = Groups()
    ids = [groups.new_id(session_ms=100_000) for _ in range(2)]
    for one in ids:
        groups.join(one, session_ms=100_000)
    assert groups.sync(ids[0], 1, {}).value.error_code == 0
    assert groups.group().state is GroupState.STABLE
    groups.advance(REBALANCE_MS)
    assert list(groups.group().members) == [ids[0]]


def test_when_nobody_syncs_the_group_empties() -> None:
    groups = Groups()
    groups.join(version=3, session_ms=100_000)
    groups.advance(REBALANCE_MS)
    assert groups.group().state is GroupState.EMPTY
    assert groups.group().generation_id == 2


def test_a_session_ends_exactly_at_its_timeout() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    groups.advance(4_000)
    assert groups.heartbeat(member_id, 1) == 0
    groups.advance(SESSION_MS - 1)
    assert member_id in groups.group().members
    groups.advance(1)
    assert groups.group().state is GroupState.EMPTY
    assert groups.group().members == {}


def test_a_shorter_session_counts_from_the_next_sign_of_life() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1, session_ms=100_000)
    groups.join(member_id, session_ms=6_000)
    groups.sync(member_id, 2, {})
    groups.advance(6_000)
    assert groups.group().members == {}


def test_a_member_that_waits_for_us_does_not_expire() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    waiting = groups.join(leader)
    for _ in range(5):
        groups.advance(SESSION_MS - 1)
        groups.heartbeat(follower, 1)
    assert waiting.waits
    assert leader in groups.group().members


def test_a_failed_member_makes_the_others_rebalance() -> None:
    groups = Groups()
    leader, failed = groups.stable(2)
    groups.advance(SESSION_MS - 1)
    groups.heartbeat(leader, 1)
    groups.advance(1)
    assert failed not in groups.group().members
    assert groups.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_rebalance_goes_on_when_the_one_it_waits_for_fails() -> None:
    groups = Groups()
    leader, _ = groups.stable(2)
    waiting = groups.join(leader)
    groups.advance(SESSION_MS)
    assert waiting.value.generation_id == 2


def test_an_empty_generation_begins_even_when_it_cannot_be_written() -> None:
    groups = Groups()
    (member_id,) = groups.stable(1)
    groups.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    groups.leave((member_id, None))
    assert groups.group().state is GroupState.EMPTY
    assert groups.group().generation_id == 2


@pytest.mark.parametrize("count", [1, 50])
def test_heartbeats_do_no_timer_work(count: int) -> None:
    groups = Groups()
    ids = groups.stable(count)
    pending = len(groups.timer)
    tasks = [groups.group().members[one].session_task for one in ids]
    groups.advance(100)
    for one in ids:
        assert groups.heartbeat(one, 1) == 0
    assert len(groups.timer) == pending
    assert tasks == [groups.group().members[one].session_task for one in ids]


def test_static_members_that_stay_away_without_a_timeout_cost_no_time() -> None:
    groups = Groups()
    first = groups.join(instance="i", rebalance_ms=0, session_ms=60_000).value
    groups.sync(first.member_id, first.generation_id, {first.member_id: b""})
    groups.rebalance()
    groups.advance(0)
    rounds = sum(groups.timer.advance(groups.clock.now_ms) for _ in range(100))
    assert rounds == 0
    assert groups.join(first.member_id, instance="i").value.error_code == 0


def test_who_asked_for_the_coordinator_is_waited_for_a_moment() -> None:
    groups = Groups()
    groups.service.rebalancer.announce("g", FindingClient())
    groups.service.rebalancer.announce("g", FindingClient())
    first = groups.join(groups.new_id())
    assert first.waits
    second = groups.join(groups.new_id())
    assert first.value.generation_id == second.value.generation_id == 1


def test_who_asked_and_does_not_come_is_not_waited_for_long() -> None:
    groups = Groups()
    groups.service.rebalancer.announce("g", FindingClient())
    groups.advance(ANNOUNCED_GRACE_MS - 1)
    groups.service.rebalancer.announce("g", FindingClient())
    answer = groups.join(groups.new_id())
    groups.advance(ANNOUNCED_GRACE_MS - 1)
    assert answer.waits
    groups.advance(1)
    assert answer.value.generation_id == 1


def test_one_that_asked_alone_joins_at_once() -> None:
    groups = Groups()
    groups.service.rebalancer.announce("g", FindingClient())
    assert groups.join(groups.new_id()).value.generation_id == 1


def test_one_that_asked_again_on_another_connection_is_one_member() -> None:
    groups = Groups()
    groups.service.rebalancer.announce("g", FindingClient(connected=False))
    groups.advance(RECONNECT_MS)
    groups.service.rebalancer.announce("g", FindingClient())
    assert groups.join(groups.new_id()).value.generation_id == 1


@pytest.mark.parametrize(
    ("first", "later_ms"),
    [
        (FindingClient(), RECONNECT_MS),
        (FindingClient("other", connected=False), RECONNECT_MS),
        (FindingClient(connected=False), RECONNECT_MS - 1),
    ],
)
def test_two_that_asked_are_two_members_unless_one_left_before(
    first: FindingClient, later_ms: int
) -> None:
    groups = Groups()
    groups.service.rebalancer.announce("g", first)
    groups.advance(later_ms)
    groups.service.rebalancer.announce("g", FindingClient())
    assert groups.join(groups.new_id()).waits


def test_old_questions_and_those_of_many_groups_are_forgotten() -> None:
    groups = Groups()
    groups.service.rebalancer.announce("g", FindingClient())
    groups.advance(ANNOUNCED_GRACE_MS)
    groups.service.rebalancer.announce("g", FindingClient())
    assert groups.join(groups.new_id()).value.generation_id == 1
    for number in range(1100):
        groups.service.rebalancer.announce(f"other-{number}", FindingClient())
    assert len(groups.service.rebalancer.announced) == 1000


def join_for(groups: Groups, *topics: str, member_id: str = "") -> Answer[JoinGroupResponse]:
    return groups.join(member_id or groups.new_id(), protocols=[("range", subscription(*topics))])


def create(groups: Groups, *names: str) -> None:
    groups.controller.create_topics([NewTopic(name, 1) for name in names])


def test_a_first_generation_waits_for_a_topic_to_be_created() -> None:
    groups = Groups()
    answer = join_for(groups, "late")
    groups.advance(MISSING_TOPICS_GRACE_MS - 1)
    assert answer.waits
    create(groups, "other")
    groups.advance(0)
    assert answer.waits
    create(groups, "late")
    assert answer.waits  # until the step is over
    groups.advance(0)
    assert answer.value.generation_id == 1


def test_a_topic_that_never_comes_is_waited_for_as_long_as_kafka_would() -> None:
    groups = Groups()
    first = join_for(groups, "never")
    groups.advance(MISSING_TOPICS_GRACE_MS - 1)
    second = join_for(groups, "never")
    assert first.waits
    groups.advance(1)
    assert first.value.generation_id == second.value.generation_id == 1
    assert groups.service.rebalancer.awaiting_topics == {}


def test_a_first_generation_that_has_a_topic_to_read_begins_at_once() -> None:
    assert join_for(Groups(), "late", "t").value.generation_id == 1
    assert join_for(Groups()).value.generation_id == 1


def test_of_several_missing_topics_all_are_waited_for() -> None:
    groups = Groups()
    answer = join_for(groups, "a", "b")
    create(groups, "a")
    groups.advance(10)
    assert answer.waits
    create(groups, "b")
    groups.advance(0)
    assert answer.value.generation_id == 1


def test_a_topic_that_comes_while_a_member_is_about_to_join_is_assigned_to_both() -> None:
    groups = Groups()
    first = join_for(groups, "late")
    pending = groups.new_id()
    create(groups, "late")
    groups.advance(0)
    assert first.waits
    second = join_for(groups, "late", member_id=pending)
    assert first.value.generation_id == second.value.generation_id == 1


def test_only_the_first_generation_waits_for_topics() -> None:
    groups = Groups()
    first = join_for(groups, "t").value
    again = join_for(groups, "late", member_id=first.member_id)
    assert again.value.generation_id == 2


def test_a_group_that_is_gone_waits_for_no_topic() -> None:
    groups = Groups()
    answer = join_for(groups, "late")
    groups.service.rebalancer.kill(groups.group(), ErrorCode.NOT_COORDINATOR)
    assert answer.value.error_code == ErrorCode.NOT_COORDINATOR
    assert groups.service.rebalancer.awaiting_topics == {}
    create(groups, "late")


def test_an_id_that_nobody_joins_with_is_good_for_a_session() -> None:
    groups = Groups()
    member_id = groups.new_id()
    groups.advance(SESSION_MS - 1)
    assert list(groups.group().pending_joins) == [member_id]
    groups.advance(1)
    assert groups.group().pending_joins == {}
    assert groups.join(member_id).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_nothing_of_a_group_runs_that_is_gone_from_here() -> None:
    groups = Groups()
    groups.stable(2)
    groups.new_id()
    assert len(groups.timer)
    groups.service.runtime.unload(groups.service.runtime.partition_for("g"))
    assert len(groups.timer) == 0
