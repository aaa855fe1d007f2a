"""Streams of events, without HTTP."""

from __future__ import annotations

import pytest

from mockbroker.admin import events
from mockbroker.admin.events import EventHub, Stream
from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings
from mockbroker.state.writing import create_topic


async def test_a_slow_reader_is_told_how_much_it_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "QUEUE_EVENTS", 2)
    stream = Stream(frozenset({"topic"}))
    for number in range(5):
        stream.put("topic", number, {})
    assert [await stream.next() for _ in range(2)] == [("topic", 0, {}), ("topic", 1, {})]
    stream.put("topic", 5, {})
    assert await stream.next() == ("dropped", 5, {"events": 3})
    assert await stream.next() == ("topic", 5, {})
    stream.end()
    stream.end()
    assert await stream.next() is None


async def test_the_broker_is_watched_exactly_while_someone_listens() -> None:
    running = await launch(Settings())
    try:
        hub = EventHub(running)
        journal = running.journal
        requests = hub.open(frozenset({"request"}), None)
        assert [journal.wants_requests, running.watched] == [True, False]
        topics = hub.open(frozenset({"topic"}), None)
        assert [journal.wants_requests, running.watched] == [True, True]
        hub.close_stream(requests)
        assert [journal.wants_requests, running.watched] == [False, True]
        running.act(lambda cluster: create_topic(cluster, "t", 2))
        item = await topics.next()
        assert item is not None
        assert item[2] == {"action": "appeared", "name": "t", "partitions": 2, "leaders": [1, 1]}
        hub.close()
        assert [journal.wants_requests, running.watched] == [False, False]
        assert await topics.next() is None
    finally:
        await running.stop()
