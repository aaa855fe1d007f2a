"""Each rule is silent while it holds, and speaks when it does not."""

from __future__ import annotations

from mockbroker.fetch.session import CHANGED, QUIET, READY, CachedPartition, FetchSession
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from simulation.checkers import (
    ReadingChecker,
    check_cache,
    check_no_sessions,
    check_nothing_waits,
    check_segments,
    check_sizes,
    check_turns,
    check_view,
)
from simulation.clients import frame_of
from simulation.consumers import Consumer
from simulation.session_handler import AnsweredPartition
from simulation.stage import Wire
from tests.support.simulated import Simulated

PING = frame_of(ApiVersionsRequest(), 0, 1, "test")


class Deaf:
    def data_received(self, data: bytes) -> None:
        """Not heard."""

    def connection_lost(self) -> None:
        """Not heard."""


def expecting(simulated: Simulated, correlation_id: int, max_wait_ms: float = 0.0) -> Wire:
    wire = simulated.world.connect(Deaf())
    simulated.answers.expect(wire, correlation_id, len(PING), max_wait_ms)
    simulated.answers.bytes_arrived(wire, len(PING))
    return wire


ANSWER_1 = b"\0\0\0\4\0\0\0\1"


def test_an_answer_in_time_and_order_is_fine() -> None:
    simulated = Simulated()
    wire = expecting(simulated, 1, 10.0)
    simulated.world.run_for(10.5)
    simulated.answers.check_overdue()
    simulated.answers.bytes_emitted(wire, ANSWER_1)
    assert simulated.violations == []
    assert simulated.answers.elapsed_ms(wire) == 10.5


def test_an_answer_to_nothing_to_another_call_or_too_late_is_told() -> None:
    simulated = Simulated()
    wire = expecting(simulated, 1)
    simulated.answers.bytes_emitted(wire, ANSWER_1 + ANSWER_1)
    assert "answer 1 to nothing" in simulated.violations.pop()
    simulated.answers.bytes_emitted(expecting(simulated, 2), ANSWER_1)
    assert "where 2 is due" in simulated.violations.pop()
    wire = expecting(simulated, 1, 10.0)
    simulated.world.run_for(11.5)
    simulated.answers.check_overdue()
    assert "unanswered" in simulated.violations.pop()
    simulated.answers.bytes_emitted(wire, ANSWER_1)
    assert "after 11.500 ms" in simulated.violations.pop()


def test_a_reader_is_held_against_the_log() -> None:
    simulated = Simulated()
    simulated.produce_for(50)
    log = simulated.ledger.live("t0", 0)
    assert log is not None
    simulated.ledger.catch_up(log)
    reading = ReadingChecker(simulated.world, simulated.ledger, "reader", committed=False)
    all_of_it = log.visible(0, 9_999, committed=False)
    end = len(log.values)
    reading.got("t0", 0, None, 0, end, all_of_it)
    reading.got("t0", 0, log.topic_id, 0, end, all_of_it)
    assert simulated.violations == []
    for wrong in (all_of_it[1:], [*all_of_it, all_of_it[-1]], all_of_it[::-1]):
        reading.got("t0", 0, None, 0, end, wrong)
        assert "which no log holds like that" in simulated.violations.pop()
    reading.got("t0", 0, b"x" * 16, 0, end, all_of_it)
    assert simulated.violations.pop()


def test_a_reader_is_sent_on_only_when_the_log_start_moved() -> None:
    simulated = Simulated()
    simulated.produce_for(50)
    reading = ReadingChecker(simulated.world, simulated.ledger, "reader", committed=False)
    reading.jumped("t0", 0, 0, 1)
    assert "for nothing" in simulated.violations.pop()
    log = simulated.ledger.live("t0", 0)
    assert log is not None
    log.partition.delete_records_before(1)
    reading.jumped("t0", 0, 0, 1)
    assert simulated.violations == []


def test_views_must_agree_except_on_how_a_topic_is_gone() -> None:
    world = Simulated().world
    told = AnsweredPartition(0, 5, 0)
    check_view(world, "c", {("t", 0): told}, {("t", 0): told})
    check_view(
        world,
        "c",
        {("t", 0): AnsweredPartition(103, -1, -1)},
        {("t", 0): AnsweredPartition(100, -1, -1)},
    )
    assert world.violations == []
    check_view(world, "c", {("t", 0): told}, {("t", 0): AnsweredPartition(0, 6, 0)})
    check_view(world, "c", {}, {("t", 0): told})
    check_sizes(world, "c", {("t", 0): 1}, {("t", 0): 1})
    check_sizes(world, "c", {("t", 0): 1}, {})
    assert len(world.violations) == 3


# -- inside the broker -----------------------------------------------------------------------


def settled() -> tuple[Simulated, Consumer, FetchSession]:
    simulated = Simulated()
    consumer = simulated.consumer()
    consumer.start()
    simulated.produce_for(20)
    simulated.world.run_for(100)
    shards = simulated.world.broker.services.fetch.cache.shards
    (session,) = [session for shard in shards for session in shard.sessions.values()]
    check_cache(simulated.world)
    assert simulated.violations == []
    return simulated, consumer, session


def one_of(session: FetchSession, state: int = QUIET) -> CachedPartition:
    return next(cached for cached in session.partitions() if cached.state == state)


def test_one_that_is_ready_at_its_bound_is_told() -> None:
    simulated, _, session = settled()
    cached = one_of(session)
    cached.state = READY
    session.push_ready(cached)
    check_cache(simulated.world)
    assert "is ready at" in simulated.violations[0]


def test_who_was_served_and_stays_in_front_is_told() -> None:
    simulated, _, session = settled()
    first, *_, last = sorted(session.partitions(), key=lambda cached: cached.stamp)
    check_turns(simulated.world, "c", session.id, {(last.topic.name or "", last.index): 100})
    check_turns(simulated.world, "c", session.id + 1, {})
    assert simulated.violations == []
    check_turns(simulated.world, "c", session.id, {(first.topic.name or "", first.index): 100})
    assert "not behind the others" in simulated.violations[0]


def test_a_partition_on_the_wrong_list_is_told() -> None:
    simulated, _, session = settled()
    one_of(session).state = CHANGED
    check_cache(simulated.world)
    assert "wrong list" in simulated.violations[0]


def test_a_ready_partition_outside_the_queue_is_told() -> None:
    simulated, _, session = settled()
    session.ready.clear()
    one_of(session).state = READY
    check_cache(simulated.world)
    assert "not queued" in simulated.violations[0]


def test_a_change_that_was_not_marked_is_told() -> None:
    simulated, _, session = settled()
    cached = one_of(session)
    cached.cached_high_watermark -= 1
    cached.fetch_offset -= 1
    check_cache(simulated.world)
    assert "not marked" in simulated.violations[0]
    assert "is quiet at" in simulated.violations[1]


def test_a_session_that_listens_to_nobody_is_told() -> None:
    simulated, _, session = settled()
    cached = one_of(session)
    assert cached.partition is not None
    cached.partition.unwatch(cached)
    session.size += 1
    check_cache(simulated.world)
    assert len(simulated.violations) == 2


def test_wrong_counts_of_the_cache_are_told() -> None:
    simulated, _, session = settled()
    session.cached_size += 1
    session.id += 1
    check_cache(simulated.world)
    assert len(simulated.violations) == 2


def test_what_is_left_behind_is_told() -> None:
    simulated, consumer, _ = settled()
    check_nothing_waits(simulated.world)
    assert len(simulated.violations) == 2
    check_no_sessions(simulated.world, simulated.ledger)
    assert len(simulated.violations) == 6
    simulated.violations.clear()
    consumer.leave()
    simulated.world.run_for(10)
    check_nothing_waits(simulated.world)
    assert simulated.violations == []


def test_a_segment_that_was_not_full_is_told() -> None:
    simulated = Simulated()
    simulated.produce_for(100)
    check_segments(simulated.world)
    assert simulated.violations == []
    for partition in simulated.world.broker.services.replicas.all_partitions():
        assert partition.log is not None
        partition.log.must_roll = True
    simulated.produce_for(100)
    check_segments(simulated.world)
    assert " had room in " in simulated.violations.pop()
