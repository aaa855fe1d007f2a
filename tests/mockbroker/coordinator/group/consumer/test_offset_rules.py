"""Who may commit and fetch offsets of a consumer group."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.consumer.offset_rules import validate_commit
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import OffsetDeleteRequest, OffsetDeleteRequestTopic
from mockbroker_protocol.messages.group_offsets import OffsetDeleteRequestPartition as Partition
from tests.support.consumer_groups import ConsumerWorld
from tests.support.groups import Answer
from tests.support.mixed_groups import ClassicConsumer


def moved() -> ConsumerWorld:
    """m1 is at epoch 3, has t-0 since epoch 2 and t-2 since epoch 3."""
    world = ConsumerWorld(topics=(("t", 2),))
    world.beat()
    world.grow("t", 3)
    assert world.beat(epoch=2).member_epoch == 3
    return world


@pytest.mark.parametrize(
    ("member_id", "epoch", "partition", "version", "error"),
    [
        ("m1", 3, 0, 9, ErrorCode.NONE),
        ("m1", 2, 0, 9, ErrorCode.NONE),
        ("m1", 2, 2, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("m1", 1, 0, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("m1", 4, 0, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("m1", -1, 0, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("m1", 3, 0, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("x", 3, 0, 9, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, 0, 9, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_commits(member_id: str, epoch: int, partition: int, version: int, error: int) -> None:
    world = moved()
    got = world.commit(
        7,
        member_id=member_id,
        generation_id=epoch,
        partition=partition,
        version=version,
        topic_id=world.topic_id(),
    )
    assert got == error
    assert bool(world.fetched()) == (error == 0)


def test_anyone_commits_to_a_group_without_members() -> None:
    world = ConsumerWorld()
    world.consumer("m1").leave()
    assert world.commit(5) == 0
    assert world.commit(5, generation_id=3, member_id="m1") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_is_told_of_generations() -> None:
    world = ConsumerWorld()
    world.beat()
    classic = ClassicConsumer(world)
    generation_id = classic.generation_id
    commit = {"member_id": classic.member_id, "version": 5, "topic_id": world.topic_id()}
    assert world.commit(1, generation_id=generation_id, **commit) == 0  # type: ignore[arg-type]
    got = world.commit(1, generation_id=99, **commit)  # type: ignore[arg-type]
    assert got == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        ("m1", 3, ErrorCode.NONE),
        ("m1", 2, ErrorCode.NONE),
        ("m1", 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("m1", 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("x", 3, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.NONE),
    ],
)
def test_commits_in_a_transaction(member_id: str, epoch: int, error: ErrorCode) -> None:
    world = moved()
    partitions = [(world.topic_id(), 0)]
    got = validate_commit(world.consumers(), member_id, None, epoch, partitions, None)
    assert got is error


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        (None, -1, ErrorCode.NONE),
        ("m1", 3, ErrorCode.NONE),
        ("m1", 2, ErrorCode.STALE_MEMBER_EPOCH),
        ("x", 3, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 3, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_fetches(member_id: str | None, epoch: int, error: ErrorCode) -> None:
    world = moved()
    got, _ = world.service.offsets.fetch(
        "g", None, require_stable=False, member_id=member_id, member_epoch=epoch
    )
    assert got is error


def test_offsets_of_topics_that_are_read_are_not_deleted() -> None:
    world = ConsumerWorld(topics=(("t", 1), ("u", 1)))
    world.beat()
    for topic in ("t", "u"):
        world.commit(
            1, topic=topic, member_id="m1", generation_id=2, topic_id=world.topic_id(topic)
        )
    answer: Answer[object] = Answer()
    topics = [OffsetDeleteRequestTopic(one, [Partition(0)]) for one in ("t", "u")]
    world.service.offsets.delete(OffsetDeleteRequest("g", topics), answer)
    assert list(world.fetched()) == [("t", 0)]


def test_offsets_of_topics_that_are_not_read_expire_after_their_commit() -> None:
    world = ConsumerWorld({"offsets.retention.minutes": "1"}, (("t", 1), ("u", 1)))
    world.beat()
    for topic in ("t", "u"):
        world.commit(
            1, topic=topic, member_id="m1", generation_id=2, topic_id=world.topic_id(topic)
        )
    for _ in range(25):
        world.advance(30_000)
        world.beat(epoch=2)
    assert list(world.fetched()) == [("t", 0)]
    world.beat(epoch=-1)
    world.advance(1_300_000)
    assert world.fetched() == {}
    assert not world.shard().has_groups
