"""The ring keeps what happened last, tells listeners in order, and lets large bytes go first."""

from __future__ import annotations

from mockbroker import MockBroker
from mockbroker.journal import (
    ConnectionOpened,
    Event,
    HighWatermarkMoved,
    Journal,
    RequestServed,
)
from mockbroker.journal.ring import LARGE_BYTES
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from tests.support.core import Core
from tests.support.fetch_world import batch

BATCH = batch(10, count=2)


def opened(connection_id: int) -> ConnectionOpened:
    return ConnectionOpened(connection_id, "/127.0.0.1", "PLAINTEXT")


def request(number: int, size_bytes: int = 10) -> RequestServed:
    served = RequestServed(18, 3, number, "app", 1, request_bytes=size_bytes)
    served.frame = b"x"
    return served


def numbers(journal: Journal, since: int = 0) -> list[int]:
    return [served.correlation_id for served in journal.requests(since)]


def test_every_listener_hears_each_event_in_order() -> None:
    journal = Journal()
    first: list[Event] = []
    second: list[Event] = []
    journal.listen(first.append)
    before, after = opened(1), opened(2)
    journal.record(before)
    journal.listen(second.append)
    journal.record(after)
    assert first == [before, after]
    assert second == [after]
    assert journal.events() == [before, after]


def test_requests_are_told_to_those_who_ask_for_them() -> None:
    journal = Journal()
    quiet: list[Event] = []
    eager: list[Event] = []
    journal.listen(quiet.append)
    wishes = [journal.wants_requests]
    hear = eager.append
    journal.listen(hear, requests=True)
    wishes.append(journal.wants_requests)
    journal.served(request(1))
    journal.unlisten(hear)
    wishes.append(journal.wants_requests)
    journal.served(request(2))
    assert (len(quiet), len(eager)) == (0, 1)
    assert wishes == [False, True, False]


def test_a_cursor_gives_what_came_after_it() -> None:
    journal = Journal()
    journal.served(request(1))
    cursor = journal.cursor()
    assert numbers(journal, cursor) == []
    journal.served(request(2))
    journal.served(request(3))
    assert numbers(journal) == [1, 2, 3]
    assert numbers(journal, cursor) == [2, 3]


def test_a_cursor_outlives_what_has_left_the_ring() -> None:
    journal = Journal(capacity=2)
    cursor = journal.cursor()
    for number in range(5):
        journal.served(request(number))
    assert numbers(journal, cursor) == [3, 4]
    assert numbers(journal, cursor + 4) == [4]


def test_large_requests_let_their_bytes_go_first() -> None:
    journal = Journal()
    journal.served(request(1, LARGE_BYTES - 10_000))
    journal.served(request(2))
    journal.served(request(3, 10_001))
    first, small, last = journal.requests()
    assert first.frame is None
    assert first.request is None
    assert small.frame is not None
    assert last.frame is not None


def test_high_watermarks_are_told_to_those_who_ask_for_them() -> None:
    core = Core(topics={"orders": 1})
    moved: list[Event] = []
    core.cluster.journal.listen(moved.append, high_watermarks=True)
    core.client().call(
        ProduceRequest(
            None,
            1,
            1000,
            [ProduceRequestTopic("orders", partition_data=[ProduceRequestPartition(0, BATCH)])],
        ),
        9,
        ProduceResponse,
    )
    told = [event for event in moved if isinstance(event, HighWatermarkMoved)]
    assert [(e.topic, e.partition, e.before, e.after, e.log_end_offset) for e in told] == [
        ("orders", 0, 0, 2, 2)
    ]
    assert not [event for event in core.events if isinstance(event, HighWatermarkMoved)]


def fetch_of_a_follower(number: int) -> RequestServed:
    return RequestServed(1, 17, number, "broker-2-fetcher-0", -1)


def test_what_followers_fetch_is_left_out_unless_asked_for() -> None:
    journal = Journal()
    told: list[Event] = []
    journal.listen(told.append, requests=True)
    journal.served(fetch_of_a_follower(1))
    assert (numbers(journal), told, journal.cursor()) == ([], [], 0)
    journal.replication = True
    journal.served(fetch_of_a_follower(2))
    assert (numbers(journal), len(told), journal.cursor()) == ([2], 1, 1)


def test_a_follower_s_fetch_that_met_a_fault_is_told() -> None:
    journal = Journal()
    served = fetch_of_a_follower(1)
    served.fault = "f1"
    journal.served(served)
    assert numbers(journal) == [1]


def test_idle_brokers_fill_no_journal_unless_it_is_asked_for() -> None:
    for wanted in (False, True):
        with MockBroker(
            brokers=2, topics={"orders": 1}, journal_replication=wanted, freeze_clock=True
        ) as broker:
            broker.topic("orders").put("one")
            broker.cluster.wait_in_sync("orders", 0)
            broker.clock.advance(5_000)
            fetches = broker.journal.requests(client="broker-*-fetcher-0")
            assert bool(fetches) is wanted
            assert all(fetch.connection_id < 0 for fetch in fetches)
