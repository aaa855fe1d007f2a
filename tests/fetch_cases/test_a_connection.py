"""Part A of the cases: codec and connection, against 4.4."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.plan import decode
from tests.fetch_cases.asking import Reader, Topic, request
from tests.support.blocking import body_of

if TYPE_CHECKING:
    from tests.fetch_cases.target import Target

FETCH = 1
METADATA = 3
API_VERSIONS = 18
UNKNOWN_SERVER_ERROR = -1
INVALID_TOPIC = 17
ODD_ISOLATION = 7


def two_partitions(target: Target) -> Topic:
    """Three batches of 118 bytes in partition 0, none in partition 1."""
    return target.shared("two", lambda target: target.topic(2, (50, 50, 50)))


def test_2_every_version_answers_its_own_fields(target: Target) -> None:
    topic = two_partitions(target)
    reader = target.reader()
    for version in range(4, 19):
        full, empty = reader.fetch(topic.at(0), topic.at(1), version=version).parts
        assert (full.error, full.high_watermark, full.size) == (0, 3, 354), version
        assert (empty.error, empty.high_watermark, empty.size) == (0, 0, 0), version
        for got in (full, empty):
            assert got.last_stable_offset == got.high_watermark
            assert got.log_start_offset == (0 if version >= 5 else -1)
            assert got.data.preferred_read_replica == -1
            assert got.aborted is None


@pytest.mark.parametrize("version", [0, 1, 2, 3, 19])
def test_3_a_version_outside_the_range_closes_the_connection(target: Target, version: int) -> None:
    reader = target.reader()
    reader.send_body(FETCH, version, body_of(request(Topic("none").at(0), version=4), 4))
    assert reader.closed_by_peer()


def test_3_an_unknown_version_of_api_versions_is_answered_in_v0(target: Target) -> None:
    reader = target.reader()
    header = encode_request_header(API_VERSIONS, 3, 9, "case")
    reader.send_frame(header[:2] + struct.pack(">h", 99) + header[4:] + b"\1\1\0")
    correlation_id, error, count, key, least, _ = struct.unpack(">ihihhh", reader.frame())
    assert (correlation_id, error, count, key, least) == (9, 35, 1, API_VERSIONS, 0)


def test_4_a_null_client_id_and_header_tags_are_accepted(target: Target) -> None:
    topic = two_partitions(target)
    reader = target.reader()
    for version in (11, 12, 18):
        reader.send(request(topic.at(0), version=version), version, client_id=None)
        assert reader.answer().only.size == 354
    body = body_of(request(topic.at(0)), 12)
    header = encode_request_header(FETCH, 12, 4, "case")
    assert header.endswith(b"\0\4case\0")
    reader.send_frame(header[:-1] + b"\2\5\1a\7\0" + body)
    response, _ = decode(FetchResponse, 12, reader.frame(), 5)
    assert response.responses[0].topic == topic.name


def test_5_only_flexible_responses_have_header_tags(target: Target) -> None:
    topic = two_partitions(target)
    reader = target.reader()
    for version, header_bytes in ((11, 4), (12, 5)):
        reader.send(request(topic.at(0), version=version), version)
        frame = reader.frame()
        response, end = decode(FetchResponse, version, frame, header_bytes)
        assert end == len(frame)
        assert response.responses[0].topic == topic.name
        assert frame[4] == 0


def test_6_unknown_tags_are_ignored_in_any_order_and_number(target: Target) -> None:
    message = request(two_partitions(target).at(0))
    message.topics[0].partitions[0].unknown_tags = {100: b"MARK"}
    body = body_of(message, 12)
    assert body.count(b"\1\x64\4MARK") == 1
    body = body.replace(b"\1\x64\4MARK", b"\3\x64\1a\x32\0\x64\2bc")
    reader = target.reader()
    reader.send_body(FETCH, 12, body[:-1] + b"\3\x63\1a\x32\0\x63\2bc")
    assert reader.answer().only.size == 354


@pytest.mark.parametrize(
    ("version", "tag", "value"),
    [(17, 1, bytes(8)), (12, 1, bytes(8)), (16, 0, bytes(16)), (12, 0, bytes(16))],
)
def test_6_a_partitions_tag_of_a_later_version_closes_the_connection(
    target: Target, version: int, tag: int, value: bytes
) -> None:
    """Known, but not in this version: the high watermark (v18), the directory's id (v17)."""
    message = request(two_partitions(target).at(0), version=version)
    message.topics[0].partitions[0].unknown_tags = {tag: value}
    reader = target.reader()
    reader.send(message, version)
    assert reader.closed_by_peer()


@pytest.mark.parametrize("version", [12, 14])
def test_6_the_replicas_state_below_v15_closes_the_connection(target: Target, version: int) -> None:
    message = request(two_partitions(target).at(0), version=version)
    message.unknown_tags = {1: bytes(13)}
    reader = target.reader()
    reader.send(message, version)
    assert reader.closed_by_peer()


NO_TEXT = b"o\xed\xa0\x80\xc3(\xff"
AS_READ = "o\ufffd\ufffd(\ufffd"


@pytest.mark.parametrize("version", [4, 11, 12])
def test_8_a_topic_that_is_no_utf_8_is_unknown(target: Target, version: int) -> None:
    body = body_of(request(Topic("nowhere").at(0), version=version), version)
    assert len(NO_TEXT) == len("nowhere")
    reader = target.reader()
    reader.send_body(FETCH, version, body.replace(b"nowhere", NO_TEXT))
    assert reader.answer().only.place == (AS_READ, 0)


@pytest.mark.parametrize("version", [11, 12, 18])
def test_8_a_client_and_a_rack_that_are_no_utf_8_are_served(target: Target, version: int) -> None:
    body = body_of(request(two_partitions(target).at(0), version=version, rack="nowhere"), version)
    header = encode_request_header(FETCH, version, 4, "nowhere")
    reader = target.reader()
    reader.send_frame((header + body).replace(b"nowhere", NO_TEXT))
    response, _ = decode(FetchResponse, version, reader.frame(), 4 if version < 12 else 5)
    assert [each.error_code for each in response.responses[0].partitions] == [0]


@pytest.mark.parametrize("version", [8, 12])
def test_8_other_apis_read_such_a_name_too(target: Target, version: int) -> None:
    body = body_of(MetadataRequest([MetadataRequestTopic(name="nowhere")]), version)
    reader = target.reader()
    reader.send_body(METADATA, version, body.replace(b"nowhere", NO_TEXT))
    (topic,) = reader.receive(MetadataResponse).topics
    assert (topic.name, topic.error_code) == (AS_READ, INVALID_TOPIC)


def test_7_bytes_after_the_body_are_ignored(target: Target) -> None:
    reader = target.reader()
    for version in (4, 11, 12, 18):
        body = body_of(request(two_partitions(target).at(0), version=version), version)
        reader.send_body(FETCH, version, body + b"more")
        assert reader.answer().only.size == 354


TOPICS, FORGOTTEN, RACK = 25, 26, 27
"""Where a fetch of nothing in v12 has its arrays and its rack."""


@pytest.mark.parametrize("null", [TOPICS, FORGOTTEN, RACK])
def test_8_null_where_none_may_be_closes_the_connection(target: Target, null: int) -> None:
    body = body_of(request(), 12)
    assert body[TOPICS:] == b"\1\1\1\0"
    reader = target.reader()
    reader.send_body(FETCH, 12, body[:null] + b"\0" + body[null + 1 :])
    assert reader.closed_by_peer()


@pytest.mark.parametrize("version", [4, 12, 18])
def test_8_a_truncated_body_closes_the_connection(target: Target, version: int) -> None:
    reader = target.reader()
    body = body_of(request(two_partitions(target).at(0), version=version), version)
    reader.send_body(FETCH, version, body[:-1])
    assert reader.closed_by_peer()


@pytest.mark.parametrize("length", [-5, 0, 104_857_601])
def test_9_an_absurd_frame_length_closes_the_connection(target: Target, length: int) -> None:
    reader = target.reader()
    reader.send_bytes(struct.pack(">i", length))
    assert reader.closed_by_peer()


def test_12_a_partition_named_twice_keeps_its_first_place_and_last_offset(target: Target) -> None:
    topic = two_partitions(target)
    for version in (4, 12, 18):
        answer = target.reader().fetch(topic.at(0), topic.at(1), topic.at(0, 1), version=version)
        assert answer.indexes == [0, 1]
        assert answer.sizes == [236, 0]


def test_13_a_cluster_id_is_nothing_to_a_broker(target: Target) -> None:
    topic = two_partitions(target)
    answer = target.reader().fetch(topic.at(0), cluster_id="bogus")
    assert (answer.error, answer.only.size) == (0, 354)


def test_14_an_unknown_isolation_level_fails_the_request(target: Target) -> None:
    topic = two_partitions(target)
    answer = target.reader().fetch(
        topic.at(0), topic.at(1), session=(321, -1), isolation=ODD_ISOLATION
    )
    assert answer.status == (UNKNOWN_SERVER_ERROR, 321)
    assert answer.errors == [UNKNOWN_SERVER_ERROR] * 2
    assert [got.positions for got in answer.parts] == [(-1, -1, -1)] * 2
    assert [got.aborted for got in answer.parts] == [[], []]


def test_14_an_unknown_isolation_level_goes_unseen_without_a_readable_partition(
    target: Target,
) -> None:
    answer = target.reader().fetch(Topic("nowhere").at(0), isolation=ODD_ISOLATION)
    assert (answer.error, answer.errors) == (0, [3])


def test_15_a_failed_request_repeats_its_partitions_only_by_name(target: Target) -> None:
    topic = two_partitions(target)

    def fail(reader: Reader, version: int) -> tuple[int, list[int]]:
        answer = reader.fetch(topic.at(0), topic.at(1), version=version, isolation=ODD_ISOLATION)
        return answer.error, answer.errors

    reader = target.reader()
    for version in (7, 12):
        assert fail(reader, version) == (-1, [-1, -1])
    for version in (13, 18):
        assert fail(reader, version) == (-1, [])
    # Below v7 there is no error of the whole request to see.
    assert fail(reader, 4) == (0, [-1, -1])
