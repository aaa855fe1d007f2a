"""The bytes of a request become messages again; what cannot be read is None."""

from __future__ import annotations

from mockbroker.journal.decoding import decode_request, decode_response
from mockbroker_protocol.headers import encode_request_header, encode_response_header
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.plan import encode

VERSION = 4


HEADER = encode_request_header(12, VERSION, 7, "app")
FRAME = HEADER + b"".join(encode(HeartbeatRequest("g", 3, "m"), VERSION))
ANSWER = encode_response_header(12, VERSION, 7) + b"".join(
    encode(HeartbeatResponse(0, 27), VERSION)
)
LENGTH = len(ANSWER).to_bytes(4, "big")


def test_both_messages_are_there_again() -> None:
    assert decode_request(12, VERSION, FRAME) == HeartbeatRequest("g", 3, "m")
    assert decode_response(12, VERSION, [LENGTH, ANSWER]) == HeartbeatResponse(0, 27)


def test_an_answer_that_was_cut_is_none() -> None:
    assert decode_response(12, VERSION, [LENGTH, ANSWER[:5]]) is None


def test_bytes_that_were_let_go_are_none() -> None:
    assert decode_request(12, VERSION, None) is None
    assert decode_response(12, VERSION, None) is None
