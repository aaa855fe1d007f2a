"""Requests that a broker forwards for a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from mockbroker.apis.context import PARKED, RequestContext
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.controller_apis import EnvelopeRequest, EnvelopeResponse
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mockbroker_protocol.plan import decode, encode
from tests.support.metadata_logs import CONTROLLER, QuorumCore

if TYPE_CHECKING:
    from mockbroker.apis.context import Services

# Version 0, "User", "alice", no delegation token, no tags.
ALICE = bytes.fromhex("0000") + b"\x05User\x06alice\x00\x00"
CREATE = CreateTopicsRequest([CreatableTopic("made", 3, 1)], 1000)


def forwarded(request: Any, version: int, principal: bytes | None = ALICE) -> EnvelopeRequest:
    header = encode_request_header(request.API_KEY, version, 77, "client")
    return EnvelopeRequest(header + b"".join(encode(request, version)), principal, b"\x7f\0\0\1")


def opened(data: bytes | None, version: int) -> CreateTopicsResponse:
    assert data is not None
    correlation_id, pos = decode_response_header(data, 19, version)
    assert correlation_id == 77
    return decode(CreateTopicsResponse, version, data, pos)[0]


@pytest.mark.parametrize("version", [4, 7])
@pytest.mark.parametrize("principal", [ALICE, None])
def test_a_topic_is_created_for_somebody_elses_client(
    version: int, principal: bytes | None
) -> None:
    core = QuorumCore()
    envelope = forwarded(CREATE, version, principal)
    answer = core.observer().call(envelope, 0, EnvelopeResponse)
    assert answer.error_code == 0
    (topic,) = opened(answer.response_data, version).topics
    assert (topic.name, topic.error_code) == ("made", 0)
    assert len(core.cluster.metadata.topics["made"].partitions) == 3


@pytest.mark.parametrize(
    ("envelope", "error"),
    [
        (forwarded(MetadataRequest(None), 9), 42),
        (EnvelopeRequest(b"\0\x13\0\7", None, b""), 42),
        (EnvelopeRequest(b"\0\x13\0\x63\0\0\0\1\0\1c\0", None, b""), 35),
        (EnvelopeRequest(forwarded(CREATE, 7).request_data[:-5], None, b""), 42),
        (forwarded(CREATE, 7, b"\0\0\x20User"), 42),
    ],
)
def test_what_is_not_forwarded(envelope: EnvelopeRequest, error: int) -> None:
    answer = QuorumCore().observer().call(envelope, 0, EnvelopeResponse)
    assert (answer.error_code, answer.response_data) == (error, None)


@pytest.mark.parametrize("by", [False, True])
def test_a_late_answer_comes_in_the_envelope_too(by: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    core = QuorumCore()
    waiting: list[RequestContext] = []

    def park(services: Services, ctx: RequestContext, request: object) -> object:
        waiting.append(ctx)
        return PARKED

    api = core.listening(CONTROLLER.name).services.registry.get(19)
    assert api is not None
    api.load()
    monkeypatch.setattr(api, "handle", park)
    client = core.observer()
    client.send(forwarded(CREATE, 7), 0)
    assert client.answered == 0
    (ctx,) = waiting
    assert (ctx.principal, ctx.client_id, ctx.api_version) == ("User:alice", "client", 7)
    late = CreateTopicsResponse(5)
    core.act(lambda: ctx.respond_by(lambda: late) if by else ctx.respond(late))
    core.act(lambda: ctx.respond(CreateTopicsResponse(6)))
    answer = client.receive(EnvelopeResponse)
    assert opened(cast("bytes", answer.response_data), 7) == late
