"""The journal tells of each turn of a session, and why one was not found."""

from __future__ import annotations

import pytest

from mockbroker.clock import Clock
from mockbroker.fetch.session import FetchSession
from mockbroker.fetch.session_log import MAX_REMEMBERED, SessionLog
from mockbroker.journal import SessionEvent
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from tests.support.core import Core, CoreClient

IDLE_MS = 120_001


@pytest.fixture
def core() -> Core:
    return Core(topics={"orders": 1}, config={"max.incremental.fetch.session.cache.slots": "8"})


def fetch(
    client: CoreClient, session_id: int = 0, epoch: int = 0, *, forget: bool = False
) -> FetchResponse:
    part = FetchRequestPartition(0, -1, 0, -1, -1, 1000)
    topics = [FetchRequestTopic("orders", partitions=[part])] if epoch <= 0 else []
    gone = [FetchRequestForgottenTopic("orders", partitions=[0])] if forget else []
    request = FetchRequest(-1, 0, 1, 1000, 0, session_id, epoch, topics, gone)
    return client.call(request, 11, FetchResponse)


def told(core: Core) -> list[tuple[str, str | None, str | None]]:
    events = [event for event in core.events if isinstance(event, SessionEvent)]
    return [(event.event, event.rule, event.why) for event in events]


def test_a_session_is_opened_and_closed_by_its_client(core: Core) -> None:
    client = core.client()
    session_id = fetch(client).session_id
    core.advance(50)
    fetch(client, session_id, -1)
    fetch(client, session_id, 1)
    assert told(core) == [
        ("opened", None, None),
        ("closed", None, None),
        ("not_found", None, "closed"),
    ]
    closed = [event for event in core.events if isinstance(event, SessionEvent)][1]
    assert (closed.age_ms, closed.idle_ms, closed.partitions) == (50.0, 50.0, 1)
    assert closed.broker_id == core.broker.broker_id


def test_wrong_epochs_are_told_apart(core: Core) -> None:
    client = core.client()
    session_id = fetch(client).session_id
    fetch(client, session_id, 1)
    for epoch in (1, 9):
        fetch(client, session_id, epoch)
    fetch(client, session_id, 2)
    fetch(client, session_id, 1)
    fetch(client, 12345, 1)
    assert told(core)[1:] == [
        ("wrong_epoch", None, "repeated"),
        ("wrong_epoch", None, "ahead"),
        ("wrong_epoch", None, "behind"),
        ("not_found", None, "unknown"),
    ]


def test_a_session_without_partitions_is_emptied(core: Core) -> None:
    client = core.client()
    fetch(client, fetch(client).session_id, 1, forget=True)
    assert told(core)[-1] == ("emptied", None, None)


def test_an_eviction_names_its_rule_and_the_victim_learns_of_it(core: Core) -> None:
    client = core.client()
    first = fetch(client).session_id
    for _ in range(7):
        fetch(client)
    fetch(client)  # the first shard is full, and its session fresh
    assert told(core)[-1] == ("refused", None, None)
    core.advance(IDLE_MS)
    for _ in range(7):
        fetch(client)
    fetch(client)
    fetch(client, first, 1)
    rules = [rule for event, rule, _ in told(core) if event == "evicted"]
    assert rules[0] == "idle"
    assert told(core)[-1] == ("not_found", None, "evicted")


def test_only_the_last_ends_are_remembered() -> None:
    log = SessionLog(Clock())
    for number in range(MAX_REMEMBERED + 1):
        session = FetchSession(privileged=False, uses_topic_ids=False)
        session.id = number
        log.ended(session, "closed")
    assert 0 not in log._ended
    assert len(log._ended) == MAX_REMEMBERED
