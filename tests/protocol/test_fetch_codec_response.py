from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.fetch_codec import decode_fetch_response, encode_fetch_response
from mockbroker_protocol.fetch_codec_response import PASS_THROUGH_BYTES
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    SnapshotId,
)
from mockbroker_protocol.primitives import Buffer

VERSIONS = [3, 4, 5, 7, 11, 12, 13, 16, 18]
LARGE = b"r" * PASS_THROUGH_BYTES
HUGE_COUNT = bytes.fromhex("ffffffff0f")
HEAD_V12 = bytes.fromhex("00000000 0000 00000005")


def response_of(*records: Buffer | list[Buffer] | None) -> FetchResponse:
    partitions = [FetchResponsePartition(i, records=each) for i, each in enumerate(records)]
    return FetchResponse(responses=[FetchResponseTopic("foo", b"i" * 16, partitions)])


def test_an_idle_answer_is_twelve_bytes() -> None:
    chunks = encode_fetch_response(FetchResponse(session_id=5), 17)
    assert chunks == [HEAD_V12 + b"\1\0"]


@pytest.mark.parametrize("version", VERSIONS)
def test_large_chunks_leave_uncopied_and_the_rest_is_joined(version: int) -> None:
    large, view = bytes(LARGE), memoryview(bytearray(LARGE))
    response = response_of([b"head", large, b"mid", view], b"small", large)
    chunks = encode_fetch_response(response, version)
    assert [chunk is large or chunk is view for chunk in chunks if len(chunk) >= len(LARGE)] == [
        True,
        True,
        True,
    ]
    assert len(chunks) <= 7
    body = b"".join(chunks)
    joined = response_of(b"".join([b"head", large, b"mid", view]), b"small", large)
    assert b"".join(encode_fetch_response(joined, version)) == body


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 4095, 4096, 20_000])
def test_records_of_any_size_in_one_piece_or_in_many(version: int, size: int) -> None:
    records = bytes(range(256)) * 80
    whole = b"".join(encode_fetch_response(response_of(records[:size]), version))
    pieces: list[Buffer] = [records[:size][at : at + 999] for at in range(0, size, 999)]
    assert b"".join(encode_fetch_response(response_of(pieces), version)) == whole
    (topic,) = decode_fetch_response(whole, 0, version).responses
    assert topic.partitions[0].records == records[:size]


@pytest.mark.parametrize("version", VERSIONS)
def test_null_and_empty_records_differ(version: int) -> None:
    body = b"".join(encode_fetch_response(response_of(None, b"", []), version))
    (topic,) = decode_fetch_response(body, 0, version).responses
    assert [partition.records for partition in topic.partitions] == [None, b"", b""]


def test_records_are_a_view_of_the_frame() -> None:
    body = b"".join(encode_fetch_response(response_of(b"records"), 17))
    (topic,) = decode_fetch_response(body, 0, 17).responses
    records = topic.partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is body


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [126, 127, 128, 300])
def test_counts_of_any_width(version: int, count: int) -> None:
    many = response_of(*[b""] * count)
    assert decode(many, version).responses[0].partitions[-1].partition_index == count - 1
    topics = FetchResponse(responses=[FetchResponseTopic(str(i), b"i" * 16) for i in range(count)])
    assert len(decode(topics, version).responses) == count


def decode(response: FetchResponse, version: int) -> FetchResponse:
    return decode_fetch_response(b"".join(encode_fetch_response(response, version)), 0, version)


def test_every_tagged_field_at_once() -> None:
    response = response_of(b"")
    response.responses[0].topic = ""
    partition = response.responses[0].partitions[0]
    partition.diverging_epoch = EpochEndOffset(1, 30, {5: b"five"})
    partition.current_leader = LeaderIdAndEpoch(3, 8)
    partition.snapshot_id = SnapshotId(10, 2)
    partition.unknown_tags = {9: b"nine"}
    response.responses[0].unknown_tags = {8: b"eight"}
    response.node_endpoints = [NodeEndpoint(3, "h", 9092, "r", {6: b""}), NodeEndpoint(4, "i", 1)]
    response.unknown_tags = {7: b"seven"}
    assert decode(response, 16) == response


def test_endpoints_travel_without_topics() -> None:
    response = FetchResponse(node_endpoints=[NodeEndpoint(3, "h", 9092)])
    assert decode(response, 16) == response
    assert decode(response, 15) == FetchResponse()
    with pytest.raises(ProtocolError, match="tag 0 is not valid"):
        decode(FetchResponse(unknown_tags={0: b"\1"}), 15)


@pytest.mark.parametrize(
    "tail",
    [
        HUGE_COUNT,
        b"\x02" + bytes(16) + HUGE_COUNT,
        b"\x02" + bytes(16) + b"\x02" + bytes(30) + HUGE_COUNT,
        b"\x02" + bytes(16) + b"\x02" + bytes(30) + b"\x01" + bytes(4) + HUGE_COUNT,
    ],
    ids=["topics", "partitions", "aborted", "records"],
)
def test_a_count_beyond_the_bytes_left_is_refused(tail: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_fetch_response(HEAD_V12 + tail + bytes(60), 0, 17)


@pytest.mark.parametrize("count", ["7fffffff", "ffffffff", "80000000"])
def test_old_versions_check_counts_too(count: str) -> None:
    for start in ("00000000", "00000000 00000001 0001 61"):
        with pytest.raises(ProtocolError):
            decode_fetch_response(bytes.fromhex(start + count) + bytes(60), 0, 3)
