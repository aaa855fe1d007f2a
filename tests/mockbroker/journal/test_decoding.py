"""The bytes of a request become messages again; what cannot be read is None."""

from __future__ import annotations

from mockbroker.journal.decoding import decode_request, decode_response
from mockbroker_protocol.headers import encode_request_header, encode_response_header
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenResponse,
    DescribeDelegationTokenResponse,
    RenewDelegationTokenRequest,
)
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.plan import encode
from tests.support.delegation_tokens import create, described, token_core
from tests.support.logins import logged_in

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


def test_the_secrets_of_delegation_tokens_are_hidden() -> None:
    core = token_core()
    client = logged_in(core)
    secret = create(client).hmac
    assert described(client)[0].hmac == secret
    made, told = list(core.cluster.journal.requests())[-2:]
    assert isinstance(made.response, CreateDelegationTokenResponse)
    assert made.response.token_id
    assert isinstance(told.response, DescribeDelegationTokenResponse)
    assert [made.response.hmac, told.response.tokens[0].hmac] == [b"", b""]
    request = RenewDelegationTokenRequest(secret, 5)
    frame = encode_request_header(39, 2, 7, "app") + b"".join(encode(request, 2))
    assert decode_request(39, 2, frame) == RenewDelegationTokenRequest(b"", 5)
