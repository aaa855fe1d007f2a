"""A partition between its replicas: what a leader takes from fetches, a follower from answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.journal import Event, HighWatermarkMoved, Journal
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged, PartitionState
from mockbroker.replica.append_entry import AppendEntry
from mockbroker.replica.delayed_delete_records import DeletedEntry
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchRequestPartition,
    FetchResponsePartition,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.mockbroker.replica.watcher import Watcher
from tests.support.fetch_world import ZERO, World, batch

if TYPE_CHECKING:
    from mockbroker.replica.partition import Partition


class Led:
    """t0-0, led here with a follower 2 (and 3), and what its leader proposed."""

    def __init__(self, *isr: int, replicas: tuple[int, ...] = (1, 2), min_isr: int = 1) -> None:
        self.world = World()
        self.world.metadata.apply(BrokerChanged(BrokerInfo(3)))
        configs = {"min.insync.replicas": str(min_isr)}
        self.world.create_topic("t0", replicas=replicas, isr=isr or None, configs=configs)
        self.proposed: list[list[int]] = []
        self.world.replicas.propose_isr = lambda _, isr: self.proposed.append(isr)

    @property
    def partition(self) -> Partition:
        return self.world.partition("t0")

    def entry(self, offset: int, log_start: int = 0) -> FetchEntry:
        request = FetchRequestPartition(fetch_offset=offset, log_start_offset=log_start)
        made = FetchEntry(FetchTopic("t0", ZERO), request)
        made.partition = self.partition
        return made

    def fetched(self, node: int, offset: int, log_start: int = 0, epoch: int = -1) -> bool:
        entry = self.entry(offset, log_start)
        end = self.partition.open_log().log_end_offset
        return self.partition.follower_fetched(node, entry, end, epoch)

    def become(self, leader: int, epoch: int, *isr: int, replicas: tuple[int, ...] = ()) -> None:
        state = PartitionState(leader, list(replicas or (1, 2)), list(isr), epoch)
        self.partition.change_state(state)


def in_step() -> Led:
    """Two records, which the follower has."""
    led = Led()
    led.world.append("t0", 0, 50, 50)
    led.fetched(2, 2)
    led.world.replicas.drain()
    assert led.partition.high_watermark == 2
    return led


# -- the leader -------------------------------------------------------------------------------


def test_a_high_watermark_that_moves_names_the_follower_whose_fetch_moved_it() -> None:
    led = Led(replicas=(1, 2, 3))
    journal = Journal()
    told: list[Event] = []
    journal.listen(told.append, high_watermarks=True)
    led.world.replicas.journal = journal
    led.world.append("t0", 0, 50, 50)
    led.fetched(3, 2)
    led.fetched(2, 2)
    led.world.append("t0", 0, 50)
    led.become(1, 1, 1)
    moves = [event for event in told if isinstance(event, HighWatermarkMoved)]
    assert [(event.after, event.follower) for event in moves] == [(2, 2), (3, None)]


def test_below_the_least_in_sync_set_nothing_is_committed() -> None:
    led = Led(1, min_isr=2)
    led.world.append("t0", 0, 50)
    led.fetched(2, 1)
    assert led.partition.high_watermark == 0
    led.become(1, 0, 1, 2)
    led.fetched(2, 1)
    assert led.partition.high_watermark == 1


@pytest.mark.parametrize(("min_isr", "isr", "under"), [(1, 1, 0), (2, 1, 1), (2, 2, 0), (3, 2, 0)])
def test_the_least_in_sync_set_counts_who_is_in_sync(min_isr: int, isr: int, under: int) -> None:
    """Of three wanted among two replicas, two are enough."""
    led = Led(*range(1, isr + 1), min_isr=min_isr)
    assert led.partition.is_under_min_isr() == bool(under)
    entry = AppendEntry(0, led.partition, batch(5))
    entry.append_to(led.partition, -1)
    assert entry.error == (ErrorCode.NOT_ENOUGH_REPLICAS if under else ErrorCode.NONE)
    assert (led.partition.log is None) == bool(under)


def test_a_held_high_watermark_stands_still_until_it_is_released() -> None:
    led = Led()
    led.world.replicas.hold_high_watermark(led.partition)
    led.world.append("t0", 0, 50)
    assert not led.fetched(2, 1)
    assert led.partition.high_watermark == 0
    led.world.replicas.release_high_watermark(led.partition)
    assert led.partition.high_watermark == 1


def test_a_fetch_that_raises_the_high_watermark_tells_and_wakes() -> None:
    led = Led()
    led.world.append("t0", 0, 50)
    watcher = Watcher()
    led.partition.watch(watcher)
    assert not led.fetched(2, 0)
    assert (watcher.marks, led.world.replicas.has_ready) == (0, False)
    assert led.fetched(2, 1)
    assert (watcher.marks, led.world.replicas.has_ready) == (1, True)


def test_a_follower_that_was_cut_has_less_than_before() -> None:
    led = in_step()
    led.world.append("t0", 0, 50)
    led.fetched(2, 1)
    led.world.append("t0", 0, 50)
    led.fetched(2, 3)
    led.fetched(2, 2)
    led.become(1, 0, 1, 2)
    assert led.partition.followers is not None
    follower = led.partition.followers.get(2)
    assert follower is not None
    assert follower.log_end_offset == 2


def test_who_polled_an_idle_partition_was_caught_up_then() -> None:
    led = in_step()
    polled: list[int] = []

    class Session(FetchEntry):
        def polled_ms(self) -> float:
            polled.append(1)
            return led.world.clock.now_ms

    entry = Session(FetchTopic("t0", ZERO), FetchRequestPartition(fetch_offset=2))
    led.partition.follower_fetched(2, entry, 2)
    led.world.advance(60_000)
    led.world.append("t0", 0, 50)
    led.partition.shrink_in_sync()
    assert (polled, led.proposed) == ([1], [])
    led.world.advance(30_001)
    led.partition.shrink_in_sync()
    assert led.proposed == [[1]]


def test_a_follower_that_has_caught_up_is_proposed_once() -> None:
    led = Led(1)
    led.world.append("t0", 0, 50)
    led.fetched(2, 0)
    assert led.proposed == []
    led.fetched(2, 1)
    led.fetched(2, 1)
    assert led.proposed == [[1, 2]]


def test_news_of_the_controller_settle_a_proposal() -> None:
    led = Led(1)
    led.world.append("t0", 0, 50)
    led.fetched(2, 1)
    led.become(1, 0, 1)
    led.fetched(2, 1)
    assert led.proposed == [[1, 2], [1, 2]]


def test_who_joins_has_what_the_leader_began_with() -> None:
    """Partition.isFollowerInSync: the high watermark may be behind the start of the epoch."""
    led = in_step()
    led.world.append("t0", 0, 50)
    led.become(1, 1, 1, 3, replicas=(1, 2, 3))
    assert (led.partition.high_watermark, led.partition.epoch_start_offset) == (2, 3)
    led.fetched(2, 2)
    assert led.proposed == []
    led.fetched(2, 3)
    assert led.proposed == [[1, 3, 2]]


def test_who_is_proposed_holds_the_high_watermark_back_however_late() -> None:
    """KIP-497: it may lead as soon as the controller has agreed."""
    led = Led(1)
    led.world.append("t0", 0, 50)
    led.fetched(2, 1)
    led.world.advance(60_000)
    led.world.append("t0", 0, 50)
    assert led.partition.high_watermark == 1


def test_a_fenced_follower_neither_joins_nor_holds_back() -> None:
    led = Led(1)
    led.world.metadata.apply(BrokerChanged(BrokerInfo(2, fenced=True)))
    led.world.append("t0", 0, 50)
    led.fetched(2, 1)
    led.world.append("t0", 0, 50)
    assert (led.proposed, led.partition.high_watermark) == ([], 2)


def test_what_a_follower_fetched_before_it_registered_anew_does_not_count() -> None:
    """KIP-903: it may have lost that since."""
    led = Led(1)
    led.world.metadata.apply(BrokerChanged(BrokerInfo(2, epoch=3, fenced=True)))
    led.world.append("t0", 0, 50)
    led.fetched(2, 1, epoch=3)
    led.world.metadata.apply(BrokerChanged(BrokerInfo(2, epoch=4)))
    assert led.proposed == []
    led.world.append("t0", 0, 50)
    assert led.partition.high_watermark == 2
    led.fetched(2, 1, epoch=4)
    assert led.proposed == []
    led.fetched(2, 2, epoch=4)
    assert led.proposed == [[1, 2]]


def test_each_epoch_begins_without_knowing_its_followers() -> None:
    led = in_step()
    led.become(1, 1, 1, 2)
    led.world.append("t0", 0, 50)
    assert led.partition.followers is not None
    follower = led.partition.followers.get(2)
    assert follower is not None
    assert follower.log_end_offset == -1
    assert led.partition.open_log().latest_epoch == 1


def test_a_leader_stamps_its_epoch_before_it_appends() -> None:
    led = in_step()
    led.become(1, 4, 1, 2)
    assert led.partition.open_log().latest_epoch == 4
    assert led.partition.open_log().end_offset_for_epoch(0) == (0, 2)


@pytest.mark.parametrize(("error", "diverges", "end"), [(0, 0, 2), (6, 0, -1), (0, 1, -1)])
def test_only_a_fetch_that_was_served_tells_what_a_follower_has(
    error: int, diverges: int, end: int
) -> None:
    led = Led()
    led.world.append("t0", 0, 50, 50)
    data = FetchResponsePartition(0, error)
    data.diverging_epoch = EpochEndOffset(0, 1) if diverges else None
    moved = led.world.replicas.follower_fetched(2, [(led.entry(2), data)])
    assert led.partition.followers is not None
    follower = led.partition.followers.get(2)
    assert follower is not None
    assert (moved, follower.log_end_offset) == (end == 2, end)


def test_only_the_leader_serves_look_ups() -> None:
    led = Led()
    led.become(2, 1, 1, 2)
    find = led.world.replicas.readable_partition
    assert find("t0", 0, -1, only_leader=True) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert find("t0", 0, -1, only_leader=False) is led.partition


def test_a_replica_that_was_taken_away_is_no_unknown_topic() -> None:
    led = Led()
    assert led.partition.error_when_gone() is ErrorCode.NOT_LEADER_OR_FOLLOWER
    gone = led.partition
    led.world.delete_topic("t0")
    assert gone.error_when_gone() is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- who waits --------------------------------------------------------------------------------


def test_acks_of_all_wait_for_the_last_record() -> None:
    led = Led()
    answers: list[int] = []
    entry = AppendEntry(0, led.partition, batch(5, 2))
    led.world.replicas.append_records(1_000, -1, [entry], lambda: answers.append(1))
    led.fetched(2, 1)
    led.world.replicas.drain()
    assert (led.partition.high_watermark, answers, entry.is_done()) == (1, [], False)
    led.fetched(2, 2)
    led.world.replicas.drain()
    assert (answers, entry.error, entry.is_done()) == ([1], ErrorCode.NONE, True)


def test_acks_of_all_do_not_wait_where_nobody_follows() -> None:
    led = Led(replicas=(1,))
    answers: list[int] = []
    entry = AppendEntry(0, led.partition, batch(5, 2))
    assert not led.world.replicas.append_records(9, -1, [entry], lambda: answers.append(1))
    assert answers == [1]


def test_records_are_deleted_when_live_followers_have_moved_their_start() -> None:
    led = Led(1, 2, 3, replicas=(1, 2, 3))
    led.world.append("t0", 0, 50, 50)
    for node in (2, 3):
        led.fetched(node, 2)
    assert led.partition.delete_records_before(2) is ErrorCode.NONE
    entry = DeletedEntry(led.partition, 2)
    answers: list[int] = []
    led.world.replicas.when_deleted(1_000, [entry], lambda: answers.append(1))
    led.fetched(2, 2, log_start=2)
    led.fetched(3, 2, log_start=1)
    led.world.replicas.drain()
    assert (answers, led.partition.low_watermark()) == ([], 1)
    led.world.metadata.apply(BrokerChanged(BrokerInfo(3, fenced=True)))
    assert led.partition.low_watermark() == 2
    led.world.metadata.apply(BrokerChanged(BrokerInfo(3)))
    led.fetched(3, 2, log_start=2)
    led.world.replicas.drain()
    assert (answers, entry.low_watermark) == ([1], 2)


def test_coordinators_are_told_of_a_high_watermark_in_turns_too() -> None:
    led = Led()
    told: list[int] = []
    led.partition.high_watermark_listener = lambda partition: told.append(partition.index)
    led.world.append_undrained("t0", 0, 50)
    led.world.replicas.waking = iter(())
    led.world.replicas.drain(lambda: False)
    assert told == [0]
    led.world.append("t0", 0, 50)
    assert told == [0, 0]


# -- a follower -------------------------------------------------------------------------------


class Follows:
    """t0-0, led by 2, with two records that a leader sent."""

    def __init__(self) -> None:
        self.world = World()
        self.world.create_topic("t0", leader=2, replicas=(1, 2))
        source = World()
        source.create_topic("t0")
        source.append("t0", 0, 50, 50)
        chunks = source.partition("t0").open_log().iterate_batches(0)
        self.records = b"".join(bytes(data) for _, data in chunks)
        self.watcher = Watcher()
        self.partition = self.world.partition("t0")
        self.partition.watch(self.watcher)


@pytest.mark.parametrize(("told", "expected"), [(0, 0), (1, 1), (9, 2)])
def test_a_follower_takes_the_high_watermark_over(told: int, expected: int) -> None:
    follows = Follows()
    assert follows.partition.append_as_follower(follows.records, told, 0) is ErrorCode.NONE
    assert follows.partition.high_watermark == expected
    assert follows.world.replicas.has_ready == bool(expected)
    assert follows.watcher.marks == 1


def test_a_followers_high_watermark_may_go_back() -> None:
    follows = Follows()
    follows.partition.append_as_follower(follows.records, 2, 0)
    follows.partition.append_as_follower(b"", 1, 0)
    assert follows.partition.high_watermark == 1


def test_a_follower_takes_the_log_start_over_as_far_as_it_has_committed() -> None:
    follows = Follows()
    follows.partition.append_as_follower(follows.records, 1, 1)
    assert follows.partition.open_log().log_start_offset == 1
    follows.partition.append_as_follower(b"", 1, 2)
    assert follows.partition.open_log().log_start_offset == 1


@pytest.mark.parametrize(("leader_log_start", "taken"), [(2, True), (1, False)])
def test_a_batch_around_where_the_leaders_log_begins_displaces_what_it_has_deleted(
    leader_log_start: int, *, taken: bool
) -> None:
    """The follower has others under the first offsets of the batch; the leader tells none."""
    follows = Follows()
    follows.partition.append_as_follower(follows.records, 0, 0)
    wide = bytearray(build_batch([Record(each, 0, None, b"v", []) for each in range(3)]))
    wide[:8] = (1).to_bytes(8, "big")
    error = follows.partition.append_as_follower(bytes(wide), 4, leader_log_start)
    log = follows.partition.open_log()
    if taken:
        assert error is ErrorCode.NONE
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (2, 4, 4)
        assert [header.base_offset for header, _ in log.iterate_batches(0)] == [0, 1]
    else:
        assert error is ErrorCode.OFFSET_OUT_OF_RANGE
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 0, 2)


def test_a_batch_around_the_log_start_displaces_nothing_where_what_follows_cannot_be_stored() -> (
    None
):
    follows = Follows()
    follows.partition.append_as_follower(follows.records, 0, 0)
    wide = bytearray(build_batch([Record(each, 0, None, b"v", []) for each in range(3)]))
    wide[:8] = (1).to_bytes(8, "big")
    spoilt = bytearray(build_batch([Record(4, 0, None, b"v", [])]))
    spoilt[-1] ^= 0xFF
    for after, expected in (
        (spoilt, ErrorCode.CORRUPT_MESSAGE),
        (wide, ErrorCode.OFFSET_OUT_OF_RANGE),
    ):
        error = follows.partition.append_as_follower(bytes(wide + after), 4, 2)
        assert error is expected
        log = follows.partition.open_log()
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 0, 2)


def test_what_cannot_be_stored_changes_nothing() -> None:
    follows = Follows()
    spoilt = follows.records[:-1] + b"\xff"
    assert follows.partition.append_as_follower(spoilt, 2, 1) is ErrorCode.CORRUPT_MESSAGE
    log = follows.partition.open_log()
    assert (log.log_end_offset, log.high_watermark, log.log_start_offset) == (0, 0, 0)
    assert not follows.world.replicas.has_ready
