"""A broker as another's client: frames out, answers in order, losses told once."""

from __future__ import annotations

import pytest

from mockbroker.clock import Clock, Timer
from mockbroker.cluster.links.broker_client import BrokerClient
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.headers import decode_request_header, encode_response_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.plan import encode

VERSION = 2


class Wires:
    """Takes what a client sends."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.timer = Timer()
        self.opened = 0
        self.closed: list[int | None] = []
        self.sent: list[tuple[int | None, bytes]] = []
        self.answers: list[object | None] = []
        self.client = BrokerClient(self, self.clock, self.timer, 1, 2, "broker-1", 30_000.0)

    def open(self, client: BrokerClient) -> int:
        self.opened += 1
        return -self.opened

    def send(self, client: BrokerClient, data: bytes) -> None:
        self.sent.append((client.connection_id, data))

    def close(self, client: BrokerClient) -> None:
        self.closed.append(client.connection_id)

    def ask(self) -> None:
        self.client.send(ApiVersionsRequest(), VERSION, self.answers.append)

    def answer(self, correlation_id: int, error: int = 0) -> bytes:
        body = b"".join(encode(ApiVersionsResponse(error_code=error), VERSION))
        frame = bytes(encode_response_header(18, VERSION, correlation_id)) + body
        return len(frame).to_bytes(4, "big") + frame


@pytest.fixture
def wires() -> Wires:
    return Wires()


def test_requests_are_whole_frames_and_answers_come_in_their_order(wires: Wires) -> None:
    wires.ask()
    wires.ask()
    headers = [decode_request_header(FrameBuffer().feed(data)[0]) for _, data in wires.sent]
    assert [(h.api_key, h.api_version, h.correlation_id, h.client_id) for h in headers] == [
        (18, VERSION, 1, "broker-1"),
        (18, VERSION, 2, "broker-1"),
    ]
    data = wires.answer(1, error=3) + wires.answer(2, error=4)
    wires.client.received(data[:7])
    assert wires.answers == []
    wires.client.received(data[7:])
    errors = [each.error_code for each in wires.answers if isinstance(each, ApiVersionsResponse)]
    assert errors == [3, 4]
    assert wires.opened == 1


@pytest.mark.parametrize("cut", [None, 2, 4, 20])
def test_the_answer_of_a_fetch_is_the_same_whole_and_cut(wires: Wires, cut: int | None) -> None:
    partition = FetchResponsePartition(3, records=b"r" * 5000, high_watermark=9)
    topic = FetchResponseTopic(topic_id=b"i" * 16, partitions=[partition])
    wires.client.fetch(FetchRequest(), 18, wires.answers.append)
    body = b"".join(encode(FetchResponse(session_id=7, responses=[topic]), 18))
    frame = bytes(encode_response_header(1, 18, 1)) + body
    data = len(frame).to_bytes(4, "big") + frame
    if cut is not None:
        wires.client.received(data[:cut])
        assert wires.answers == []
    wires.client.received(data[cut:])
    (answer,) = wires.answers
    assert isinstance(answer, FetchResponse)
    (told,) = answer.responses[0].partitions
    assert (answer.session_id, told.partition_index, told.high_watermark) == (7, 3, 9)
    assert isinstance(told.records, memoryview)
    assert bytes(told.records) == b"r" * 5000


def test_who_waits_for_one_has_a_fetch_under_way_and_nothing_of_its_answer(wires: Wires) -> None:
    def waits() -> bool:
        return wires.client.waits_for_one

    def fetch() -> None:
        wires.client.fetch(FetchRequest(), 18, wires.answers.append)

    assert not waits()
    fetch()
    assert waits()
    wires.ask()
    assert not waits()  # not for the fetch alone
    wires.client.close()
    wires.ask()
    assert not waits()  # for no fetch
    wires.client.close()
    fetch()
    wires.client.received(b"\0\0")
    assert not waits()


def test_a_lost_connection_answers_nothing_and_the_next_request_opens_another(wires: Wires) -> None:
    wires.ask()
    wires.client.lost()
    assert wires.answers == [None]
    wires.ask()
    assert [connection for connection, _ in wires.sent] == [-1, -2]


def test_an_answer_that_takes_too_long_is_a_lost_connection(wires: Wires) -> None:
    wires.ask()
    wires.client.received(wires.answer(1))
    wires.clock.now_ms = 20_000.0
    wires.ask()
    wires.clock.now_ms = 30_000.0
    wires.timer.advance(wires.clock.now_ms)
    assert len(wires.answers) == 1
    wires.clock.now_ms = 50_000.0
    wires.timer.advance(wires.clock.now_ms)
    assert wires.answers[1:] == [None]
    assert wires.closed == [-1]


def test_a_closed_client_says_nothing_more(wires: Wires) -> None:
    wires.ask()
    wires.client.close()
    assert wires.closed == [-1]
    assert len(wires.timer) == 0
    assert wires.answers == []
