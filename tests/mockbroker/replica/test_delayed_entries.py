"""A produce with acks=-1 waits for the high watermark, or ends for what happened meanwhile."""

from __future__ import annotations

import pytest

from mockbroker.log.results import AppendOrigin
from mockbroker.replica.append_entry import AppendEntry
from mockbroker.replica.delayed_entries import DelayedEntries
from mockbroker_protocol.errors import ErrorCode
from tests.support.fetch_world import World, batch


class Parked:
    """One record in t0-0 of two replicas, waited for."""

    def __init__(self) -> None:
        self.world = World()
        self.world.create_topic("t0", replicas=(1, 2), configs={"min.insync.replicas": "2"})
        self.entry = AppendEntry(0, self.world.partition("t0"), batch(5))
        self.entry.append_to(self.world.partition("t0"), -1, AppendOrigin.COORDINATOR)
        self.answers = 0
        self.delayed = DelayedEntries(10.0, [self.entry], self.answer)

    def answer(self) -> None:
        self.answers += 1


@pytest.fixture
def parked() -> Parked:
    parked = Parked()
    assert not parked.delayed.try_complete()
    return parked


def test_it_completes_when_the_high_watermark_has_passed(parked: Parked) -> None:
    parked.world.partition("t0").open_log().advance_high_watermark(1)
    assert parked.delayed.try_complete()
    assert (parked.answers, parked.entry.error) == (1, ErrorCode.NONE)


def test_it_tells_when_too_few_replicas_were_left(parked: Parked) -> None:
    parked.world.change_leader("t0", 0, 1, 0, (1, 2), isr=(1,))
    parked.world.partition("t0").open_log().advance_high_watermark(1)
    assert parked.delayed.try_complete()
    assert parked.entry.error is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_it_tells_when_the_lead_or_the_topic_was_lost(parked: Parked) -> None:
    parked.world.change_leader("t0", 0, 2, 1, (1, 2))
    assert parked.delayed.try_complete()
    assert parked.entry.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    other = Parked()
    other.world.delete_topic("t0")
    assert other.delayed.try_complete()
    assert other.entry.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_it_tells_6_when_the_replica_was_reassigned_away(parked: Parked) -> None:
    parked.world.change_leader("t0", 0, 2, 1, (2,))
    assert parked.delayed.try_complete()
    assert parked.entry.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_at_its_time_out_what_is_not_done_answers_7(parked: Parked) -> None:
    assert parked.delayed.force_complete()
    assert (parked.answers, parked.entry.error) == (1, ErrorCode.REQUEST_TIMED_OUT)
    assert parked.entry.base_offset == 0


def test_nobody_hears_of_one_that_is_given_up(parked: Parked) -> None:
    parked.delayed.give_up()
    assert not parked.delayed.force_complete()
    assert parked.answers == 0
