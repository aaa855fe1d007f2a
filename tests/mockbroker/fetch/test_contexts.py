"""How answers are put together: order, grouping, throttled ones, and when a session opens."""

from __future__ import annotations

from mockbroker.fetch.contexts import (
    FullFetchContext,
    ResponseTopics,
    SessionErrorContext,
    SessionlessFetchContext,
    entries_of,
    rejection,
)
from mockbroker.fetch.session import FetchSession
from mockbroker.replica.fetch_entry import FetchTopic
from mockbroker.replica.fetch_params import FetchParams
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from tests.support.fetch_world import ZERO, World, ask, told, topic_id

PARAMS = FetchParams(FetchRequest(), 12, 1 << 20)


def asked(*parts: tuple[str, int, int]) -> list[FetchRequestTopic]:
    return [
        FetchRequestTopic(name, ZERO, [FetchRequestPartition(index, fetch_offset=offset)])
        for name, index, offset in parts
    ]


def test_only_adjacent_partitions_of_a_topic_share_an_entry() -> None:
    first, second = FetchTopic("a", ZERO), FetchTopic(None, topic_id("b"))
    collected = ResponseTopics()
    for topic, index in ((first, 0), (first, 1), (second, 0), (first, 2)):
        collected.add(topic, rejection(index, 3))
    assert [
        (t.topic, t.topic_id, [p.partition_index for p in t.partitions]) for t in collected.topics
    ] == [("a", ZERO, [0, 1]), ("", topic_id("b"), [0]), ("a", ZERO, [2])]


def test_a_partition_named_twice_keeps_its_place_and_takes_the_last_values() -> None:
    entries = entries_of(asked(("t0", 0, 1), ("t1", 0, 2), ("t0", 1, 3), ("t0", 0, 4)), by_id=False)
    assert [(e.topic.name, e.index, e.fetch_offset) for e in entries] == [
        ("t0", 0, 4), ("t1", 0, 2), ("t0", 1, 3),
    ]  # fmt: skip
    assert entries[0].topic is entries[2].topic


def test_entries_by_id_have_no_name_yet() -> None:
    topics = [FetchRequestTopic("ignored", topic_id("t0"), [FetchRequestPartition(0)])]
    (entry,) = entries_of(topics, by_id=True)
    assert (entry.topic.name, entry.topic.topic_id) == (None, topic_id("t0"))


def test_a_session_error_is_an_empty_answer() -> None:
    context = SessionErrorContext(World().fetch, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    reader = LogReader(PARAMS)
    assert context.resolve(PARAMS) == 0
    context.read(reader)
    assert list(context.results()) == []
    answer = context.respond()
    assert (answer.error_code, answer.session_id, answer.responses) == (70, 0, [])


def test_a_throttled_full_fetch_opens_no_session() -> None:
    world = World()
    world.create_topic("t0")
    session = FetchSession(privileged=False, uses_topic_ids=False)
    context = FullFetchContext(world.fetch, session, asked(("t0", 0, 0)))
    context.resolve(PARAMS)
    context.read(LogReader(PARAMS))
    answer = context.throttled(250)
    assert (answer.throttle_time_ms, answer.session_id, answer.responses) == (250, 0, [])
    assert world.fetch.cache.num_sessions == 0


def test_a_throttled_poll_consumes_its_epoch_and_changes_nothing_else() -> None:
    world = World()
    world.create_topic("t0")
    sid = world.fetch_now(ask(("t0", 0, 0), session=(0, 0))).session_id
    world.append("t0", 0, 50)
    context = world.fetch.new_context(ask(session=(sid, 1)), 12)
    context.resolve(PARAMS)
    context.read(LogReader(PARAMS))
    answer = context.throttled(250)
    assert (answer.throttle_time_ms, answer.error_code, answer.session_id) == (250, 0, sid)
    assert world.fetch_now(ask(session=(sid, 1))).error_code == 71
    assert told(world.fetch_now(ask(session=(sid, 2)))) == [("t0", 0, 0, 118)]


def test_the_order_of_the_first_answer_is_the_order_of_the_session() -> None:
    world = World()
    world.create_topic("t0")
    first = ask(("t1", 0, 0), ("t0", 0, 0), session=(0, 0))
    response = world.fetch_now(first)
    assert told(response) == [("t0", 0, 0, 0), ("t1", 0, 3, 0)]
    world.create_topic("t1")
    world.append("t0", 0, 50)
    world.append("t1", 0, 50)
    poll = ask(session=(response.session_id, 1))
    assert told(world.fetch_now(poll)) == [("t0", 0, 0, 118), ("t1", 0, 0, 118)]


def test_unknown_ids_come_before_other_refusals_except_to_followers() -> None:
    """KafkaApis.handleFetchRequest walks a consumer's partitions twice, a follower's once."""
    world = World()
    world.create_topic("t0")
    parts = ("t0", 8, 0), ("t1", 0, 0), ("t0", 7, 0), ("t0", 0, 0)
    refused = [("t1", 0, 100, 0), ("t0", 8, 3, 0), ("t0", 7, 3, 0)]
    full = world.fetch_now(ask(*parts, version=13, session=(0, 0)), 13)
    assert told(full) == [("t0", 0, 0, 0), *refused]
    poll = ask(version=13, session=(full.session_id, 1))
    assert told(world.fetch_now(poll, 13)) == refused
    follower = world.fetch_now(ask(*parts, version=13, replica_id=2), 13)
    assert [error for *_, error, _ in told(follower)] == [6, 3, 100, 3]


def test_results_pair_what_was_asked_with_what_was_read() -> None:
    world = World()
    world.create_topic("t0")
    context = SessionlessFetchContext(
        world.fetch, entries_of(asked(("t9", 0, 0), ("t0", 0, 0)), by_id=False)
    )
    assert context.resolve(PARAMS) == 1
    context.read(LogReader(PARAMS))
    assert [(e.topic.name, d.error_code) for e, d in context.results()] == [("t0", 0)]
