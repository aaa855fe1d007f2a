"""A DeleteRecords waits for the log starts of live followers, or ends for what happened."""

from __future__ import annotations

import pytest

from mockbroker.replica.delayed_delete_records import DeletedEntry
from mockbroker.replica.delayed_entries import DelayedEntries
from mockbroker_protocol.errors import ErrorCode
from tests.support.fetch_world import World


class Parked:
    """t0-0 of two replicas, two batches, the first one deleted on the leader."""

    def __init__(self) -> None:
        self.world = World()
        self.world.create_topic("t0", replicas=(1, 2))
        partition = self.world.partition("t0")
        for _ in range(2):
            self.world.append("t0", 0, 50)
        partition.open_log().advance_high_watermark(2)
        assert partition.delete_records_before(1) is ErrorCode.NONE
        self.entry = DeletedEntry(partition, 1)
        self.answers = 0
        self.delayed = DelayedEntries(10.0, [self.entry], self.answer)

    def answer(self) -> None:
        self.answers += 1


@pytest.fixture
def parked() -> Parked:
    parked = Parked()
    assert not parked.delayed.try_complete()
    return parked


def test_it_completes_when_the_follower_has_moved_its_start(parked: Parked) -> None:
    followers = parked.world.partition("t0").followers
    assert followers is not None
    follower = followers.get(2)
    assert follower is not None
    follower.log_start_offset = 1
    assert parked.delayed.try_complete()
    assert (parked.answers, parked.entry.low_watermark, parked.entry.error) == (1, 1, 0)


def test_its_time_out_tells_what_is_not_done(parked: Parked) -> None:
    parked.delayed.force_complete()
    assert (parked.answers, parked.entry.error) == (1, ErrorCode.REQUEST_TIMED_OUT)


def test_it_tells_when_the_lead_was_lost(parked: Parked) -> None:
    parked.world.change_leader("t0", 0, 2, 1, (1, 2))
    assert parked.delayed.try_complete()
    assert (parked.entry.low_watermark, parked.entry.error) == (-1, 6)


def test_who_gave_up_is_not_answered(parked: Parked) -> None:
    parked.delayed.give_up()
    assert not parked.delayed.force_complete()
    assert parked.answers == 0
