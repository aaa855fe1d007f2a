"""ConsumerGroupHeartbeat: who may come in, stay and go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mockbroker.coordinator.group.consumer.group_records import assignment_record
from mockbroker.coordinator.group.consumer.member import MemberState
from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerWorld


def test_one_member_gets_all_at_once() -> None:
    world = ConsumerWorld()
    answer = world.beat()
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m1", 2)
    assert world.held(answer) == {"t": [0, 1]}
    assert world.held(world.beat(epoch=2)) is None


def test_members_share_and_nothing_is_given_twice() -> None:
    world = ConsumerWorld(topics=(("t", 6),))
    one = world.consumer("m1")
    two = world.consumer("m2")
    assert (two.epoch, two.owned) == (3, {})
    answer = world.beat("m1", 2)
    assert (answer.member_epoch, world.held(answer)) == (2, {"t": [0, 1, 2]})
    assert world.held(world.beat("m2", 3, owned={})) is None  # m1 has not revoked yet
    answer = world.beat("m1", 2, owned={"t": [0, 1, 2]})
    assert answer.member_epoch == 3
    assert world.held(world.beat("m2", 3, owned={})) == {"t": [3, 4, 5]}
    one.epoch, one.owned = 3, {"t": [0, 1, 2]}
    three = world.consumer("m3")
    world.settle(one, two, three)
    assert sorted(map(len, (one.owned["t"], two.owned["t"], three.owned["t"]))) == [2, 2, 2]
    three.leave()
    world.settle(one, two)
    assert sorted(one.owned["t"] + two.owned["t"]) == list(range(6))


def test_without_an_id_one_is_made() -> None:
    world = ConsumerWorld()
    answer = world.beat("", version=0)
    assert answer.member_id is not None
    assert len(answer.member_id) == 22


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"member_id": " ", "epoch": 3, "version": 0}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"instance": ""}, "InstanceId can't be empty."),
        ({"rack": " "}, "RackId can't be empty."),
        ({"rebalance_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"owned": {"t": [0]}}, "TopicPartitions must be empty when (re-)joining."),
        ({"epoch": -2}, "InstanceId can't be null."),
        ({"epoch": -3}, "MemberEpoch is invalid."),
    ],
)
def test_a_bad_request_is_told_what_is_bad(options: dict[str, object], message: str) -> None:
    answer = ConsumerWorld().beat(**options)  # type: ignore[arg-type]
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, message)


def test_an_assignor_that_is_not_there_is_refused() -> None:
    answer = ConsumerWorld().beat(assignor="sticky")
    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert (answer.error_message or "").endswith("Supported assignors: uniform, range.")


def test_a_member_in_a_state_of_a_later_kafka_begins_anew() -> None:
    world = ConsumerWorld()
    world.beat()
    member = replace(world.consumers().members["m1"], state=MemberState.UNKNOWN)
    world.shard("g").write([assignment_record("g", member)], lambda _: None)
    for owned in (None, {"t": [0, 1]}):
        answer = world.beat("m1", 2, owned=owned)
        assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH
        assert "is in a unknown state" in (answer.error_message or "")
    answer = world.beat("m1", 0)
    assert (answer.error_code, answer.member_epoch) == (0, 2)
    assert world.held(answer) == {"t": [0, 1]}
    assert world.consumers().members["m1"].state is MemberState.STABLE


def test_strangers_are_told_so() -> None:
    world = ConsumerWorld()
    assert world.beat(epoch=1).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.beat(epoch=-1).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    world.beat()
    assert world.beat("m2", 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat("m2", -1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat("m1", 2, instance="i").error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_epochs_are_checked() -> None:
    world = ConsumerWorld()
    world.beat()
    assert world.beat(epoch=3).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat(epoch=1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    world.grow("t", 3)
    assert world.beat(epoch=2).member_epoch == 3
    # The answer was lost: it comes again with its last epoch, and what it had.
    assert world.beat(epoch=2).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat(epoch=2, owned={"t": [0, 1]}).member_epoch == 3
    assert world.beat(epoch=2, owned={"t": [0, 7]}).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_may_start_over() -> None:
    world = ConsumerWorld()
    world.beat()
    answer = world.beat()
    assert (answer.member_epoch, world.held(answer)) == (2, {"t": [0, 1]})


def test_a_full_request_is_answered_in_full() -> None:
    world = ConsumerWorld()
    world.beat()
    answer = world.beat(epoch=2, topics=["t"], owned={"t": [0, 1]}, rebalance_ms=60_000)
    assert world.held(answer) == {"t": [0, 1]}


def test_a_group_may_be_full() -> None:
    world = ConsumerWorld({"group.consumer.max.size": "1"})
    world.beat()
    answer = world.beat("m2")
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.beat(epoch=2).error_code == 0


def test_a_member_that_leaves_is_gone() -> None:
    world = ConsumerWorld()
    one, two = world.consumer("m1"), world.consumer("m2")
    world.settle(one, two)
    two.leave()
    world.settle(one)
    assert one.owned == {"t": [0, 1]}
    one.leave()
    assert world.describe().group_state == "Empty"


def test_a_static_member_comes_back_to_what_it_had() -> None:
    world = ConsumerWorld()
    one = world.consumer("m1", instance="i")
    two = world.consumer("m2", instance="j")
    world.settle(one, two)
    had = one.owned
    assert world.beat("m9", instance="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    answer = world.beat("m1", -2, instance="i")
    assert (answer.error_code, answer.member_epoch) == (0, -2)
    assert not two.beat()
    back = world.consumer("m9", instance="i")
    assert (back.owned, back.epoch) == (had, two.epoch)
    assert not two.beat()
    fenced = world.beat("m1", 3, instance="i")
    assert fenced.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.beat("m1", -1, instance="i").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.beat("m1", -1, instance="x").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    back.leave()
    world.settle(two)
    assert two.owned == {"t": [0, 1]}


def test_a_static_member_that_stays_away_is_fenced() -> None:
    world = ConsumerWorld()
    one, two = world.consumer("m1", instance="i"), world.consumer("m2")
    world.settle(one, two)
    one.leave(-2)
    for _ in range(3):
        world.advance(15_001)
        two.beat()
    world.settle(two)
    assert two.owned == {"t": [0, 1]}


def test_a_silent_member_is_fenced_when_its_session_is_over() -> None:
    world = ConsumerWorld()
    one, two = world.consumer("m1"), world.consumer("m2")
    world.settle(one, two)
    world.advance(30_000)
    one.beat()
    world.advance(15_000)
    world.settle(one)
    assert world.assigned() == {"m1": {"t": [0, 1]}}
    assert world.beat("m2", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_one_that_does_not_revoke_in_time_is_fenced() -> None:
    world = ConsumerWorld()
    world.beat(rebalance_ms=10_000)
    two = world.consumer("m2")
    world.beat(epoch=2)
    world.advance(9_999)
    assert world.beat(epoch=2, owned={"t": [0, 1]}).error_code == 0
    world.advance(1)
    assert world.beat(epoch=2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    world.settle(two)
    assert two.owned == {"t": [0, 1]}


def test_a_subscription_that_changes_moves_partitions() -> None:
    world = ConsumerWorld(topics=(("t", 2), ("u", 1)))
    one = world.consumer("m1")
    one.beat(topics=["u"])
    world.settle(one)
    assert one.owned == {"u": [0]}


def test_a_replay_restores_exactly() -> None:
    world = ConsumerWorld(topics=(("t", 6), ("u", 3)))
    one = world.consumer("m1", topics=["t", "u"], assignor="range")
    two = world.consumer("m2", instance="i", regex="u.*")
    world.settle(one, two)
    three = world.consumer("m3")
    world.beat("m1", one.epoch)
    three.beat()
    two.leave(-2)
    before = world.consumers()
    after = world.rebuilt().shard().consumer_groups["g"]
    volatile = {"timers", "metadata_deadline_ms", "metadata_seen_epoch", "bumped_ms"}
    for name in set(before.__slots__) - volatile:
        assert getattr(after, name) == getattr(before, name), name


def test_a_group_that_moved_to_another_coordinator_goes_on() -> None:
    world = ConsumerWorld()
    one, two = world.consumer("m1"), world.consumer("m2", rebalance_ms=20_000)
    one.beat()
    index = world.service.runtime.partition_for("g")
    world.service.runtime.unload(index)
    assert len(world.timer) == 0
    world.service = world.reload()
    world.settle(one, two)
    assert sorted(one.owned["t"] + two.owned["t"]) == [0, 1]
    world.advance(45_000)
    assert world.describe().group_state == "Empty"


def test_an_empty_classic_group_becomes_one_of_consumers_with_its_offsets() -> None:
    world = ConsumerWorld()
    world.commit(5)
    assert world.beat().error_code == 0
    assert world.fetched()["t", 0].offset == 5
    assert world.shard().groups == {}
    assert world.rebuilt().fetched()["t", 0].offset == 5


def test_who_has_revoked_has_no_time_out_left() -> None:
    world = ConsumerWorld()
    first = world.consumer("m1")
    world.settle(first)
    second = world.consumer("m2")
    second.beat()
    first.beat()
    timer = world.consumers().timers["m1"].rebalance
    assert timer is not None
    assert timer.pending
    world.settle(first, second)
    assert not timer.pending
