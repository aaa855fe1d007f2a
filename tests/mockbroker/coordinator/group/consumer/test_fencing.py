"""Members that go."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.timeouts import RETRY_MS
from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerWorld


def test_what_a_member_had_is_free_at_once() -> None:
    world = ConsumerWorld()
    one, two = world.consumer("m1"), world.consumer("m2")
    world.settle(one, two)
    epoch = world.consumers().epoch
    two.leave()
    group = world.consumers()
    assert group.epoch == epoch + 1
    assert list(group.members) == ["m1"]
    assert len(group.partition_epochs) == 1
    assert group.timers.keys() == {"m1"}


def test_a_leave_that_cannot_be_written_did_not_happen() -> None:
    world = ConsumerWorld()
    world.beat()
    world.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.beat(epoch=-1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.fail_with = ErrorCode.NONE
    assert world.beat(epoch=2).error_code == 0


def test_the_hash_is_that_of_those_who_stay() -> None:
    world = ConsumerWorld(topics=(("t", 1), ("u", 1)))
    one, two = world.consumer("m1"), world.consumer("m2", topics=["u"])
    world.settle(one, two)
    two.leave()
    alone = ConsumerWorld(topics=(("t", 1), ("u", 1)))
    alone.beat()
    assert world.consumers().metadata_hash == alone.consumers().metadata_hash


def test_a_group_that_nobody_is_left_in_is_reconciled() -> None:
    world = ConsumerWorld()
    world.consumer("m1").leave()
    group = world.consumers()
    assert (group.epoch, group.assignment_epoch, group.assignment_timestamp_ms) == (3, 3, 0)


def test_a_session_whose_end_cannot_be_written_ends_when_it_can() -> None:
    world = ConsumerWorld()
    world.beat()
    world.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    world.advance(60_000)
    assert world.consumers().members
    world.fail_with = ErrorCode.NONE
    world.advance(RETRY_MS)
    assert not world.consumers().members


def test_who_lives_again_before_its_end_can_be_written_stays() -> None:
    world = ConsumerWorld()
    world.beat()
    world.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    world.advance(60_000)
    world.fail_with = ErrorCode.NONE
    assert world.beat(epoch=2).error_code == 0
    world.advance(RETRY_MS)
    assert world.consumers().members
