"""One pass over partitions: what it spends, and what it notices."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.fetch_params import FetchParams
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.messages.fetch import FetchRequest, FetchRequestPartition, ReplicaState
from tests.support.fetch_world import ZERO, World, topic_id


def entry(world: World, offset: int, *, identity: bytes = ZERO, **values: Any) -> FetchEntry:
    request = FetchRequestPartition(fetch_offset=offset, partition_max_bytes=1 << 20)
    for name, value in values.items():
        setattr(request, name, value)
    made = FetchEntry(FetchTopic("t0", identity), request)
    made.partition = world.replicas.partition("t0", 0)
    return made


def reader(max_bytes: int = 1_000, **values: Any) -> LogReader:
    return LogReader(FetchParams(FetchRequest(max_bytes=max_bytes, **values), 12, 1 << 20))


def world_with(*sizes: int) -> World:
    world = World()
    world.create_topic("t0")
    world.append("t0", 0, *sizes)
    return world


def test_a_pass_adds_up_what_it_read_and_spends_its_budget() -> None:
    world = world_with(50, 50)
    one = reader(300)
    one.read(entry(world, 0))
    assert (one.bytes_read, one.last_size_bytes, one.budget, one.min_one) == (236, 236, 64, False)
    one.read(entry(world, 0))
    assert (one.bytes_read, one.last_size_bytes, one.budget) == (236, 0, 64)
    assert not one.respond_now


def test_a_first_batch_beyond_the_budget_leaves_nothing_of_it() -> None:
    one = reader(10)
    one.read(entry(world_with(50), 0))
    assert (one.bytes_read, one.budget) == (118, 0)


def test_reading_where_nothing_is_makes_no_log() -> None:
    world = World()
    world.create_topic("t0")
    assert reader().read(entry(world, 0)).error_code == 0
    assert reader().read(entry(world, 1)).error_code == 1
    assert world.partition("t0").log is None
    assert reader().read(entry(world, 0, last_fetched_epoch=0)).error_code == 0
    assert reader().read(entry(world, 0, last_fetched_epoch=1)).error_code == 1


def test_errors_and_divergence_call_for_an_answer_at_once() -> None:
    world = world_with(50)
    for made, leader_error in (
        (entry(world, 9), False),
        (entry(world, 0, current_leader_epoch=5), False),
        (entry(world, 0, last_fetched_epoch=0, identity=topic_id("t9")), False),
        (entry(world, 5, last_fetched_epoch=0), False),
    ):
        one = reader()
        one.read(made)
        assert one.respond_now
        assert one.leader_errors == leader_error
    world.change_leader("t0", 0, 1, 5)
    one = reader()
    one.read(entry(world, 0, current_leader_epoch=4))
    assert one.leader_errors


def test_a_topic_id_that_is_not_the_logs_answers_103() -> None:
    world = world_with(50)
    assert reader().read(entry(world, 0, identity=topic_id("t0"))).error_code == 0
    assert reader().read(entry(world, 0, identity=topic_id("t9"))).error_code == 103


def test_a_negative_budget_fails_the_first_partition_with_data_only() -> None:
    world = world_with(50)
    one = reader(-1)
    assert one.read(entry(world, 0)).error_code == -1
    assert one.read(entry(world, 0)).error_code == 0
    assert one.last_size_bytes == 118
    one = reader(-1)
    assert one.read(entry(world, 1)).error_code == 0
    assert one.read(entry(world, 0)).error_code == 0


def test_what_a_consumer_is_given_is_noted() -> None:
    world = world_with(50, 50)
    one = reader(300)
    for offset in (1, 2, 0):
        one.read(entry(world, offset))
    assert one.fetched == [(world.partition("t0"), 1, 118), (world.partition("t0"), 1, 182)]


def test_a_pass_that_gives_nothing_notes_nothing() -> None:
    one = reader()
    one.read(entry(world_with(50), 1))
    assert one.fetched is None


@pytest.mark.parametrize(
    ("replica_id", "broker_epoch", "leader_epoch", "expected"),
    [
        (2, 7, -1, 0),
        (2, -1, -1, 0),
        (2, 6, -1, 6),
        (1, 7, -1, 6),
        (9, 7, -1, 6),
        (9, 7, 0, 75),
        (2, 7, 1, 75),
    ],
)
def test_only_the_present_incarnation_of_another_replica_follows(
    replica_id: int, broker_epoch: int, leader_epoch: int, expected: int
) -> None:
    """KIP-903: what a broker fetched before it registered anew may be lost since."""
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    world.append("t0", 0, 50)
    world.metadata.apply(BrokerChanged(BrokerInfo(2, epoch=7)))
    follower = reader(replica_state=ReplicaState(replica_id, broker_epoch))
    made = entry(world, 0, current_leader_epoch=leader_epoch)
    assert follower.read(made).error_code == expected


def test_an_older_leader_epoch_is_fenced_and_a_newer_one_unknown() -> None:
    world = world_with(50)
    world.change_leader("t0", 0, 1, 3)
    codes = [reader().read(entry(world, 0, current_leader_epoch=at)).error_code for at in (2, 3, 4)]
    assert codes == [74, 0, 75]


def test_a_log_that_leaves_ours_is_told_where() -> None:
    """Epoch 0 has two records, epoch 2 one; nobody led in epoch 1."""
    world = world_with(50, 50)
    world.change_leader("t0", 0, 1, 2)
    world.append("t0", 0, 50)
    told = {}
    for offset, epoch in ((2, 0), (3, 0), (3, 2), (4, 2), (2, 1), (3, 1)):
        data = reader().read(entry(world, offset, last_fetched_epoch=epoch))
        diverging = data.diverging_epoch
        told[offset, epoch] = diverging and (diverging.epoch, diverging.end_offset)
    assert told == {
        (2, 0): None,
        (3, 0): (0, 2),
        (3, 2): None,
        (4, 2): (2, 3),
        (2, 1): (0, 2),
        (3, 1): (0, 2),
    }


def test_a_reader_that_knows_less_than_the_high_watermark_is_answered_at_once() -> None:
    """KIP-1166: also when it is given nothing."""
    world = world_with(50)
    for known, at_once in ((0, True), (1, False)):
        one = reader()
        one.read(entry(world, 1, high_watermark=known))
        assert one.respond_now == at_once
