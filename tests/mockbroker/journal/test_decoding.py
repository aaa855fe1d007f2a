"""The bytes of a request become messages again; what cannot be read is None."""

from __future__ import annotations

from mockbroker.journal import RequestServed
from mockbroker.journal.decoding import decode_request, decode_response, uuid_text
from mockbroker.metadata import names
from mockbroker_protocol.headers import encode_request_header, encode_response_header
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.plan import encode

VERSION = 4


def served() -> RequestServed:
    request = RequestServed(12, VERSION, 7, "app", 1)
    header = encode_request_header(12, VERSION, 7, "app")
    request.frame = header + b"".join(encode(HeartbeatRequest("g", 3, "m"), VERSION))
    body = b"".join(encode(HeartbeatResponse(0, 27), VERSION))
    answer = encode_response_header(12, VERSION, 7) + body
    request.chunks = [len(answer).to_bytes(4, "big"), answer]
    return request


def test_both_messages_are_there_again() -> None:
    assert decode_request(served()) == HeartbeatRequest("g", 3, "m")
    assert decode_response(served()) == HeartbeatResponse(0, 27)


def test_an_answer_that_was_cut_is_none() -> None:
    request = served()
    assert request.chunks is not None
    request.chunks[1] = bytes(request.chunks[1])[:5]
    assert decode_response(request) is None


def test_bytes_that_were_let_go_are_none() -> None:
    request = served()
    request.frame = request.chunks = None
    assert decode_request(request) is None
    assert decode_response(request) is None


def test_ids_look_as_the_metadata_print_them() -> None:
    value = bytes(range(250, 256)) + bytes(10)
    assert uuid_text(value) == names.uuid_text(value)
