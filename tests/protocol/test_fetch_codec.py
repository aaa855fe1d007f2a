"""The hand-written Fetch codec against Kafka's own bytes, the compiled plan, and kio."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockbroker_protocol import plan
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.fetch_codec import (
    decode_fetch_request,
    decode_fetch_response,
    encode_fetch_request,
    encode_fetch_response,
)
from mockbroker_protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    ReplicaState,
)
from mockbroker_protocol.primitives import ZERO_UUID
from tests.support import kio_bridge
from tests.support.messages import strategy_for

VERSIONS = range(3, 19)
KIO_VERSIONS = range(4, 19)
GOLDEN = {
    name: bytes.fromhex(body)
    for line in (Path(__file__).parents[1] / "golden" / "fetch.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
    for name, body in (line.split(),)
}
FOO = bytes.fromhex("00112233445566778899aabbccddeeff")
BAR = bytes.fromhex("00000000deadbeef00000000cafef00d")
SESSION_ID = 0x01020304

Decoder = Callable[[Any, int, int], Any]


def decode_with_plan(cls: type) -> Decoder:
    def decode(buf: Any, pos: int, version: int) -> Any:
        return plan.decode(cls, version, buf, pos)[0]

    return decode


def hand_encode(message: FetchRequest | FetchResponse, version: int) -> bytes:
    if isinstance(message, FetchRequest):
        return encode_fetch_request(message, version)
    return b"".join(encode_fetch_response(message, version))


def plan_encode(message: FetchRequest | FetchResponse, version: int) -> bytes:
    return b"".join(plan.encode(message, version))


DECODERS = {
    "req": (decode_fetch_request, decode_with_plan(FetchRequest)),
    "resp": (decode_fetch_response, decode_with_plan(FetchResponse)),
}


def consumer_request(version: int) -> FetchRequest:
    by_id = version >= 13
    request = FetchRequest(-1, 500, 1, 1048576)
    request.isolation_level = 1 if version >= 4 else 0
    partition = FetchRequestPartition(2, -1, 42, -1, -1, 65536)
    partition.current_leader_epoch = 3 if version >= 9 else -1
    request.topics = [FetchRequestTopic("", FOO) if by_id else FetchRequestTopic("foo")]
    request.topics[0].partitions = [partition]
    if version >= 7:
        request.session_id, request.session_epoch = SESSION_ID, 5
        name, topic_id = ("", BAR) if by_id else ("bar", ZERO_UUID)
        request.forgotten_topics_data = [FetchRequestForgottenTopic(name, topic_id, [7])]
    if version >= 11:
        request.rack_id = "r1"
    return request


def follower_request(version: int) -> FetchRequest:
    request = consumer_request(version)
    request.isolation_level = 0
    request.forgotten_topics_data = []
    request.rack_id = ""
    partition = request.topics[0].partitions[0]
    if version < 15:
        request.replica_id = 9
    else:
        request.replica_state = ReplicaState(9, 77)
    if version >= 12:
        request.cluster_id = "cid"
        partition.last_fetched_epoch = 2
    if version >= 17:
        partition.replica_directory_id = bytes(range(1, 17))
    if version >= 18:
        partition.high_watermark = 40
    return request


def response_with(partition: FetchResponsePartition, version: int) -> FetchResponse:
    topic = FetchResponseTopic("", FOO) if version >= 13 else FetchResponseTopic("foo")
    topic.partitions = [partition]
    return FetchResponse(0, 0, SESSION_ID if version >= 7 else 0, [topic])


def read_committed_response(version: int) -> FetchResponse:
    partition = FetchResponsePartition(2, 0, 100, records=b"")
    if version >= 4:
        partition.last_stable_offset = 90
        partition.aborted_transactions = [AbortedTransaction(11, 43)]
    if version >= 5:
        partition.log_start_offset = 4
    return response_with(partition, version)


def not_leader_response(version: int) -> FetchResponse:
    partition = FetchResponsePartition(2, 6, -1, records=b"")
    partition.aborted_transactions = None if version >= 4 else []
    response = response_with(partition, version)
    if version >= 12:
        partition.current_leader = LeaderIdAndEpoch(3, 8)
    if version >= 16:
        response.node_endpoints = [NodeEndpoint(3, "h", 9092, None)]
    return response


def diverging_response(version: int) -> FetchResponse:
    partition = FetchResponsePartition(2, 0, 100, 90, 4, None)
    partition.diverging_epoch = EpochEndOffset(1, 30)
    return response_with(partition, version)


DESCRIBED: dict[str, Callable[[int], FetchRequest | FetchResponse]] = {
    "req.consumer": consumer_request,
    "req.follower": follower_request,
    "resp.rc": read_committed_response,
    "resp.notleader": not_leader_response,
    "resp.diverging.nullrecords": diverging_response,
}


def test_the_golden_file_covers_every_version() -> None:
    covered = {(name.split(".")[0], int(name.rpartition(".v")[2])) for name in GOLDEN}
    assert covered == {(kind, version) for kind in DECODERS for version in VERSIONS}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes_are_the_described_message(name: str) -> None:
    base, _, version = name.rpartition(".v")
    described = DESCRIBED[base](int(version))
    for decode in DECODERS[name.split(".", maxsplit=1)[0]]:
        assert decode(GOLDEN[name], 0, int(version)) == described


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes_are_written_again(name: str) -> None:
    base, _, version = name.rpartition(".v")
    described = DESCRIBED[base](int(version))
    assert hand_encode(described, int(version)) == GOLDEN[name]
    assert plan_encode(described, int(version)) == GOLDEN[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_body_may_stand_anywhere_in_any_buffer(name: str) -> None:
    base, _, version = name.rpartition(".v")
    described = DESCRIBED[base](int(version))
    framed = b"head" + GOLDEN[name] + b"tail"
    decode = DECODERS[name.split(".", maxsplit=1)[0]][0]
    for buf in (framed, bytearray(framed), memoryview(framed), memoryview(bytearray(framed))):
        assert decode(buf, 4, int(version)) == described


@pytest.mark.parametrize("name", GOLDEN)
def test_truncation_at_each_byte_is_a_protocol_error(name: str) -> None:
    version = int(name.rpartition(".v")[2])
    for decode in DECODERS[name.split(".", maxsplit=1)[0]]:
        for size in range(len(GOLDEN[name])):
            with pytest.raises(ProtocolError):
                decode(GOLDEN[name][:size], 0, version)


def outcome(decode: Decoder, body: bytes, version: int) -> object:
    """The message, or ProtocolError; anything else that is raised fails the test."""
    try:
        return decode(body, 0, version)
    except ProtocolError:
        return ProtocolError


@pytest.mark.parametrize("name", GOLDEN)
def test_mutated_bytes_give_what_the_plan_gives(name: str) -> None:
    version = int(name.rpartition(".v")[2])
    hand, planned = DECODERS[name.split(".", maxsplit=1)[0]]
    rng = random.Random(name)
    for _ in range(100):
        body = bytearray(GOLDEN[name])
        for _ in range(rng.randint(1, 3)):
            body[rng.randrange(len(body))] = rng.choice(
                (0, 1, 2, 127, 128, 255, rng.randrange(256))
            )
        assert outcome(hand, bytes(body), version) == outcome(planned, bytes(body), version), body


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cls", [FetchRequest, FetchResponse])
@given(body=st.binary(max_size=200))
@settings(max_examples=30)
def test_random_bytes_give_a_message_or_a_protocol_error(
    cls: type, version: int, body: bytes
) -> None:
    kind = "req" if cls is FetchRequest else "resp"
    hand, planned = DECODERS[kind]
    assert outcome(hand, body, version) == outcome(planned, body, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cls", [FetchRequest, FetchResponse])
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_hand_and_plan_agree(
    cls: type[FetchRequest | FetchResponse], version: int, data: st.DataObject
) -> None:
    message = data.draw(strategy_for(cls, version))
    body = hand_encode(message, version)
    assert body == plan_encode(message, version)
    for decode in DECODERS["req" if cls is FetchRequest else "resp"]:
        assert decode(body, 0, version) == message
    size = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(ProtocolError):
        DECODERS["req" if cls is FetchRequest else "resp"][0](body[:size], 0, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cls", [FetchRequest, FetchResponse])
@given(data=st.data())
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
def test_hand_and_kio_agree(
    cls: type[FetchRequest | FetchResponse], version: int, data: st.DataObject
) -> None:
    kio = kio_bridge.kio_class(cls, version)
    assert (kio is not None) == (version in KIO_VERSIONS)
    if kio is None:
        return
    message = data.draw(strategy_for(cls, version, unknown_tags=False))
    kio_bridge.make_kio_safe(message, kio)
    body = hand_encode(message, version)
    theirs, size = kio_bridge.read(kio, body)
    assert size == len(body)
    assert list(kio_bridge.disagreements(message, theirs)) == []
    assert kio_bridge.write(kio, theirs) == body
