"""Journal events as lines: one an error, connections and requests only at debug."""

from __future__ import annotations

import io
import json
from copy import copy

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.journal import (
    Authorization,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    HandlerFailed,
    Journal,
    Login,
    MemoryLimitMet,
    RequestRefused,
    RequestServed,
)
from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.store import MetadataStore
from mockbroker.server.event_log import (
    DENIALS,
    MEMORY_SECONDS,
    REFUSALS,
    REFUSALS_SECONDS,
    EventLog,
)

OPENED = ConnectionOpened(3, "/127.0.0.1", "PLAINTEXT", peer_port=50_123)
CLOSED = ConnectionClosed(3, "/127.0.0.1", "app", 7, 12.4, None)
REFUSED = RequestRefused(3, "/127.0.0.1", "app", 1, "Fetch", 99, "served versions are 3 to 18")
SERVED = RequestServed(1, 12, 5, "app", 3, arrived_ms=1.0, completed_ms=3.5)
SERVED.fetch_class = "INCREMENTAL"
SERVED.request_bytes_saved, SERVED.response_bytes_saved = 335, -9
SERVED.woken_by = "data"
PLAIN = RequestServed(3, 12, 6, "app", 3, arrived_ms=1.0, completed_ms=3.5)


LOGIN = Login(3, "/127.0.0.1", "app", "PLAIN", "User:alice", False, None)
FAILED = Login(3, "/127.0.0.1", "app", "PLAIN", None, False, "Invalid username or password")


def failure() -> HandlerFailed:
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        return HandlerFailed(3, "/127.0.0.1", "app", "Fetch", 12, error)


def lines(level: str, *events: Event) -> list[dict[str, object]]:
    stream = io.StringIO()
    journal = Journal()
    EventLog(level, "json", stream).attach(journal)
    for event in events:
        if isinstance(event, RequestServed):
            journal.served(event)
        else:
            journal.record(event)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_login_that_fails_is_a_warning_and_one_that_succeeds_a_detail() -> None:
    (failed,) = lines("warning", LOGIN, FAILED)
    assert (failed["event"], failed["level"]) == ("connection closed: login failed", "warning")
    assert (failed["reason"], failed["mechanism"]) == ("Invalid username or password", "PLAIN")
    done, _ = lines("debug", LOGIN, FAILED)
    assert (done["event"], done["principal"]) == ("login", "User:alice")


def test_a_denial_is_told_as_kafkas_authorizer_logger_does() -> None:
    denied = Authorization(
        3, "/127.0.0.1", "app", "Fetch", "User:a", False, "READ", "Topic", "t", 1, "DefaultDeny"
    )
    (line,) = lines("info", denied)
    assert (line["event"], line["level"]) == (denied.message, "info")
    assert lines("warning", denied) == []
    *_, last = lines("info", *[denied] * REFUSALS)
    assert last["event"] == denied.message
    stream = io.StringIO()
    journal, seconds = Journal(), [0.0]
    EventLog("info", "json", stream, lambda: seconds[0]).attach(journal)
    for now in (*[0.0] * (REFUSALS + 3), REFUSALS_SECONDS):
        seconds[0] = now
        journal.record(denied)
    told = [json.loads(text) for text in stream.getvalue().splitlines()]
    assert len(told) == REFUSALS + 2
    assert (told[-2]["event"], told[-2]["count"]) == ("more authorizations denied", 3)


def test_each_denial_has_its_lines_up_to_a_bound() -> None:
    denials = [
        Authorization(3, "/h", "app", "Fetch", "User:a", False, "READ", "Topic", name, 1, "Denied")
        for index in range(DENIALS + 5)
        for name in [f"t{index}"] * (REFUSALS + 1 if index < 2 else 1)
    ]
    stream = io.StringIO()
    journal, seconds = Journal(), [0.0]
    log = EventLog("info", "json", stream, lambda: seconds[0])
    log.attach(journal)
    for denial in denials:
        journal.record(denial)
    log.tell_refusals(now=True)
    told = [json.loads(text) for text in stream.getvalue().splitlines()]
    assert len(told) == DENIALS + 2 * (REFUSALS - 1) + 1
    assert told[-1]["count"] == len(denials) - len(told) + 1
    assert len(lines("debug", *denials)) == len(denials)


def test_what_is_allowed_is_told_at_debug() -> None:
    allowed = Authorization(
        3, "/127.0.0.1", "app", "Fetch", "User:a", True, "READ", "Topic", "t", 1, "SuperUser"
    )
    for level, expected in (("info", 0), ("debug", 1)):
        stream = io.StringIO()
        journal = Journal()
        EventLog(level, "json", stream).attach(journal)
        assert journal.wants_allowed is bool(expected)
        journal.record_allowed(allowed)
        told = [json.loads(text) for text in stream.getvalue().splitlines()]
        assert [one["event"] for one in told] == [allowed.message] * expected


def test_a_connection_is_told_at_debug_with_its_port_and_its_clients_id() -> None:
    assert lines("info", OPENED, CLOSED) == []
    opened, request, closed = lines("debug", OPENED, SERVED, CLOSED)
    assert (opened["event"], opened["level"]) == ("connection opened", "debug")
    assert (opened["peer"], opened["port"], opened["client_id"]) == ("/127.0.0.1", 50_123, "app")
    assert (request["event"], closed["event"]) == ("request", "connection closed")


def test_a_memory_limit_is_told_once_in_a_while() -> None:
    seconds = [0.0]
    stream = io.StringIO()
    journal = Journal()
    EventLog("info", "json", stream, lambda: seconds[0]).attach(journal)
    deleted = MemoryLimitMet(1, "deleted", "orders", 0, 0, 9, 5000, 60_000)
    for now in (0.0, MEMORY_SECONDS - 1, MEMORY_SECONDS):
        seconds[0] = now
        journal.record(deleted)
    journal.record(MemoryLimitMet(1, "full", None, None, 0, 0, 5000, 60_000))
    first, second, full = map(json.loads, stream.getvalue().splitlines())
    assert first["event"] == second["event"] == "the memory limit is met: the oldest segments go"
    assert (first["topic"], first["from"], first["to"]) == ("orders", 0, 9)
    assert full["event"] == "produce refused: the memory limit is met, and nothing may go"


def test_a_connection_without_a_request_is_told_when_it_closes() -> None:
    silent = copy(CLOSED)
    silent.client_id = ""
    opened, _ = lines("debug", OPENED, silent)
    assert (opened["event"], opened["client_id"]) == ("connection opened", "")


def test_a_refusal_names_api_version_and_client() -> None:
    (line,) = lines("warning", OPENED, REFUSED)
    assert (line["api"], line["api_key"], line["version"]) == ("Fetch", 1, 99)
    assert line["client_id"] == "app"
    assert line["reason"] == "served versions are 3 to 18"


def test_debug_writes_one_line_a_request_and_what_only_a_fetch_has() -> None:
    line, plain, closed = lines("debug", SERVED, PLAIN, CLOSED)
    assert (line["event"], line["api"], line["took_ms"]) == ("request", "Fetch", 2.5)
    assert (line["parked"], line["fetch_class"], line["woken_by"]) == (True, "INCREMENTAL", "data")
    assert (line["request_bytes_saved"], line["response_bytes_saved"]) == (335, -9)
    assert not {"fetch_class", "request_bytes_saved", "woken_by"} & set(plain)
    assert (closed["requests"], closed["reason"]) == (7, "closed by the client")


def test_requests_are_asked_for_at_debug_only() -> None:
    journal = Journal()
    EventLog("info", "json", io.StringIO()).attach(journal)
    assert not journal.wants_requests
    EventLog("debug", "json", io.StringIO()).attach(journal)
    assert journal.wants_requests


def test_a_defect_is_logged_with_its_traceback() -> None:
    (line,) = lines("error", failure())
    assert "ZeroDivisionError" in str(line["exception"])


@pytest.mark.parametrize(("log_format", "is_json"), [("console", False), ("auto", True)])
def test_auto_is_json_when_no_person_looks(log_format: str, is_json: bool) -> None:
    stream = io.StringIO()
    journal = Journal()
    EventLog("info", log_format, stream).attach(journal)
    journal.record(REFUSED)
    assert stream.getvalue().startswith("{") is is_json
    assert "request refused" in stream.getvalue()


class Unread(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_a_log_that_nobody_reads_any_more_stops_nothing() -> None:
    journal = Journal()
    EventLog("debug", "json", Unread()).attach(journal)
    journal.served(SERVED)
    for event in (OPENED, failure(), CLOSED):
        journal.record(event)


def test_the_level_follows_the_root_logger() -> None:
    stream, journal = io.StringIO(), Journal()
    metadata = MetadataStore("cluster", BrokerConfig())
    EventLog("warning", "json", stream).follow(journal, metadata)
    assert metadata.log_levels == {"root": "WARN"}
    wanted = [journal.wants_requests]
    journal.record(OPENED)
    journal.record(CLOSED)
    metadata.apply(ConfigsChanged(8, "1", {"root": "TRACE"}))
    wanted.append(journal.wants_requests)
    journal.record(OPENED)
    journal.record(CLOSED)
    assert wanted == [False, True]
    metadata.apply(ConfigsChanged(8, "1", {"root": "FATAL"}))
    journal.record(OPENED)
    journal.record(CLOSED)
    assert len(stream.getvalue().splitlines()) == 2


def test_refusals_beyond_some_are_counted_in_one_line() -> None:
    stream = io.StringIO()
    now = 0.0
    journal = Journal()
    log = EventLog("warning", "json", stream, lambda: now)
    log.attach(journal)
    for _ in range(10_000):
        journal.record(REFUSED)
    assert len(stream.getvalue().splitlines()) == REFUSALS
    now = REFUSALS_SECONDS
    journal.record(REFUSED)
    *_, count, refused = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (count["event"], count["count"]) == (
        "connections closed: more requests refused",
        10_000 - REFUSALS,
    )
    assert refused["event"] == "connection closed: request refused"
    log.tell_refusals(now=True)
    assert len(stream.getvalue().splitlines()) == REFUSALS + 2


def test_what_is_left_is_counted_at_the_end() -> None:
    stream = io.StringIO()
    journal = Journal()
    log = EventLog("warning", "json", stream, lambda: 0.0)
    log.attach(journal)
    for _ in range(REFUSALS + 1):
        journal.record(REFUSED)
    log.tell_refusals()
    assert len(stream.getvalue().splitlines()) == REFUSALS
    log.tell_refusals(now=True)
    assert json.loads(stream.getvalue().splitlines()[-1])["count"] == 1


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_texts_of_clients_are_cut_and_printable(log_format: str) -> None:
    stream = io.StringIO()
    nasty = "\x1b[2J" * 10_000
    refused = RequestRefused(3, "/127.0.0.1", nasty, 1, "Fetch", 99, "why\nforged")
    failed = failure()
    failed.error.args = (nasty,)
    journal = Journal()
    EventLog("warning", log_format, stream, lambda: 0.0).attach(journal)
    journal.record(refused)
    journal.record(failed)
    first, *_ = stream.getvalue().split("\n")
    assert len(first) < 3000
    assert "Fetch" in first
    assert stream.getvalue().replace("\n", "").isprintable()
