"""A member's update is one batch of records."""

from __future__ import annotations

from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerWorld


def names(world: ConsumerWorld) -> list[str]:
    return [type(one.key).__name__.removesuffix("Key") for one in world.records()]


def test_a_first_member_writes_what_kafka_writes_in_its_order() -> None:
    world = ConsumerWorld()
    world.beat()
    assert names(world) == [
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupCurrentMemberAssignment",
    ]


def test_a_heartbeat_that_tells_nothing_new_writes_nothing() -> None:
    world = ConsumerWorld()
    world.beat()
    count = len(world.records())
    world.beat(epoch=2)
    world.beat(epoch=2, topics=["t"], rebalance_ms=60_000, owned={"t": [0, 1]})
    assert len(world.records()) == count


def test_another_client_id_is_kept() -> None:
    world = ConsumerWorld()
    world.beat()
    count = len(world.records())
    world.beat(epoch=2, client_id="other")
    assert names(world)[count:] == ["ConsumerGroupMemberMetadata"]
    assert world.consumers().members["m1"].client_id == "other"


def test_a_step_that_cannot_be_written_is_not_taken() -> None:
    world = ConsumerWorld()
    world.beat()
    before = world.describe()
    world.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    answer = world.beat("m2")
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.describe() == before
    world.fail_with = ErrorCode.NONE
    assert world.beat("m2").member_epoch == 3


def test_a_target_waits_for_its_interval() -> None:
    world = ConsumerWorld({"group.consumer.assignment.interval.ms": "1000"})
    world.beat()
    answer = world.beat("m2")
    assert (answer.member_epoch, world.held(answer)) == (2, {})
    assert world.describe().group_state == "Assigning"
    world.advance(999)
    assert world.held(world.beat(epoch=2)) is None
    world.advance(1)
    assert world.held(world.beat(epoch=2)) == {"t": [0]}


def test_another_assignor_bumps_the_epoch_once_most_ask_for_it() -> None:
    world = ConsumerWorld()
    world.beat()
    assert world.beat(epoch=2, assignor="uniform").member_epoch == 2  # as before
    assert world.beat(epoch=2, assignor="range").member_epoch == 3
    world.beat("m2")
    assert world.beat("m2", 4, assignor="range").member_epoch == 4
