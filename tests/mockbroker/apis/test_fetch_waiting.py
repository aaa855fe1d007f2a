"""When a fetch waits, in a session or without one, and what ends the wait."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.fetch_world import Pending, World, ask, told

MB = 1 << 20


@pytest.fixture(params=[False, True], ids=["sessionless", "session"])
def waiting(request: pytest.FixtureRequest) -> Waiting:
    return Waiting(in_session=request.param)


class Waiting:
    """Two partitions, a fetch of both at given offsets, sessionless or in a session."""

    def __init__(self, *, in_session: bool) -> None:
        self.in_session = in_session
        self.world = World()
        self.world.create_topic("t0", 2, configs={"segment.ms": "1000"})

    def send(
        self, offsets: tuple[int, int] = (0, 0), *, limit: int = MB, **options: Any
    ) -> Pending:
        parts = [("t0", index, offset, limit) for index, offset in enumerate(offsets)]
        options = {"wait": 500, "min_bytes": 1, **options}
        session = (0, -1)
        if self.in_session:
            opening = ask(*parts, session=(0, 0), isolation=options.get("isolation", 0))
            session = (self.world.fetch_now(opening).session_id, 1)
            parts = []
        return self.world.send(ask(*parts, session=session, **options))


@pytest.mark.parametrize("wait", [1, 5, 10, 50, 100, 333, 1000])
def test_a_fetch_without_data_waits_exactly_as_long_as_it_said(waiting: Waiting, wait: int) -> None:
    """Case 92."""
    parked = waiting.send(wait=wait)
    waiting.world.advance(wait - 0.5)
    assert not parked.answered
    waiting.world.advance(0.5)
    assert all(size == 0 for *_, size in told(parked.answer()))


@pytest.mark.parametrize(("wait", "min_bytes"), [(0, 1), (-1, 1), (500, 0), (500, -1)])
def test_nothing_to_wait_for_answers_at_once(waiting: Waiting, wait: int, min_bytes: int) -> None:
    """Case 93."""
    assert waiting.send(wait=wait, min_bytes=min_bytes).answered


def test_an_append_completes_at_the_end_of_its_step(waiting: Waiting) -> None:
    """Case 94, and the order: nothing completes inside the append."""
    parked = waiting.send()
    waiting.world.append_undrained("t0", 1, 50)
    assert not parked.answered
    waiting.world.replicas.drain()
    assert told(parked.answer())[-1] == ("t0", 1, 0, 118)


def test_bytes_add_up_over_time_and_partitions(waiting: Waiting) -> None:
    """Cases 95 and 96."""
    parked = waiting.send(min_bytes=300)
    for index in (0, 1):
        waiting.world.append("t0", index, 50)
        assert not parked.answered
    waiting.world.append("t0", 0, 50)
    assert sum(size for *_, size in told(parked.answer())) == 354


def test_min_bytes_is_clipped_by_max_bytes(waiting: Waiting) -> None:
    """Case 99."""
    parked = waiting.send(max_bytes=150, min_bytes=1000)
    waiting.world.append("t0", 0, 50)
    assert not parked.answered
    waiting.world.append("t0", 0, 50)
    assert told(parked.answer())[0] == ("t0", 0, 0, 150)


def test_data_there_already_counts(waiting: Waiting) -> None:
    """Cases 100 and 106."""
    waiting.world.append("t0", 0, 50)
    assert waiting.send(min_bytes=118).answered
    parked = waiting.send(min_bytes=200)
    assert not parked.answered
    waiting.world.append("t0", 0, 50)
    assert told(parked.answer())[0] == ("t0", 0, 0, 236)


def test_a_partition_limit_below_min_bytes_waits_in_vain(waiting: Waiting) -> None:
    """Spec 6.1: the accumulation knows the partition's limit, not its batches."""
    parked = waiting.send(limit=100, min_bytes=150)
    waiting.world.append("t0", 0, 50, 50)
    assert not parked.answered
    waiting.world.append("t0", 1, 50)
    assert [size for *_, size in told(parked.answer())] == [118, 0]


def test_a_new_segment_completes(waiting: Waiting) -> None:
    """Spec 6.1 F2: whoever stands on an older segment never waits."""
    waiting.world.append("t0", 0, 50)
    parked = waiting.send((1, 0), min_bytes=10_000, wait=60_000)
    waiting.world.append("t0", 0, 50)
    assert not parked.answered
    waiting.world.advance(5_000)
    waiting.world.append("t0", 0, 50)
    assert told(parked.answer())[0] == ("t0", 0, 0, 118)


def test_a_new_segment_at_the_readers_offset_completes(waiting: Waiting) -> None:
    waiting.world.append("t0", 0, 50)
    parked = waiting.send((1, 0), min_bytes=10_000, wait=60_000)
    waiting.world.advance(5_000)
    waiting.world.append("t0", 0, 50)
    assert told(parked.answer())[0] == ("t0", 0, 0, 118)


def test_a_moved_log_start_wakes_nobody_and_is_told_later(waiting: Waiting) -> None:
    """Case 104."""
    waiting.world.append("t0", 0, 50, 50)
    parked = waiting.send((2, 0))
    waiting.world.partition("t0", 0).delete_records_before(1)
    waiting.world.replicas.drain()
    assert not parked.answered
    waiting.world.advance(500)
    assert parked.answer().responses[0].partitions[0].log_start_offset == 1


def test_a_deleted_topic_answers_3_at_once(waiting: Waiting) -> None:
    parked = waiting.send()
    waiting.world.delete_topic("t0")
    assert [error for *_, error, _ in told(parked.answer())] == [3, 3]


def test_a_reader_between_its_bound_and_the_end_is_answered_at_once(waiting: Waiting) -> None:
    """Spec 6.1 F1."""
    waiting.world.append("t0", 0, 50)
    log = waiting.world.partition("t0", 0).open_log()
    log.set_high_watermark(0)
    assert waiting.send((1, 0)).answered


def test_a_metadata_error_does_not_end_the_wait() -> None:
    """Spec 3.8: unknown topics wait with the others, and go last."""
    world = World()
    world.create_topic("t0")
    parked = world.send(ask(("t9", 0, 0), ("t0", 0, 0), wait=500, min_bytes=1))
    assert not parked.answered
    world.create_topic("t9")
    world.advance(500)
    assert [p.error_code for t in parked.answer().responses for p in t.partitions] == [0, 3]


def test_a_fetch_of_nothing_readable_is_answered_at_once() -> None:
    """Case 102."""
    world = World()
    assert world.send(ask(wait=500, min_bytes=1)).answered
    assert world.send(ask(("t9", 0, 0), wait=500, min_bytes=1)).answered


def test_losing_the_lead_answers_as_the_version_demands() -> None:
    """Spec 6.2: v10 is refused, v11 with an epoch is fenced, v11 without goes on waiting."""
    world = World()
    world.create_topic("t0")
    common: dict[str, Any] = {"wait": 500, "min_bytes": 1}
    old = world.send(ask(("t0", 0, 0), version=10, **common), 10)
    fenced = world.send(ask(("t0", 0, 0), current_leader_epoch=0, **common))
    patient = world.send(ask(("t0", 0, 0), **common))
    world.change_leader("t0", 0, 2, 1, (1, 2))
    assert old.answer().responses[0].partitions[0].error_code == 6
    assert fenced.answer().responses[0].partitions[0].error_code == 74
    assert not patient.answered


def test_a_fetch_by_id_is_released_by_whoever_appends() -> None:
    """Case 108."""
    world = World()
    world.create_topic("t0")
    parked = world.send(ask(("t0", 0, 0), version=13, wait=500, min_bytes=1), 13)
    world.append("t0", 0, 50)
    assert told(parked.answer()) == [("t0", 0, 0, 118)]


def test_a_disconnect_leaves_nothing_behind(waiting: Waiting) -> None:
    parked = waiting.send()
    parked.disconnect()
    purgatory = waiting.world.replicas.fetch_purgatory
    assert (purgatory.num_delayed_operations, purgatory.watched_keys) == (0, 0)
    waiting.world.append("t0", 0, 50)
    assert not parked.answered


def test_a_shutdown_answers_what_is_parked(waiting: Waiting) -> None:
    parked = waiting.send()
    waiting.world.replicas.release_parked()
    assert all(size == 0 for *_, size in told(parked.answer()))


# -- KIP-1166 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "at_once"),
    [(-1, True), (0, True), (1, True), (2, False), (3, False), (2**63 - 1, False)],
)
def test_a_reader_that_knows_an_older_high_watermark_does_not_wait(
    known: int, at_once: bool
) -> None:
    """Case 148, on an ordinary partition."""
    world = World()
    world.create_topic("t0")
    world.append("t0", 0, 50, 50)
    request = ask(("t0", 0, 2), version=18, wait=500, min_bytes=1, high_watermark=known)
    pending = world.send(request, 18)
    assert pending.answered == at_once


def test_an_advance_of_the_high_watermark_completes_those_that_carry_a_lower_one() -> None:
    """A replica at the log's end hears of it at once when it sends the field, else at the end."""
    world = World()
    world.create_topic("t0", replicas=(1, 2, 3))
    world.append("t0", 0, 50)
    asked: dict[str, Any] = {"version": 18, "wait": 500, "min_bytes": 1, "replica_id": 2}
    telling = world.send(ask(("t0", 0, 1), high_watermark=0, **asked), 18)
    silent = world.send(ask(("t0", 0, 1), **asked), 18)
    assert not telling.answered
    world.change_leader("t0", 0, 1, 0, (1, 2, 3), isr=(1, 2))
    assert telling.answer().responses[0].partitions[0].high_watermark == 1
    assert not silent.answered


# -- what ended a wait ---------------------------------------------------------------------------


def woken_by(parked: Pending) -> str | None:
    assert parked.ctx is not None
    return parked.ctx.woken_by


def test_what_ended_a_wait_is_told(waiting: Waiting) -> None:
    world = waiting.world
    at_once = waiting.send(wait=0)
    parked = waiting.send()
    world.append("t0", 0, 50)
    assert (woken_by(at_once), woken_by(parked)) == (None, "data")
    parked = waiting.send((1, 0))
    assert woken_by(parked) is None
    world.advance(500)
    assert woken_by(parked) == "timeout"
    parked = waiting.send((1, 0))
    world.replicas.release_parked()
    assert woken_by(parked) == "shutdown"
    parked = waiting.send((1, 0))
    parked.disconnect()
    assert woken_by(parked) == "disconnect"
    parked = waiting.send((1, 0))
    world.delete_topic("t0")
    assert woken_by(parked) == "error"


def test_the_end_of_a_transaction_and_a_moved_high_watermark_are_told_apart(
    waiting: Waiting,
) -> None:
    world = waiting.world
    open_batch = build_batch(
        [Record(0, 1, None, b"v", [])], producer_id=7, producer_epoch=0, transactional=True
    )
    world.append_batch("t0", 0, open_batch)
    parked = waiting.send(isolation=1)
    assert not parked.answered
    world.partition("t0", 0).append_end_of_transaction(7, 0, 0, commit=True)
    world.replicas.drain()
    assert woken_by(parked) == "last_stable_offset"

    world.change_leader("t0", 1, 1, 1, replicas=(1, 2), isr=(1, 2))
    world.append("t0", 1, 50)
    parked = waiting.send((2, 0))
    assert not parked.answered
    world.change_leader("t0", 1, 1, 2, replicas=(1, 2), isr=(1,))
    assert woken_by(parked) == "high_watermark"


def test_what_is_told_is_counted_once_however_often_it_was_read() -> None:
    waiting = Waiting(in_session=False)
    waiting.world.append("t0", 0, 50)
    parked = waiting.send(min_bytes=300)
    waiting.world.append("t0", 1, 50)
    assert [waiting.world.partition("t0", index).messages_out for index in (0, 1)] == [0, 0]
    waiting.world.append("t0", 0, 50)
    assert parked.answered
    assert [waiting.world.partition("t0", index).messages_out for index in (0, 1)] == [2, 1]
