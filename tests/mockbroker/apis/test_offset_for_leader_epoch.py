"""Where leader epochs ended."""

from __future__ import annotations

import pytest

from mockbroker.apis.offset_for_leader_epoch import handle
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.list_offsets import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.cluster_core import ClusterCore
from tests.support.fetch_world import Pending, World


@pytest.fixture
def world() -> World:
    """Epoch 0 ends at 2, epoch 5 at 3."""
    world = World()
    world.create_topic("t0")
    world.append("t0", 0, 50, 50)
    world.change_leader("t0", 0, 1, 5)
    world.append("t0", 0, 50)
    return world


def end_of(
    world: World, epoch: int, *, current: int = -1, index: int = 0, topic: str = "t0"
) -> tuple[int, int, int]:
    asked = OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(index, current, epoch)])
    request = OffsetForLeaderEpochRequest(-2, [asked])
    response = handle(world.services, world.context(4, Pending(), 23), request)
    (answer,) = response.topics[0].partitions
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(0, (0, 0, 2)), (3, (0, 0, 2)), (5, (0, 5, 3)), (6, (0, -1, -1)), (-1, (0, -1, -1))],
)
def test_the_end_of_the_largest_epoch_up_to_that_one(
    world: World, epoch: int, expected: tuple[int, int, int]
) -> None:
    assert end_of(world, epoch) == expected


def test_an_empty_log_knows_the_epoch_of_its_leader() -> None:
    world = World()
    world.create_topic("t0")
    assert end_of(world, 0) == (0, 0, 0)
    assert end_of(world, 1) == (0, -1, -1)


def test_refusals(world: World) -> None:
    assert end_of(world, 0, current=4) == (74, -1, -1)
    assert end_of(world, 0, current=6) == (75, -1, -1)
    assert end_of(world, 0, index=9) == (3, -1, -1)
    assert end_of(world, 0, topic="t9") == (3, -1, -1)
    world.change_leader("t0", 0, 2, 6, (1, 2))
    assert end_of(world, 0) == (6, -1, -1)
    world.change_leader("t0", 0, 2, 7, (2,))
    assert end_of(world, 0) == (6, -1, -1)


def asked(
    core: ClusterCore, node: int, epoch: int, current: int, version: int, topic: str = "t"
) -> tuple[int, int, int]:
    """Error, epoch and end offset as a broker tells them on the wire."""
    wanted = OffsetForLeaderPartition(0, current, epoch)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(topic, [wanted])])
    answer = core.client(node=node).call(request, version, OffsetForLeaderEpochResponse)
    (told,) = answer.topics[0].partitions
    return told.error_code, told.leader_epoch, told.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_consumer_finds_where_logs_part_after_an_unclean_election(version: int) -> None:
    """KIP-320: it validates its position, and is told when it or the broker is behind."""
    core = ClusterCore(topics={"t": 1})
    leader, new, other = core.state("t").replicas
    producer = core.client(node=leader)
    producer.produce("t", b"kept")
    for follower in (new, other):
        core.controls.hold_follower("t", 0, follower)
        core.controls.shrink_isr("t", 0, follower)
    producer.produce("t", b"lost", b"lost")
    core.deliver()
    assert asked(core, leader, 0, 0, version) == (0, 0, 3)
    core.controls.kill(leader)
    core.deliver()
    core.controls.elect_unclean("t", 0)
    core.deliver()
    assert core.state("t").leader == new
    epoch = core.state("t").leader_epoch
    after = core.client(node=new)
    after.produce("t", b"other")
    # A position behind offset 1 in epoch 0 is not there any more.
    assert asked(core, new, 0, epoch, version) == (0, 0, 1)
    assert asked(core, new, epoch, epoch, version) == (0, epoch, 2)
    assert asked(core, new, epoch + 1, epoch, version) == (0, -1, -1)
    assert asked(core, new, 0, 0, version) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert asked(core, new, 0, epoch + 1, version) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert asked(core, other, 0, epoch, version) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
    unknown = asked(core, new, 0, epoch, version, topic="nowhere")
    assert unknown == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
