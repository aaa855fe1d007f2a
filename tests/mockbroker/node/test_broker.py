"""The core of one node: its verbs, the order of answers, and the end of a step."""

from __future__ import annotations

import struct

import pytest

from mockbroker.journal import (
    ConnectionClosed,
    ConnectionOpened,
)
from mockbroker.node import connection
from mockbroker.node.request_handler import FRAMES_PER_STEP
from mockbroker.server.compiled import is_compiled
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.plan import encode
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import Core, CoreClient
from tests.support.requests import fetch, framed


def is_read(client: CoreClient) -> bool:
    """Whether the shell reads it; a call, which a type checker does not take for settled."""
    return client.reading


def test_a_request_is_answered_in_its_own_step() -> None:
    client = Core().client()
    answer = client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert answer.error_code == 0
    assert int(ApiKey.FETCH) in {api.api_key for api in answer.api_keys}


@pytest.mark.parametrize("size", [1, 3, 7, 64])
def test_bytes_may_come_in_any_pieces(size: int) -> None:
    client = Core().client()
    header = encode_request_header(18, 0, 9, "pieces")
    data = framed(header) * 2
    for start in range(0, len(data), size):
        client.send_bytes(data[start : start + size])
    assert client.answered == 2
    assert client.receive_bytes()[:4] == struct.pack(">i", 9)


def test_the_buffer_that_the_core_lends_is_read_like_bytes_that_are_handed_in() -> None:
    core = Core()
    client = core.client()
    data = framed(encode_request_header(18, 0, 1, "lent"))
    core.broker.receive_buffer(1, 4096)[: len(data)] = data
    core.broker.received(1, len(data), 0.0)
    core.deliver()
    assert client.answered == 1


def test_a_parked_fetch_holds_up_its_own_connection_only() -> None:
    core = Core(topics={"orders": 1})
    reader, other = core.client(), core.client()
    reader.send(fetch("orders"), 12)
    reader.send(ApiVersionsRequest(), 0)
    assert reader.answered == 0
    assert other.call(MetadataRequest(topics=None), 1, MetadataResponse).topics[0].name == "orders"
    core.advance(499)
    assert reader.answered == 0
    core.advance(1)
    assert reader.receive(FetchResponse).error_code == 0
    assert reader.receive(ApiVersionsResponse).error_code == 0


def test_a_disconnect_cancels_what_was_parked() -> None:
    core = Core(topics={"orders": 1})
    reader = core.client()
    reader.send(fetch("orders"), 12)
    reader.disconnect()
    assert core.broker.services.replicas.fetch_purgatory.num_delayed_operations == 0
    assert core.broker.next_deadline() is None
    core.advance(1000)
    assert reader.answered == 0


def test_nothing_more_is_worked_on_while_a_client_does_not_read() -> None:
    core = Core()
    client = core.client()
    core.broker.block(client.connection_id, blocked=True, now_ms=0.0)
    client.send(ApiVersionsRequest(), 0)
    assert client.answered == 0
    core.broker.block(client.connection_id, blocked=False, now_ms=0.0)
    core.deliver()
    assert client.answered == 1


def test_a_client_that_runs_ahead_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = connection.QUEUED_FRAMES_LIMIT
    if not is_compiled():
        limit = 50
        monkeypatch.setattr(connection, "QUEUED_FRAMES_LIMIT", limit)
    core = Core(topics={"orders": 1})
    client = core.client()
    client.send(fetch("orders"), 12)
    one = framed(encode_request_header(18, 0, 1, "a"))
    client.send_bytes(one * limit)
    assert is_read(client)
    client.send_bytes(one)
    assert not is_read(client)
    core.advance(500)
    assert is_read(client)
    assert client.answered == limit + 2


def test_connections_are_told_with_what_they_did() -> None:
    core = Core()
    client = core.client("app")
    client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    core.now_ms = 250.0
    client.disconnect()
    opened, _, closed = core.events
    assert isinstance(opened, ConnectionOpened)
    assert isinstance(closed, ConnectionClosed)
    assert (closed.client_id, closed.requests, closed.lifetime_ms) == ("app", 1, 250.0)
    assert closed.reason is None


def test_a_shutdown_answers_what_is_parked() -> None:
    core = Core(topics={"orders": 1})
    reader = core.client()
    reader.send(fetch("orders", max_wait_ms=60_000), 12)
    core.broker.release_parked(core.now_ms)
    core.deliver()
    assert reader.receive(FetchResponse).error_code == 0


def test_the_same_seed_gives_the_same_answers() -> None:
    answers = [
        Core(seed=7, topics={"a": 2})
        .client()
        .call(MetadataRequest(topics=None), 12, MetadataResponse)
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    other = Core(seed=8, topics={"a": 2}).client()
    assert other.call(MetadataRequest(topics=None), 12, MetadataResponse) != answers[0]


def test_what_several_connections_sent_may_be_worked_on_in_one_step() -> None:
    core = Core()
    clients = [core.client(), core.client()]
    data = framed(encode_request_header(18, 0, 1, "together"))
    for client in clients:
        core.broker.receive_buffer(client.connection_id, 4096)[: len(data)] = data
        core.broker.arrived(client.connection_id, len(data))
    assert [client.answered for client in clients] == [0, 0]
    core.broker.run(core.now_ms)
    core.deliver()
    assert [client.answered for client in clients] == [1, 1]


def test_what_arrived_badly_closes_its_connection_when_the_step_runs() -> None:
    core = Core()
    client = core.client()
    core.broker.receive_buffer(client.connection_id, 4096)[:4] = struct.pack(">i", -1)
    core.broker.arrived(client.connection_id, 4)
    core.broker.run(core.now_ms)
    core.deliver()
    assert client.closed


def test_a_failing_timer_leaves_the_requests_that_wait_served() -> None:
    core = Core(topics={"orders": 1})
    reader = core.client()

    def fail() -> None:
        raise ZeroDivisionError

    core.broker.services.timer.schedule(500, fail)
    reader.send(fetch("orders"), 12)
    with pytest.raises(ZeroDivisionError):
        core.broker.tick(500)
    assert core.broker.next_deadline() == 500
    core.broker.tick(500)
    core.deliver()
    assert reader.receive(FetchResponse).error_code == 0


def test_reading_goes_on_after_a_long_queue_of_requests_without_answers() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    client.send(fetch("orders"), 12)
    batch = build_batch([Record(0, 1_700_000_000_000, b"k", bytes(20_000))])
    part = ProduceRequestPartition(index=0, records=batch)
    silent = ProduceRequest(
        acks=0,
        timeout_ms=1000,
        topic_data=[ProduceRequestTopic(name="orders", partition_data=[part])],
    )
    frame = encode_request_header(0, 9, 7, "test") + b"".join(encode(silent, 9))
    for _ in range(FRAMES_PER_STEP + 100):
        client.send_bytes(framed(frame))
    assert not is_read(client)
    core.advance(500)
    assert client.receive(FetchResponse).error_code == 0
    assert is_read(client)
    partition = core.broker.services.replicas.partition("orders", 0)
    assert partition is not None
    assert partition.high_watermark == FRAMES_PER_STEP + 100
