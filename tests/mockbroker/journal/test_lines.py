"""Each kind of event has its object, and every object can be written as JSON."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from mockbroker.journal import (
    Appended,
    Authorization,
    ClockChanged,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRefused,
    Event,
    FaultChanged,
    HandlerFailed,
    HighWatermarkMoved,
    Login,
    LoopBlocked,
    MemoryLimitMet,
    RequestRefused,
    SessionEvent,
    TopicPlaced,
    TransactionDecided,
)
from mockbroker.journal.lines import KINDS, event_of, line_of
from mockbroker.journal.request import SCHEMA
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.core import Core

EVENTS: dict[str, Event] = {
    "connection_opened": ConnectionOpened(1, "/127.0.0.1", "PLAINTEXT", 2),
    "connection_closed": ConnectionClosed(1, "/127.0.0.1", "app", 7, 12.5, None, 2),
    "connection_refused": ConnectionRefused("/127.0.0.1", "PLAINTEXT", "max.connections", 2),
    "login": Login(1, "/127.0.0.1", "app", "PLAIN", "User:a", True, "no such user", 2),
    "authorization": Authorization(
        1, "/127.0.0.1", "app", "Fetch", "User:a", False, "READ", "Topic", "t", 1, "DefaultDeny", 2
    ),
    "loop_blocked": LoopBlocked(312.5, "Fetch", "app", 4096, 2),
    "refused": RequestRefused(1, "/127.0.0.1", "app", 1, "Fetch", 99, "not served", 2),
    "failed": HandlerFailed(1, "/127.0.0.1", "app", "Fetch", 12, ZeroDivisionError(), 2),
    "session": SessionEvent(2, "evicted", 5, rule="idle", partitions=3, idle_ms=120_001.0),
    "high_watermark": HighWatermarkMoved(2, "orders", 0, 4, 9, 9),
    "appended": Appended(2, "orders", 0, 4, 170, "AAAA"),
    "topic": TopicPlaced("created", "orders", "A" * 22, 0, [[1, 0, [1], [1]]], {"a": "b"}),
    "memory_limit": MemoryLimitMet(2, "deleted", "orders", 0, 4, 9, 5000, 60_000),
    "clock": ClockChanged("advance", 1000.0, 1.0, False),
    "fault": FaultChanged("added", "f1", 0, {"api": "Fetch"}),
    "transaction": TransactionDecided(
        2, "tx", 7, 1, committed=False, by="timeout", open_ms=60_001, partitions=2
    ),
}


@pytest.mark.parametrize(("kind", "event"), EVENTS.items())
def test_each_event_has_its_object(kind: str, event: Event) -> None:
    line = line_of(event, lambda _id: None)
    assert (line["schema"], line["kind"]) == (SCHEMA, kind)
    assert json.loads(json.dumps(line)) == line
    assert all(name.islower() for name in line)


def test_every_kind_is_one_of_these() -> None:
    assert {*EVENTS, "request"} == set(KINDS.values())


def test_fields_go_by_the_names_of_the_document() -> None:
    line = line_of(EVENTS["high_watermark"], lambda _id: None)
    assert (line["broker"], line["from"], line["to"]) == (2, 4, 9)
    line = line_of(EVENTS["failed"], lambda _id: None)
    assert (line["api"], line["version"], line["reason"]) == ("Fetch", 12, "ZeroDivisionError()")
    assert line_of(EVENTS["transaction"], lambda _id: None)["outcome"] == "abort"
    assert line_of(EVENTS["fault"], lambda _id: None)["id"] == "f1"


def test_a_request_tells_its_times_its_error_and_its_sizes() -> None:
    core = Core()
    client = core.client("app")
    client.call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    (served,) = core.cluster.journal.requests()
    line = line_of(served, core.cluster.journal.topic_name)
    assert json.loads(json.dumps(line)) == line
    assert (line["api"], line["api_key"], line["version"]) == ("Heartbeat", 12, 4)
    assert (line["client_id"], line["connection"], line["cause"]) == ("app", 1, "immediate")
    assert (line["error"], line["errors"], line["answered"]) == (25, [25], True)
    # length, header (8 + client id 5 + tags 1), body ("g" 2, 4, "m" 2, null 1, tags 1)
    assert line["request_bytes"] == 4 + 14 + 10
    # length, correlation id and tags, throttle, error, tags
    assert line["response_bytes"] == 4 + 5 + 7
    assert line["group"] == {
        "group": "g",
        "member": "m",
        "instance": None,
        "generation": 1,
        "answered_generation": None,
        "leader": None,
        "members": 0,
        "protocol": None,
        "error": 25,
    }


def test_a_request_without_its_bytes_still_tells_what_it_was() -> None:
    core = Core()
    core.client("app").call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    (served,) = core.cluster.journal.requests()
    served.frame = served.chunks = None
    line = line_of(served, core.cluster.journal.topic_name)
    assert (line["api"], line["topics"], "group" in line) == ("Heartbeat", [], False)


def test_times_do_not_run_backwards() -> None:
    core = Core()
    client = core.client("app")
    for _ in range(3):
        core.advance(1.5)
        client.call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    lines = [line_of(s, lambda _id: None) for s in core.cluster.journal.requests()]
    times = [float(str(line["completed_ms"])) for line in lines]
    assert all(later - earlier == 1.5 for earlier, later in pairwise(times))


def test_a_line_tells_the_event_that_it_was_made_of() -> None:
    for event in (
        ConnectionClosed(7, "peer", "client", 3, 1.5, None, 1),
        TransactionDecided(1, "t", 2, 3, committed=False, by="timeout", open_ms=2, partitions=2),
        ClockChanged("jump", 5.0, 1.0, frozen=False),
        SessionEvent(1, "opened", 7),
    ):
        assert event_of(line_of(event, lambda _: None)) == event
