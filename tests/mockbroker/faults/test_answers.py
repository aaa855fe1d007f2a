"""An error has its place in the answer of every API that is served, in every version."""

from __future__ import annotations

from typing import cast

import pytest

from mockbroker.apis.registry import SERVED
from mockbroker.faults.answers import add_missing, merge, overwrite, refusal, take_out, tells
from mockbroker.faults.shapes import shape_of, struct_of
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.messages.catalog import request_class, response_class
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_offsets import OffsetFetchRequest
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from mockbroker_protocol.messages.topics import DeleteTopicsRequest, DeleteTopicsResponse
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.schema import schema_of
from mockbroker_protocol.schema_fields import WireType
from mockbroker_protocol.subjects import TopicRef

VERSIONS = [
    (key, version)
    for key in SERVED
    for version in range(API_SPECS[key].min_version, API_SPECS[key].max_version + 1)
]


def sample(cls: type, version: int) -> object:
    """A request that names one of everything."""
    message: object = cls()
    for field in schema_of(cls).fields:
        if not field.present(version) or field.is_tagged(version):
            continue
        value = value_of(field.type, version)
        if value is not None:
            setattr(message, field.name, value)
    return message


def value_of(wire: WireType, version: int) -> object | None:
    if wire.kind == "array":
        assert wire.element is not None
        item = value_of(wire.element, version)
        return None if item is None else [item]
    inner = struct_of(wire)
    if inner is not None:
        return sample(inner, version)
    return "x" if wire.kind == "string" else 1 if wire.code in {"b", "h", "i", "q"} else None


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_every_api_can_refuse_in_every_version(key: ApiKey, version: int) -> None:
    shape = shape_of(key, version)
    if key in {ApiKey.METADATA, ApiKey.FETCH} or not (shape.top_error or shape.nested_error):
        return
    request = sample(request_class(key), version)
    answer = refusal(request, version, 7, None)
    cls: type[object] = response_class(key)
    assert type(answer) is cls
    wire = b"".join(encode(answer, version))
    assert tells(decode(cls, version, wire, 0)[0], 7)


@pytest.mark.parametrize("key", [key for key in SERVED if key is not ApiKey.FETCH])
def test_every_api_that_names_things_is_refused_one_by_one(key: ApiKey) -> None:
    version = API_SPECS[key].max_version
    if not shape_of(key, version).nested_error or key is ApiKey.METADATA:
        return
    request = sample(request_class(key), version)
    answer = refusal(request, version, 7, "partition")
    assert tells(answer, 7)
    if key is ApiKey.DESCRIBE_LOG_DIRS:
        return  # it answers by directory, and is not asked by directory
    if key in {ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS}:
        return  # they answer in the order asked, and name nothing again
    assert "'x'" in repr(answer) or "index=1" in repr(answer)


def produce_request() -> ProduceRequest:
    partitions = [ProduceRequestPartition(index, b"r") for index in range(3)]
    one = ProduceRequestTopic("a", partition_data=partitions)
    return ProduceRequest(None, 1, 1000, [one, ProduceRequestTopic("b")])


def test_a_refusal_tells_names_and_no_offsets() -> None:
    answer = cast("ProduceResponse", refusal(produce_request(), 9, 6, None))
    assert [topic.name for topic in answer.responses] == ["a", "b"]
    told = answer.responses[0].partition_responses
    assert [(p.index, p.error_code, p.base_offset) for p in told] == [(i, 6, -1) for i in range(3)]
    found = cast("FindCoordinatorResponse", refusal(FindCoordinatorRequest("g"), 3, 15, None))
    assert (found.error_code, found.node_id, found.port) == (15, -1, -1)
    keys = FindCoordinatorRequest(coordinator_keys=["g"])
    (one,) = cast("FindCoordinatorResponse", refusal(keys, 4, 15, None)).coordinators
    assert (one.key, one.error_code, one.node_id) == ("g", 15, -1)
    deleted = refusal(DeleteTopicsRequest(topic_names=["t"]), 5, 7, None)
    (result,) = cast("DeleteTopicsResponse", deleted).responses
    assert (result.name, result.error_code) == ("t", 7)


def test_a_request_that_names_nothing_tells_nothing() -> None:
    assert not tells(refusal(OffsetFetchRequest(topics=None), 1, 14, None), 14)
    assert tells(refusal(OffsetFetchRequest(topics=None), 7, 14, None), 14)


def test_a_part_is_taken_out_and_the_answers_become_one() -> None:
    request = produce_request()
    part, left = take_out(request, lambda ref, index: ref.name == "a" and index == 1)
    assert left
    assert isinstance(part, ProduceRequest)
    assert [p.index for t in part.topic_data for p in t.partition_data] == [1]
    assert [p.index for t in request.topic_data for p in t.partition_data] == [0, 2]
    done = ProduceResponse(
        [ProduceResponseTopic("a", partition_responses=[ProduceResponsePartition(0)])]
    )
    merged = cast("ProduceResponse", merge(done, refusal(part, 9, 6, None)))
    (topic,) = merged.responses
    assert [(p.index, p.error_code) for p in topic.partition_responses] == [(0, 0), (1, 6)]


def test_nothing_is_left_when_all_is_taken_out() -> None:
    request = produce_request()
    request.topic_data.pop()
    _, left = take_out(request, lambda ref, _index: ref.name == "a")
    assert not left


def fetch_response() -> FetchResponse:
    data = [FetchResponsePartition(i, 0, 9, 9, 0, None, -1, b"records") for i in range(2)]
    return FetchResponse(0, 0, 5, [FetchResponseTopic("a", partitions=data)])


def test_an_answer_is_overwritten_where_the_rule_says() -> None:
    answer = fetch_response()
    overwrite(answer, 6, None, lambda _ref, index: index == 1)
    first, second = answer.responses[0].partitions
    assert (first.error_code, first.records) == (0, b"records")
    assert (second.error_code, second.records, second.high_watermark) == (6, b"", -1)
    assert (answer.error_code, answer.session_id) == (0, 5)


def test_an_error_at_the_top_leaves_nothing_below() -> None:
    answer = fetch_response()
    overwrite(answer, 70, "top", lambda _ref, _index: True)
    assert (answer.error_code, answer.session_id, answer.responses) == (70, 0, [])


def test_partitions_without_news_are_added_once() -> None:
    answer = fetch_response()
    mentioned = [TopicRef("a", None, [1, 2, 2]), TopicRef("b", None, [0])]
    add_missing(answer, mentioned, 6, lambda ref, _index: ref.name == "a", by_id=False)
    told = [(t.topic, p.partition_index) for t in answer.responses for p in t.partitions]
    assert told == [("a", 0), ("a", 1), ("a", 2)]
