from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.fetch_codec import decode_fetch_request, encode_fetch_request
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.primitives import ZERO_UUID

# max wait 500, min bytes 1, max bytes 1 MiB, read_uncommitted, session 5 at epoch 7
HEAD_V15 = bytes.fromhex("000001f4 00000001 00100000 00 00000005 00000007")
HUGE_COUNT = bytes.fromhex("ffffffff0f")


def request_of(topics: int, partitions: int) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=500,
        topics=[
            FetchRequestTopic(
                topic_id=topic.to_bytes(16, "big"),
                partitions=[
                    FetchRequestPartition(index, 3, 40 + index, -1, -1, 65536)
                    for index in range(partitions)
                ],
            )
            for topic in range(topics)
        ],
    )


def test_an_idle_poll_has_nothing_but_its_session() -> None:
    request = decode_fetch_request(HEAD_V15 + bytes.fromhex("01 01 01 00"), 0, 17)
    assert request == FetchRequest(-1, 500, 1, 1 << 20, 0, 5, 7, [], [], "")
    assert request.topics is not decode_fetch_request(HEAD_V15 + b"\1\1\1\0", 0, 17).topics


@pytest.mark.parametrize("version", [13, 15, 17, 18])
@pytest.mark.parametrize("partitions", [0, 1, 2, 126, 127, 128, 300])
@pytest.mark.parametrize("topics", [1, 2, 130])
def test_counts_of_any_width(version: int, topics: int, partitions: int) -> None:
    request = request_of(topics, partitions if topics < 100 else 1)
    assert decode_fetch_request(encode_fetch_request(request, version), 0, version) == request


def test_one_partition_with_more_behind_it() -> None:
    request = request_of(1, 1)
    request.rack_id = "r1"
    request.forgotten_topics_data = [FetchRequestForgottenTopic("", b"f" * 16, [1, 2])]
    request.unknown_tags = {7: b"seven"}
    request.topics[0].unknown_tags = {8: b"eight"}
    request.topics[0].partitions[0].unknown_tags = {9: b"nine"}
    assert decode_fetch_request(encode_fetch_request(request, 17), 0, 17) == request


def test_tags_come_in_any_order_and_the_last_of_a_repeated_one_counts() -> None:
    tags = bytes.fromhex("03") + b"\x09\x01a" + b"\x00\x03\x03xy" + b"\x09\x01b"
    request = decode_fetch_request(HEAD_V15 + b"\1\1\1" + tags, 0, 17)
    assert request.cluster_id == "xy"
    assert request.unknown_tags == {9: b"b"}


def test_what_a_version_lacks_is_left_out() -> None:
    request = request_of(1, 1)
    request.topics[0].topic = "foo"
    request.session_id, request.rack_id, request.cluster_id = 9, "r1", "cid"
    again = decode_fetch_request(encode_fetch_request(request, 3), 0, 3)
    assert (again.session_id, again.session_epoch, again.rack_id) == (0, -1, "")
    assert again.topics[0].topic_id == ZERO_UUID
    assert again.topics[0].partitions[0].current_leader_epoch == -1
    assert again.cluster_id is None


@pytest.mark.parametrize(
    "tail",
    [
        HUGE_COUNT,
        b"\x02" + bytes(16) + HUGE_COUNT,
        b"\x01" + HUGE_COUNT,
        b"\x01\x02" + bytes(16) + HUGE_COUNT,
        b"\x01\x01\x01" + HUGE_COUNT,
    ],
    ids=["topics", "partitions", "forgotten topics", "forgotten partitions", "tags"],
)
def test_a_count_beyond_the_bytes_left_is_refused(tail: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_fetch_request(HEAD_V15 + tail + bytes(40), 0, 17)


@pytest.mark.parametrize("tail", ["00 01 01 00", "01 00 01 00", "01 01 00 00"])
def test_null_where_null_is_not_allowed_is_refused(tail: str) -> None:
    with pytest.raises(ProtocolError):
        decode_fetch_request(HEAD_V15 + bytes.fromhex(tail), 0, 17)


@pytest.mark.parametrize("count", ["7fffffff", "ffffffff", "80000000"])
def test_old_versions_check_counts_too(count: str) -> None:
    head = bytes.fromhex("ffffffff 000001f4 00000001 00100000")
    for start in ("", "00000001 0001 61"):
        with pytest.raises(ProtocolError):
            decode_fetch_request(head + bytes.fromhex(start + count) + bytes(40), 0, 3)


def test_a_name_and_a_rack_that_are_no_utf_8_are_read_all_the_same() -> None:
    for version in (11, 12):
        request = FetchRequest(topics=[FetchRequestTopic("foo")], rack_id="foo")
        body = b"pre" + encode_fetch_request(request, version).replace(b"foo", b"f\xff\xfe")
        read = decode_fetch_request(body, 3, version)
        assert (read.topics[0].topic, read.rack_id) == ("f\ufffd\ufffd",) * 2


@pytest.mark.parametrize(("version", "tag"), [(17, 1), (16, 1), (16, 0), (12, 0)])
def test_a_partitions_tag_of_a_later_version_is_refused(version: int, tag: int) -> None:
    partition = FetchRequestPartition(0, unknown_tags={tag: bytes(16)})
    request = FetchRequest(topics=[FetchRequestTopic("foo", partitions=[partition])])
    body = encode_fetch_request(request, version)
    with pytest.raises(ProtocolError, match=f"tag {tag} of a partition is not valid"):
        decode_fetch_request(body, 0, version)


@pytest.mark.parametrize("version", [12, 14])
def test_a_replicas_state_below_v15_is_refused(version: int) -> None:
    body = encode_fetch_request(FetchRequest(unknown_tags={1: bytes(13)}), version)
    with pytest.raises(ProtocolError, match="tag 1 is not valid"):
        decode_fetch_request(body, 0, version)
