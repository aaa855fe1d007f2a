"""What a partition adds to a parked fetch, and what ends the wait whatever it adds."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.clock import Timer
from mockbroker.purgatory.purgatory import Purgatory
from mockbroker.replica.delayed_fetch import COMPLETE, DelayedFetch, PartitionsWait, bytes_available
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.fetch_params import FetchParams
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.messages.fetch import FetchRequest, FetchRequestPartition
from tests.support.fetch_world import ZERO, World


@pytest.fixture
def world() -> World:
    """Two batches of 118 bytes."""
    world = World()
    world.create_topic("t0", configs={"segment.ms": "1000"})
    world.append("t0", 0, 50, 50)
    return world


def weigh(
    world: World, offset: int, *, segment: int | None = None, version: int = 12, **values: Any
) -> int:
    request = FetchRequestPartition(fetch_offset=offset, partition_max_bytes=1 << 20)
    for name, value in values.items():
        setattr(request, name, value)
    entry = FetchEntry(FetchTopic("t0", ZERO), request)
    entry.partition = world.partition("t0")
    return bytes_available(entry, FetchParams(FetchRequest(), version, 1 << 20), segment)


def test_bytes_up_to_the_bound_within_the_limit_of_the_partition(world: World) -> None:
    assert weigh(world, 0) == 236
    assert weigh(world, 1) == 118
    assert weigh(world, 2) == 0
    assert weigh(world, 0, partition_max_bytes=100) == 100


def test_an_offset_beyond_the_bound_completes(world: World) -> None:
    world.partition("t0").open_log().set_high_watermark(1)
    assert weigh(world, 1) == 0
    assert weigh(world, 2) == COMPLETE


def test_an_offset_on_an_older_segment_completes(world: World) -> None:
    world.advance(5_000)
    world.append("t0", 0, 50)
    assert weigh(world, 0) == COMPLETE
    assert weigh(world, 2) == 118
    assert weigh(world, 2, segment=0) == COMPLETE, "it was parked before the segment began"
    assert weigh(world, 3, segment=0) == 0


def test_a_reader_parked_on_a_segment_that_was_cut_off_completes(world: World) -> None:
    world.advance(5_000)
    world.append("t0", 0, 50)
    assert weigh(world, 0, segment=9) == weigh(world, 2, segment=9) == COMPLETE


def test_fenced_diverging_and_lost_partitions_complete(world: World) -> None:
    assert weigh(world, 2, current_leader_epoch=0) == 0
    assert weigh(world, 2, last_fetched_epoch=0) == 0
    assert weigh(world, 2, last_fetched_epoch=9) == COMPLETE
    world.change_leader("t0", 0, 2, 1, (1, 2))
    assert weigh(world, 2, current_leader_epoch=0) == COMPLETE
    assert weigh(world, 2) == 0
    assert weigh(world, 2, version=10) == COMPLETE


def test_a_reader_that_sends_its_high_watermark_waits_for_anything_new(world: World) -> None:
    assert weigh(world, 2, high_watermark=1) == COMPLETE
    assert weigh(world, 2, high_watermark=2) == 0
    assert weigh(world, 1, high_watermark=2) == COMPLETE


def test_nothing_adds_nothing() -> None:
    world = World()
    world.create_topic("t0")
    assert weigh(world, 0) == 0
    assert weigh(world, 1) == COMPLETE
    assert weigh(world, 0, last_fetched_epoch=0) == 0
    entry = FetchEntry(FetchTopic("t0", ZERO), FetchRequestPartition())
    assert bytes_available(entry, FetchParams(FetchRequest(), 12, 1), None) == COMPLETE


@pytest.mark.parametrize(("min_bytes", "over"), [(117, True), (118, True), (119, False)])
def test_a_list_of_partitions_waits_for_as_many_bytes_as_were_asked(
    world: World, min_bytes: int, over: bool
) -> None:
    entry = FetchEntry(
        FetchTopic("t0", ZERO), FetchRequestPartition(fetch_offset=1, partition_max_bytes=1 << 20)
    )
    entry.partition = world.partition("t0")
    params = FetchParams(FetchRequest(min_bytes=min_bytes, max_bytes=1 << 20), 12, 1 << 20)
    assert PartitionsWait([entry], LogReader(params)).satisfied() == over


def test_a_deleted_partition_completes(world: World) -> None:
    entry = FetchEntry(FetchTopic("t0", ZERO), FetchRequestPartition())
    entry.partition = world.partition("t0")
    world.delete_topic("t0")
    assert bytes_available(entry, FetchParams(FetchRequest(), 12, 1), None) == COMPLETE


class Wait:
    """A wait that is over when the test says so."""

    def __init__(self) -> None:
        self.over = False
        self.ended = 0

    def satisfied(self) -> bool:
        return self.over

    def keys(self) -> tuple[str]:
        return ("key",)

    def end(self) -> None:
        self.ended += 1


def test_a_delayed_fetch_answers_once_and_ends_its_wait_once() -> None:
    answers: list[str] = []
    wait = Wait()
    delayed = DelayedFetch(10.0, wait, lambda: answers.append("answer"))
    assert not delayed.try_complete()
    wait.over = True
    assert delayed.try_complete()
    assert not delayed.force_complete()
    delayed.give_up()
    assert (answers, wait.ended) == (["answer"], 1)


def test_an_expiry_is_told_after_the_answer_and_a_completion_is_not() -> None:
    timer = Timer()
    purgatory = Purgatory(timer)
    told: list[str] = []
    wait = Wait()

    def park() -> DelayedFetch:
        delayed = DelayedFetch(
            10.0, wait, lambda: told.append("answer"), lambda: told.append("expired")
        )
        purgatory.try_complete_else_watch(delayed, wait.keys())
        return delayed

    park()
    timer.advance(10.0)
    assert told == ["answer", "expired"]
    park().force_complete()
    assert told == ["answer", "expired", "answer"]


def test_one_that_is_given_up_ends_its_wait_without_an_answer() -> None:
    answers: list[str] = []
    wait = Wait()
    delayed = DelayedFetch(10.0, wait, lambda: answers.append("answer"))
    delayed.give_up()
    delayed.force_complete()
    assert (answers, wait.ended) == ([], 1)
