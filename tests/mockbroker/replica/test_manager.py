"""Partitions follow the metadata; what appends release is completed by the drain, in order."""

from __future__ import annotations

import pytest

from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.changes import PartitionsAdded, PartitionState
from mockbroker.purgatory.purgatory import DelayedOperation
from mockbroker.replica.append_entry import AppendEntry
from mockbroker.replica.manager import ReplicaManager
from mockbroker_protocol.errors import ErrorCode
from tests.support.fetch_world import World, ask, batch


def test_partitions_come_grow_and_go_with_the_metadata() -> None:
    world = World()
    identity = world.create_topic("t0", 2)
    added = [PartitionState(2, [2], [2]), PartitionState(1, [1], [1])]
    world.metadata.apply(PartitionsAdded("t0", identity, 2, added))
    hosted = [world.replicas.partition("t0", index) is not None for index in range(5)]
    assert hosted == [True, True, False, True, False]
    assert [p.index for p in world.replicas.partitions_of("t0")] == [0, 1, 3]
    before = world.partition("t0")
    world.delete_topic("t0")
    assert before.deleted
    assert world.replicas.partition("t0", 0) is None
    world.create_topic("t0")
    assert world.partition("t0") is not before


def test_topics_that_were_there_before_are_hosted_too() -> None:
    world = World()
    world.create_topic("t0")
    late = ReplicaManager(1, world.clock, world.timer, world.config, world.metadata)
    assert late.partition("t0", 0) is not None


def test_a_reassigned_partition_comes_and_goes() -> None:
    world = World()
    world.create_topic("t0")
    partition = world.partition("t0")
    world.change_leader("t0", 0, 2, 1, (2,))
    assert partition.deleted
    assert partition.error_when_gone() is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.replicas.partition("t0", 0) is None
    world.change_leader("t0", 0, 1, 2, (1, 2))
    assert world.partition("t0").is_leader


def test_new_configs_reach_the_logs_in_use() -> None:
    world = World()
    world.create_topic("t0", 2)
    world.append("t0", 0, 50)
    world.configure_topic("t0", **{"max.message.bytes": "100"})
    result = world.partition("t0").append_batch(batch(200), AppendOrigin.CLIENT)
    assert result.error is ErrorCode.MESSAGE_TOO_LARGE
    assert world.partition("t0", 1).log is None


@pytest.mark.parametrize(
    ("index", "epoch", "expected"),
    [(0, -1, None), (0, 4, None), (0, 3, 74), (0, -5, 74), (0, 5, 75), (9, -1, 3), (-1, -1, 3)],
)
def test_a_look_up_finds_the_partition_or_says_why_not(
    index: int, epoch: int, expected: int | None
) -> None:
    world = World()
    world.create_topic("t0")
    world.change_leader("t0", 0, 1, 4)
    found = world.replicas.readable_partition("t0", index, epoch, only_leader=True)
    assert found == (world.partition("t0") if expected is None else expected)


def test_appends_fill_in_their_entries_and_complete_once() -> None:
    world = World()
    world.create_topic("t0")
    refused = AppendEntry(1, None, b"", ErrorCode.INVALID_RECORD)
    elsewhere = AppendEntry(2, None, b"")
    good = AppendEntry(0, world.partition("t0"), batch(5))
    calls: list[int] = []
    entries = [refused, elsewhere, good]
    delayed = world.replicas.append_records(1_000, 1, entries, lambda: calls.append(1))
    assert delayed is None
    assert calls == [1]
    assert [entry.error for entry in entries] == [87, 6, 0]
    assert world.replicas.has_ready
    world.replicas.drain()
    assert not world.replicas.has_ready


class Noted(DelayedOperation):
    """An operation that notes when it is tried."""

    def __init__(self, notes: list[str], name: str) -> None:
        super().__init__(1_000.0)
        self.notes = notes
        self.name = name

    def try_complete(self) -> bool:
        self.notes.append(self.name)
        return False

    def on_complete(self) -> None:
        self.notes.append(f"{self.name} done")


def test_the_drain_pokes_each_ready_partition_once_in_its_order_produces_first() -> None:
    world = World()
    world.create_topic("t0", 2)
    notes: list[str] = []
    for index in (0, 1):
        for purgatory, kind in (
            (world.replicas.fetch_purgatory, "fetch"),
            (world.replicas.produce_purgatory, "produce"),
        ):
            key = world.partition("t0", index)
            purgatory.try_complete_else_watch(Noted(notes, f"{kind} {index}"), [key])
    notes.clear()
    for index in (1, 0, 1):
        world.append_undrained("t0", index, 50)
    world.replicas.drain()
    assert notes == ["produce 1", "fetch 1", "produce 0", "fetch 0"]


def test_a_shutdown_completes_what_is_parked_everywhere() -> None:
    world = World()
    world.create_topic("t0", 2)
    sid = world.fetch_now(ask(("t0", 0, 0), ("t0", 1, 0), session=(0, 0))).session_id
    parked = [
        world.send(ask(("t0", 1, 0), wait=60_000, min_bytes=1)),
        world.send(ask(session=(sid, 1), wait=60_000, min_bytes=1)),
    ]
    world.replicas.release_parked()
    assert all(pending.answered for pending in parked)
    assert world.replicas.fetch_purgatory.num_delayed_operations == 0


def test_a_coordinator_is_told_of_the_high_watermark_when_the_step_drains() -> None:
    world = World()
    world.create_topic("t0", 2)
    told: list[tuple[int, int]] = []
    partition = world.partition("t0", 1)
    partition.high_watermark_listener = lambda one: told.append((one.index, one.high_watermark))
    for index in (0, 1, 1):
        world.append_undrained("t0", index, 50)
    assert told == []
    world.replicas.drain()
    assert told == [(1, 2)]
