"""A consumer's half of its session."""

from __future__ import annotations

from mockbroker.what_if.consumer import Session
from mockbroker.what_if.simulate import batch_of
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)

TOPIC = (1).to_bytes(16, "big")


def answer(session_id: int, *partitions: FetchResponsePartition, error: int = 0) -> FetchResponse:
    topics = [FetchResponseTopic("", TOPIC, list(partitions))] if partitions else []
    return FetchResponse(0, error, session_id, topics)


def given(index: int) -> FetchResponsePartition:
    return FetchResponsePartition(index, 0, 1, 1, 0, None, -1, batch_of(100))


def test_only_what_moved_is_named_again() -> None:
    session = Session([(TOPIC, 0), (TOPIC, 1)], 1000)
    first = session.request()
    assert (first.session_id, first.session_epoch, len(first.topics[0].partitions)) == (0, 0, 2)
    session.take(answer(9, given(1)))
    second = session.request()
    assert (second.session_id, second.session_epoch) == (9, 1)
    assert [(p.partition, p.fetch_offset) for p in second.topics[0].partitions] == [(1, 1)]
    session.take(answer(9))
    third = session.request()
    assert (third.session_epoch, third.topics) == (2, [])


def test_who_was_refused_a_session_asks_again_for_all() -> None:
    session = Session([(TOPIC, 0)], 1000)
    session.request()
    session.take(answer(0))
    again = session.request()
    assert (again.session_id, again.session_epoch, len(again.topics)) == (0, 0, 1)


def test_who_has_lost_its_session_asks_again_for_all() -> None:
    session = Session([(TOPIC, 0)], 1000)
    session.request()
    session.take(answer(9))
    session.request()
    session.take(answer(0, error=70))
    again = session.request()
    assert (again.session_id, again.session_epoch, len(again.topics)) == (0, 0, 1)
