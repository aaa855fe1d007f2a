"""A partition tells of each change to those who watch, and wakes those who wait for it."""

from __future__ import annotations

import pytest

from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.replica.append_entry import AppendEntry
from mockbroker_protocol.errors import ErrorCode
from tests.mockbroker.replica.watcher import Watcher
from tests.support.fetch_world import World, batch


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t0", configs={"segment.ms": "1000"})
    return world


def watch(world: World) -> Watcher:
    watcher = Watcher()
    world.partition("t0").watch(watcher)
    return watcher


def test_a_partition_makes_its_log_when_it_is_first_written(world: World) -> None:
    partition = world.partition("t0")
    assert (partition.log, partition.high_watermark) == (None, 0)
    world.append("t0", 0, 50)
    assert partition.log is not None
    assert partition.high_watermark == 1
    assert partition.log.latest_epoch == 0


def test_a_late_log_knows_the_last_epoch_in_which_this_node_led(world: World) -> None:
    world.change_leader("t0", 0, 1, 3, (1, 2))
    world.change_leader("t0", 0, 2, 4, (1, 2))
    assert world.partition("t0").open_log().latest_epoch == 3


def test_an_epoch_from_before_a_broker_registered_again_is_old(world: World) -> None:
    """KIP-903: what a replica fetched before it restarted may be lost since."""
    partition = world.partition("t0")
    world.metadata.apply(BrokerChanged(BrokerInfo(2, epoch=7)))
    old = {epoch: partition.knows_newer(2, epoch) for epoch in (-1, 0, 6, 7, 8)}
    assert old == {-1: False, 0: True, 6: True, 7: False, 8: False}
    assert not partition.knows_newer(9, 1)


def test_appends_mark_watchers_and_make_the_partition_ready(world: World) -> None:
    watcher = watch(world)
    world.append_undrained("t0", 0, 50)
    assert (watcher.marks, world.replicas.has_ready) == (1, True)


def test_a_refused_or_duplicate_append_tells_nobody(world: World) -> None:
    watcher = watch(world)
    assert world.partition("t0").append_batch(b"", AppendOrigin.CLIENT).error
    assert (watcher.marks, world.replicas.has_ready) == (0, False)


def test_a_new_segment_is_told_with_the_one_that_was_left(world: World) -> None:
    watcher = watch(world)
    world.append("t0", 0, 50, 50)
    assert watcher.left == []
    for expected in ([0], [0, 2]):
        world.advance(5_000)
        world.append("t0", 0, 50)
        assert watcher.left == expected


def test_a_moved_log_start_marks_but_wakes_nobody(world: World) -> None:
    world.append("t0", 0, 50)
    watcher = watch(world)
    partition = world.partition("t0")
    assert partition.delete_records_before(5) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert watcher.marks == 0
    assert partition.delete_records_before(-1) is ErrorCode.NONE
    assert (watcher.marks, world.replicas.has_ready) == (1, False)


def test_a_lost_lead_wakes_and_a_new_epoch_alone_does_not(world: World) -> None:
    watcher = watch(world)
    partition = world.partition("t0")
    state = partition.state
    partition.change_state(type(state)(1, [1, 2], [1, 2], 1))
    assert (watcher.marks, world.replicas.has_ready) == (1, False)
    partition.change_state(type(state)(2, [1, 2], [1, 2], 2))
    assert (watcher.marks, world.replicas.has_ready) == (2, True)


def test_deletion_marks_wakes_and_refuses_appends(world: World) -> None:
    world.append("t0", 0, 50)
    watcher = watch(world)
    partition = world.partition("t0")
    partition.delete()
    assert (watcher.marks, world.replicas.has_ready, partition.log) == (1, True, None)
    entry = AppendEntry(0, partition, batch(5))
    entry.append_to(partition)
    assert entry.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_only_a_leader_appends(world: World) -> None:
    world.change_leader("t0", 0, 2, 1, (1, 2))
    entry = AppendEntry(0, world.partition("t0"), batch(5))
    entry.append_to(world.partition("t0"))
    assert entry.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_the_high_watermark_waits_for_the_in_sync_set() -> None:
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    world.append("t0", 0, 50)
    watcher = watch(world)
    assert world.partition("t0").high_watermark == 0
    state = world.partition("t0").state
    world.partition("t0").change_state(type(state)(1, [1, 2], [1], 0))
    assert world.partition("t0").high_watermark == 1
    assert (watcher.marks, world.replicas.has_ready) == (1, True)
