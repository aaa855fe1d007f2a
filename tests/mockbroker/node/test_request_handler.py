"""The request boundary: what is refused, what fails, and whom that concerns."""

from __future__ import annotations

import struct

import pytest

from mockbroker.apis.context import RequestContext, Services
from mockbroker.fetch.contexts import SessionlessFetchContext
from mockbroker.journal import (
    HandlerFailed,
    RequestRefused,
    RequestServed,
)
from mockbroker.node.request_handler import FRAMES_PER_STEP
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.produce import (
    ProduceResponse,
)
from mockbroker_protocol.plan import decode, encode
from tests.support.core import Core
from tests.support.requests import fetch, framed, produce


def test_an_append_completes_a_parked_fetch_after_its_own_answer_is_queued() -> None:
    core = Core(topics={"orders": 1})
    reader, writer = core.client(), core.client()
    reader.send(fetch("orders"), 12)
    core.broker.receive(writer.connection_id, b"", core.now_ms)
    writer.send(produce("orders"), 9)
    assert writer.receive(ProduceResponse).responses[0].partition_responses[0].base_offset == 0
    assert reader.receive(FetchResponse).responses[0].partitions[0].high_watermark == 1
    served = [event for event in core.events if isinstance(event, RequestServed)]
    assert [event.api_name for event in served] == ["Produce", "Fetch"]
    assert [event.woken_by for event in served] == [None, "data"]


def test_an_answered_fetch_is_told_with_its_class_and_what_its_session_saved() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    opening = fetch("orders", max_wait_ms=0)
    opening.session_epoch = 0
    sid = client.call(opening, 12, FetchResponse).session_id
    client.call(FetchRequest(session_id=sid, session_epoch=1), 12, FetchResponse)
    told = [
        (event.fetch_class, event.request_bytes_saved, event.response_bytes_saved, event.woken_by)
        for event in core.events
        if isinstance(event, RequestServed)
    ]
    assert told == [("FULL", 0, 0, None), ("INCREMENTAL", 9 + 33, 9 + 37, None)]


@pytest.mark.parametrize(
    ("api_key", "version", "name", "reason"),
    [
        (9999, 0, "unknown", "this API is not served"),
        (1, 99, "Fetch", "served versions are 3 to 18"),
        (1, 2, "Fetch", "served versions are 3 to 18"),
        (52, 0, "Vote", "this API is not served"),
    ],
)
def test_an_unserved_request_closes_the_connection_and_is_told(
    api_key: int, version: int, name: str, reason: str
) -> None:
    core = Core()
    client, neighbour = core.client("app"), core.client()
    client.send_bytes(framed(struct.pack(">hhih3s", api_key, version, 1, 3, b"app") + bytes(8)))
    assert client.closed
    assert client.answered == 0
    (refused,) = [event for event in core.events if isinstance(event, RequestRefused)]
    assert (refused.api_key, refused.api_version, refused.api_name) == (api_key, version, name)
    assert refused.client_id == "app"
    assert refused.reason == reason
    assert neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -5),
        struct.pack(">i", 0),
        struct.pack(">i", 104857601),
        b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
        bytes.fromhex("160301020001000001fc0303") + bytes(600),
        framed(b"\x00"),
        framed(struct.pack(">hhih", 3, 1, 1, 100)),
        framed(struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 2**31 - 1)),
    ],
)
def test_hostile_bytes_close_their_connection_with_one_event(data: bytes) -> None:
    core = Core()
    client, neighbour = core.client(), core.client()
    client.send_bytes(data)
    assert client.closed
    assert sum(isinstance(event, RequestRefused) for event in core.events) == 1
    client.disconnect()
    assert neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


def test_requests_before_a_bad_frame_are_answered_first() -> None:
    core = Core()
    client = core.client()
    client.send_bytes(framed(encode_request_header(18, 0, 1, "a")) + struct.pack(">i", -1))
    assert client.answered == 1
    assert client.closed


def test_a_bad_frame_waits_until_the_parked_request_before_it_is_answered() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    client.send(fetch("orders"), 12)
    client.send_bytes(struct.pack(">i", -1))
    assert not client.closed
    core.advance(500)
    assert client.receive(FetchResponse).error_code == 0
    assert client.closed


def test_a_version_of_api_versions_from_the_future_gets_a_version_0_body() -> None:
    client = Core().client()
    client.send_bytes(framed(encode_request_header(18, 0, 7, "new")[:2] + b"\x00\x63" + bytes(20)))
    frame = client.receive_bytes()
    answer, end = decode(ApiVersionsResponse, 0, frame, 4)
    assert end == len(frame)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [api.api_key for api in answer.api_keys] == [ApiKey.API_VERSIONS]
    assert not client.closed


def test_produce_with_acks_0_has_no_answer_and_an_error_closes() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    client.send(produce("orders", acks=0), 9)
    assert client.answered == 0
    assert not client.closed
    client.send(produce("orders", acks=0, index=7), 9)
    assert client.answered == 0
    assert client.closed


def test_a_defect_in_a_handler_closes_one_connection_and_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = Core()
    client, neighbour = core.client("app"), core.client()
    api = core.broker.registry.get(ApiKey.METADATA)
    assert api is not None

    api.load()

    def broken(services: Services, ctx: RequestContext, request: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(api, "handle", broken)
    client.send(MetadataRequest(topics=None), 1)
    assert client.closed
    (failed,) = [event for event in core.events if isinstance(event, HandlerFailed)]
    assert (failed.api_name, failed.client_id) == ("Metadata", "app")
    assert isinstance(failed.error, ZeroDivisionError)
    assert neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


@pytest.mark.parametrize("acks", [0, 1])
def test_a_long_pipeline_gives_way_to_others(acks: int) -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    request = produce("orders", acks=acks)
    header = encode_request_header(0, 9, 1, "pipe")
    one = framed(header + b"".join(encode(request, 9)))
    core.broker.receive(client.connection_id, one * (FRAMES_PER_STEP + 1), core.now_ms)
    log = core.broker.services.replicas.partition("orders", 0)
    assert log is not None
    assert log.high_watermark == FRAMES_PER_STEP
    (outgoing,) = core.broker.take_outbox()
    assert outgoing.more
    core.broker.resume(client.connection_id, core.now_ms)
    assert log.high_watermark == FRAMES_PER_STEP + 1
    assert not any(outgoing.more for outgoing in core.broker.take_outbox())


def test_a_defect_in_a_decoder_closes_one_connection_and_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = Core()
    client, neighbour = core.client("app"), core.client()
    api = core.broker.registry.get(ApiKey.METADATA)
    assert api is not None
    api.load()

    def broken(_frame: bytes, _pos: int, _version: int) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(api, "decode", broken)
    client.send(MetadataRequest(topics=None), 1)
    assert client.closed
    assert [e.api_name for e in core.events if isinstance(e, HandlerFailed)] == ["Metadata"]
    assert neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


def test_a_defect_in_a_parked_answer_leaves_the_others_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = Core(topics={"orders": 1})
    broken, reader, writer = core.client("broken"), core.client(), core.client()
    broken.send(fetch("orders"), 12)
    reader.send(fetch("orders"), 12)
    ctx = core.broker.connections()[0].in_work
    assert ctx is not None
    assert ctx.fetch is not None

    def fail(_context: object) -> None:
        raise ZeroDivisionError

    respond = SessionlessFetchContext.respond
    failing = ctx.fetch
    monkeypatch.setattr(
        SessionlessFetchContext,
        "respond",
        lambda context: fail(context) if context is failing else respond(context),
    )
    writer.send(produce("orders"), 9)
    assert writer.receive(ProduceResponse).responses[0].partition_responses[0].base_offset == 0
    assert reader.receive(FetchResponse).responses[0].partitions[0].high_watermark == 1
    assert broken.closed
    (failed,) = [event for event in core.events if isinstance(event, HandlerFailed)]
    assert (failed.api_name, failed.client_id) == ("Fetch", "broken")


def test_a_request_without_a_good_header_is_refused_by_name() -> None:
    core = Core()
    client = core.client()
    client.send_bytes(framed(struct.pack(">hhih", 1, 99, 1, 500)))
    (refused,) = [event for event in core.events if isinstance(event, RequestRefused)]
    assert (refused.api_name, refused.api_version) == ("Fetch", 99)
    assert refused.reason.startswith("request header: ")


def test_with_a_stopwatch_the_time_of_work_is_told_of_requests_that_never_wait() -> None:
    core = Core(topics={"orders": 1})
    ticks = iter(range(100))
    core.cluster.journal.stopwatch = lambda: next(ticks) / 1000
    reader, writer = core.client(), core.client()
    reader.send(fetch("orders"), 12)
    writer.call(produce("orders"), 9, ProduceResponse)
    core.cluster.journal.stopwatch = None
    writer.call(produce("orders"), 9, ProduceResponse)
    told = {
        (event.api_name, event.line()["service_ms"])
        for event in core.events
        if isinstance(event, RequestServed)
    }
    assert told == {("Produce", 1.0), ("Fetch", None), ("Produce", None)}
