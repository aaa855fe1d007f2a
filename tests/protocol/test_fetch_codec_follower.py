"""The request of a follower in one go, against the plan: the same bytes, and the same doubts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mockbroker_protocol import plan
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.fetch_codec_follower import (
    FOLLOWED_BYTES,
    NO_HIGH_WATERMARK,
    decode_followed,
    encode_followed,
)
from mockbroker_protocol.fetch_codec_request import decode_fetch_request
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    ReplicaState,
)

TOPIC = bytes(range(16))
HEAD_BYTES = 21
VERSION = 18


def follower_request() -> FetchRequest:
    partition = FetchRequestPartition(3, 7, 1 << 40, 6, 5, 1 << 20)
    partition.high_watermark = (1 << 40) - 1
    topic = FetchRequestTopic(topic_id=TOPIC, partitions=[partition])
    return FetchRequest(
        replica_state=ReplicaState(2, 9),
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=10 << 20,
        session_id=77,
        session_epoch=12,
        topics=[topic],
    )


def test_it_is_what_the_plan_writes_and_reads() -> None:
    request = follower_request()
    body = encode_followed(request, request.topics[0])
    assert body == b"".join(plan.encode(request, VERSION))
    assert len(body) == HEAD_BYTES + FOLLOWED_BYTES
    read = decode_fetch_request(body, 0, VERSION)
    assert read == plan.decode(FetchRequest, VERSION, body, 0)[0] == request


CHANGES: dict[str, Callable[[FetchRequest], object]] = {
    "two partitions": lambda r: r.topics[0].partitions.append(FetchRequestPartition(4)),
    "no partition": lambda r: r.topics[0].partitions.clear(),
    "forgotten": lambda r: r.forgotten_topics_data.append(FetchRequestForgottenTopic("", TOPIC)),
    "rack": lambda r: setattr(r, "rack_id", "r"),
    "cluster id": lambda r: setattr(r, "cluster_id", "c"),
    "no state": lambda r: setattr(r, "replica_state", None),
    "tag": lambda r: setattr(r, "unknown_tags", {9: b"x"}),
    "tag of the topic": lambda r: setattr(r.topics[0], "unknown_tags", {9: b"x"}),
    "tag of the state": lambda r: setattr(r.replica_state, "unknown_tags", {9: b"x"}),
    "tag of the partition": lambda r: setattr(r.topics[0].partitions[0], "unknown_tags", {9: b"x"}),
    "directory": lambda r: setattr(r.topics[0].partitions[0], "replica_directory_id", TOPIC),
    "no high watermark": lambda r: setattr(
        r.topics[0].partitions[0], "high_watermark", NO_HIGH_WATERMARK
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_anything_else_goes_the_general_way(name: str) -> None:
    request = follower_request()
    CHANGES[name](request)
    assert encode_followed(request, request.topics[0]) is None
    body = b"".join(plan.encode(request, VERSION)) + bytes(FOLLOWED_BYTES)
    assert not decode_followed(FetchRequest(), body, HEAD_BYTES)
    assert decode_fetch_request(body, 0, VERSION) == request


@pytest.mark.parametrize("at", range(HEAD_BYTES, HEAD_BYTES + FOLLOWED_BYTES))
def test_each_byte_means_what_it_means_to_the_plan(at: int) -> None:
    request = follower_request()
    whole = encode_followed(request, request.topics[0])
    assert whole is not None
    for value in {0, 1, 2, 3, 8, 13, 127, 128, 255} - {whole[at]}:
        body = whole[:at] + bytes((value,)) + whole[at + 1 :]
        try:
            wanted: object = plan.decode(FetchRequest, VERSION, body, 0)[0]
        except ProtocolError:
            wanted = ProtocolError
        try:
            read: object = decode_fetch_request(body, 0, VERSION)
        except ProtocolError:
            read = ProtocolError
        assert read == wanted
