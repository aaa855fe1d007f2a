from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.headers import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    frame_response,
    peek_request_header,
)

KEYS = st.sampled_from(sorted(ALL_SPECS))
CLIENT_IDS = st.none() | st.text(st.characters(codec="utf-8"), max_size=40)
TAGS = st.dictionaries(st.integers(0, 400), st.binary(max_size=4), min_size=1, max_size=3)


@given(KEYS, st.integers(0, 18), st.integers(-(2**31), 2**31 - 1), CLIENT_IDS, st.none() | TAGS)
def test_request_headers_round_trip(
    key: int, version: int, correlation_id: int, client_id: str | None, tags: dict[int, bytes]
) -> None:
    if version < ALL_SPECS[key].flexible:
        tags = {}
    raw = encode_request_header(key, version, correlation_id, client_id, tags)
    for buf in (raw + b"body", bytearray(raw + b"body"), memoryview(raw + b"body")):
        header = decode_request_header(buf)
        assert (header.api_key, header.api_version) == (key, version)
        assert (header.correlation_id, header.client_id) == (correlation_id, client_id)
        assert header.body_pos == len(raw)
        assert (header.unknown_tags or {}) == (tags or {})


def test_header_v1_and_v2_as_bytes() -> None:
    assert encode_request_header(1, 11, 7, "cid").hex() == "0001000b000000070003636964"
    assert encode_request_header(1, 12, 7, "cid").hex() == "0001000c00000007000363696400"
    assert encode_request_header(1, 12, 7, None).hex() == "0001000c00000007ffff00"


def test_response_header_is_v1_from_the_first_flexible_version() -> None:
    assert encode_response_header(ApiKey.FETCH, 11, 5) == b"\0\0\0\5"
    assert encode_response_header(ApiKey.FETCH, 12, 5) == b"\0\0\0\5\0"
    assert decode_response_header(b"\0\0\0\5\0", ApiKey.FETCH, 12) == (5, 5)
    assert decode_response_header(b"\0\0\0\5", ApiKey.FETCH, 11) == (5, 4)


def test_api_versions_is_asked_with_header_v2_and_answered_with_v0() -> None:
    assert encode_request_header(18, 3, 1, "c")[-1:] == b"\0"
    assert encode_response_header(18, 3, 1) == encode_response_header(18, 0, 1) == b"\0\0\0\1"
    assert decode_response_header(b"\0\0\0\1", 18, 4) == (1, 4)


@given(KEYS, st.integers(0, 18), st.integers(), st.lists(st.binary(max_size=6000), max_size=4))
def test_a_response_is_its_length_header_and_body(
    key: int, version: int, correlation_id: int, body: list[bytes]
) -> None:
    correlation_id %= 2**31
    stream = b"".join(frame_response(key, version, correlation_id, [*body]))
    header = encode_response_header(key, version, correlation_id)
    assert FrameBuffer().feed(stream) == [header + b"".join(body)]


def test_a_large_chunk_is_not_copied_into_a_response() -> None:
    large = memoryview(b"r" * 5000)
    assert frame_response(1, 11, 5, [b"start", large, b"end"])[1] is large
    assert frame_response(1, 11, 5, [large])[1] is large
    assert len(frame_response(1, 11, 5, [b"small"])) == 1


def test_api_versions_of_the_future_still_gives_the_client_id() -> None:
    raw = b"\0\x12\0\x63\0\0\0\1\0\3cid"
    for tail in (b"", b"\0", b"\xff", b"\1\1\xff"):
        header = decode_request_header(raw + tail)
        assert (header.api_version, header.client_id) == (99, "cid")


def test_an_unknown_api_is_read_as_header_v1() -> None:
    header = decode_request_header(b"\x7f\0\0\x63\0\0\0\1\0\1c\xff")
    assert (header.api_key, header.client_id, header.body_pos) == (0x7F00, "c", 11)


def test_truncation_at_each_byte_is_a_protocol_error() -> None:
    whole = encode_request_header(1, 12, 7, "cid", {1: b"ab"})
    for end in range(len(whole)):
        with pytest.raises(ProtocolError):
            decode_request_header(whole[:end])
    for end in range(5):
        with pytest.raises(ProtocolError):
            decode_response_header(b"\0\0\0\1\0"[:end], 1, 12)


@given(st.binary(max_size=40))
def test_random_bytes_give_a_header_or_a_protocol_error(raw: bytes) -> None:
    try:
        header = decode_request_header(raw)
    except ProtocolError:
        return
    assert header.body_pos <= len(raw)


def test_a_client_id_that_is_not_utf8_is_read_all_the_same() -> None:
    raw = b"\0\1\0\4\0\0\0\1\0\1\xff"
    for bytes_like in (raw, bytearray(raw), memoryview(raw)):
        header = decode_request_header(bytes_like)
        assert (header.client_id, header.body_pos) == ("\ufffd", len(raw))


def test_a_header_without_tags_refuses_unknown_tags() -> None:
    with pytest.raises(ValueError, match="unknown_tags"):
        encode_request_header(1, 4, 1, "c", {1: b""})


def test_a_bad_header_still_says_which_api_it_is_for() -> None:
    header = peek_request_header(b"\0\1\0\x63\0\0")
    assert header is not None
    assert (header.api_key, header.api_version, header.client_id) == (1, 99, None)
    assert peek_request_header(b"\0\1\0") is None
