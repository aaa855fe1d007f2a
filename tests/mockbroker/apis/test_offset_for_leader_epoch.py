"""Where leader epochs ended."""

from __future__ import annotations

import pytest

from mockbroker.apis.offset_for_leader_epoch import handle
from protocol.messages.list_offsets import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
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
