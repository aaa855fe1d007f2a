"""The client's half of a session: full, incremental, adds, forgets, errors and losses."""

from __future__ import annotations

from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from simulation.session_handler import (
    AnsweredPartition,
    FetchSessionHandler,
    RequestedPartition,
    SessionKey,
    bytes_by_key,
)
from simulation.stage import Wire
from tests.support.simulated import Simulated

A: SessionKey = ("t", 0)
B: SessionKey = ("t", 1)
AT_0 = RequestedPartition(0, 100, -1)
AT_5 = RequestedPartition(5, 100, -1)


def answer(session_id: int, *indexes: int, error: int = 0) -> FetchResponse:
    partitions = [FetchResponsePartition(index, 0, 9, 9, 1, None, -1, b"") for index in indexes]
    topics = [FetchResponseTopic("t", partitions=partitions)] if partitions else []
    return FetchResponse(0, error, session_id, topics)


def opened() -> FetchSessionHandler:
    handler = FetchSessionHandler()
    handler.build({A: AT_0, B: AT_0}, by_id=False)
    assert handler.accept(answer(7, 0, 1)) is None
    return handler


def wire() -> Wire:
    class Deaf:
        def data_received(self, data: bytes) -> None:
            """Not heard."""

        def connection_lost(self) -> None:
            """Not heard."""

    return Simulated().world.connect(Deaf())


def test_the_first_request_is_full_and_its_answer_opens_the_session() -> None:
    handler = opened()
    assert (handler.session_id, handler.epoch, handler.is_full) == (7, 1, False)
    assert handler.view == {A: AnsweredPartition(0, 9, 1), B: AnsweredPartition(0, 9, 1)}


def test_an_incremental_request_names_changes_and_what_is_forgotten() -> None:
    handler = opened()
    body = handler.build({A: AT_5}, by_id=False)
    assert (body.session_id, body.epoch) == (7, 1)
    assert [(t.topic, [p.partition for p in t.partitions]) for t in body.topics] == [("t", [0])]
    assert [(t.topic, t.partitions) for t in body.forgotten] == [("t", [1])]
    assert handler.accept(answer(7)) is None
    assert handler.epoch == 2
    assert list(handler.view) == [A]


def test_an_unchanged_session_sends_nothing() -> None:
    body = opened().build({A: AT_0, B: AT_0}, by_id=False)
    assert (body.topics, body.forgotten) == ([], [])


def test_a_full_answer_must_hold_what_was_asked() -> None:
    handler = FetchSessionHandler()
    handler.build({A: AT_0, B: AT_0}, by_id=False)
    assert handler.accept(answer(7, 0)) is not None


def test_an_incremental_answer_must_not_hold_strangers() -> None:
    handler = opened()
    handler.build({A: AT_0}, by_id=False)
    assert "which its session does not" in str(handler.accept(answer(7, 1)))


def test_an_unknown_session_is_forgotten_and_another_error_closes_it() -> None:
    handler = opened()
    handler.build({A: AT_0}, by_id=False)
    assert handler.accept(answer(0, error=71)) is None
    assert (handler.session_id, handler.epoch) == (7, 0)
    handler = opened()
    handler.build({A: AT_0}, by_id=False)
    assert handler.accept(answer(0, error=70)) is None
    assert (handler.session_id, handler.epoch) == (0, 0)


def test_a_session_that_became_empty_is_closed_by_the_server() -> None:
    handler = opened()
    handler.build({}, by_id=False)
    assert handler.accept(answer(0)) is None
    assert handler.is_full
    handler = opened()
    handler.build({A: AT_0}, by_id=False)
    assert handler.accept(answer(0)) == "server closed a session with partitions"


def test_a_refused_session_is_asked_for_again() -> None:
    handler = FetchSessionHandler()
    handler.build({A: AT_0}, by_id=False)
    assert handler.accept(answer(0, 0)) is None
    assert handler.is_full


def test_sessionless_requests_stay_so() -> None:
    handler = FetchSessionHandler(sessionless=True)
    body = handler.build({A: AT_0}, by_id=False)
    assert (body.session_id, body.epoch) == (0, -1)
    assert handler.accept(answer(0, 0)) is None
    assert handler.accept(answer(3, 0)) == "sessionless answer opened session 3"
    assert handler.accept(answer(0, error=71)) is not None
    handler.lost()
    assert handler.epoch == -1


def test_names_and_ids_do_not_share_a_session() -> None:
    handler = opened()
    body = handler.build({(b"i" * 16, 0): AT_0}, by_id=True)
    assert (body.session_id, body.epoch) == (7, 0)
    assert body.topics[0].topic_id == b"i" * 16


def test_a_loss_begins_anew_or_goes_on_with_doubts() -> None:
    handler = opened()
    handler.lost()
    assert handler.is_full
    handler = opened()
    lost = wire()
    handler.resume(lost)
    assert (handler.epoch, handler.tainted) == (2, False)
    lost.emit(b"news")
    assert handler.tainted
    handler.lost()
    handler.build({A: AT_0}, by_id=False)
    assert handler.accept(answer(8, 0)) is None
    assert not handler.tainted


def test_sizes_are_those_of_partitions_with_records() -> None:
    response = answer(7, 0, 1)
    response.responses[0].partitions[1].records = [b"ab", b"c"]
    assert bytes_by_key(response, by_id=False) == {B: 3}
