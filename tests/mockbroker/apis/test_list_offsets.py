"""From timestamps to offsets: special ones by version, real ones inside batches, and refusals."""

from __future__ import annotations

import pytest

from mockbroker.apis.list_offsets import handle
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.fetch_world import Pending, World


@pytest.fixture
def world() -> World:
    """Offsets 0 to 2 of times 100, 300, 200 in one batch; then 3 of time 250 in epoch 4."""
    world = World()
    world.create_topic("t0", 2)
    records = [Record(i, time, None, b"v", []) for i, time in enumerate((100, 300, 200))]
    world.append_batch("t0", 0, build_batch(records))
    world.change_leader("t0", 0, 1, 4)
    world.append_batch("t0", 0, build_batch([Record(0, 250, None, b"v", [])]))
    return world


def look_up(
    world: World,
    *asked: ListOffsetsPartition,
    version: int = 11,
    isolation: int = 0,
    replica: int = -1,
) -> list[ListOffsetsPartitionResponse]:
    request = ListOffsetsRequest(replica, isolation, [ListOffsetsTopic("t0", list(asked))])
    response = handle(world.services, world.context(version, Pending(), 2), request)
    assert isinstance(response, ListOffsetsResponse)
    return response.topics[0].partitions


def found(
    world: World, timestamp: int, version: int = 11, isolation: int = 0, replica: int = -1
) -> tuple[int, int, int, int]:
    (answer,) = look_up(
        world,
        ListOffsetsPartition(0, -1, timestamp),
        version=version,
        isolation=isolation,
        replica=replica,
    )
    return answer.error_code, answer.timestamp, answer.offset, answer.leader_epoch


@pytest.mark.parametrize(
    ("timestamp", "first_version", "expected"),
    [
        (-1, 1, (0, -1, 4, 4)),
        (-2, 1, (0, -1, 0, 0)),
        (-3, 7, (0, 300, 1, 0)),
        (-4, 8, (0, -1, 0, 0)),
        (-5, 9, (0, -1, -1, -1)),
        (-6, 11, (0, -1, -1, -1)),
        (-7, 12, None),
    ],
)
def test_special_timestamps_by_version(
    world: World, timestamp: int, first_version: int, expected: tuple[int, int, int, int]
) -> None:
    if first_version <= 11:
        assert found(world, timestamp) == expected
    if first_version > 1:
        assert found(world, timestamp, first_version - 1) == (35, -1, -1, -1)


def test_epochs_are_told_from_version_4_on(world: World) -> None:
    assert found(world, -1, 3) == (0, -1, 4, -1)
    assert found(world, -1, 4) == (0, -1, 4, 4)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (0, (0, 100, 0, 0)),
        (100, (0, 100, 0, 0)),
        (101, (0, 300, 1, 0)),
        (300, (0, 300, 1, 0)),
        (301, (0, -1, -1, -1)),
    ],
)
def test_the_first_record_in_offset_order_that_is_not_older(
    world: World, timestamp: int, expected: tuple[int, int, int, int]
) -> None:
    assert found(world, timestamp) == expected


def test_an_empty_partition_knows_its_ends_only(world: World) -> None:
    for timestamp, offset, epoch in ((-1, 0, 0), (-2, 0, 0), (-3, -1, -1), (5, -1, -1)):
        (answer,) = look_up(world, ListOffsetsPartition(1, -1, timestamp))
        assert (answer.error_code, answer.offset, answer.leader_epoch) == (0, offset, epoch)


def test_isolation_and_replica_id_bound_what_is_seen() -> None:
    world = World()
    world.create_topic("t0")
    records = [Record(0, 100, None, b"v", [])]
    world.append_batch("t0", 0, build_batch(records))
    world.append_batch(
        "t0", 0, build_batch(records, producer_id=7, producer_epoch=0, transactional=True)
    )
    assert found(world, -1)[2] == 2
    assert found(world, -1, isolation=1)[2] == 1
    world.partition("t0").open_log().set_high_watermark(0)
    assert found(world, -1)[2] == 0
    assert found(world, 100)[2] == -1
    assert found(world, -1, replica=5)[2] == 2


def test_a_partition_asked_for_twice_is_refused_once(world: World) -> None:
    answers = look_up(
        world,
        ListOffsetsPartition(0, -1, -1),
        ListOffsetsPartition(1, -1, -1),
        ListOffsetsPartition(0, -1, -2),
    )
    assert [(a.partition_index, a.error_code) for a in answers] == [(0, 42), (1, 0)]


def test_unknown_partitions_and_epochs_that_are_not_ours(world: World) -> None:
    answers = look_up(
        world,
        ListOffsetsPartition(9, -1, -1),
        ListOffsetsPartition(-1, -1, -1),
        ListOffsetsPartition(0, 3, -1),
    )
    assert [answer.error_code for answer in answers] == [3, 3, 74]
    assert [a.error_code for a in look_up(world, ListOffsetsPartition(0, 5, -1))] == [75]
    assert [a.error_code for a in look_up(world, ListOffsetsPartition(0, 4, -1))] == [0]


def test_only_the_leader_answers_but_for_a_debugging_consumer(world: World) -> None:
    world.change_leader("t0", 0, 2, 5, (1, 2))
    assert found(world, -2)[0] == 6
    assert found(world, -2, replica=-2)[0] == 0
    world.change_leader("t0", 0, 2, 6, (2,))
    assert found(world, -2, replica=-2)[0] == 6


def test_a_new_leader_that_cannot_say_where_the_log_ends() -> None:
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    world.append_batch("t0", 0, build_batch([Record(0, 100, None, b"v", [])]))
    world.change_leader("t0", 0, 1, 1, (1, 2))
    assert found(world, -1, 5)[0] == 78
    assert found(world, -1, 4)[0] == 5
    assert found(world, 100)[0] == 78
    assert found(world, -2) == (0, -1, 0, 0)
    assert found(world, -1, replica=2)[0] == 0
