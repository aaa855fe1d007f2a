"""An error has its place in the answer of every API that is served, in every version."""

from __future__ import annotations

from typing import cast

import pytest

from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.error_responses import (
    error_response,
    has_error,
    merge_responses,
    split_request,
)
from mockbroker_protocol.messages.catalog import request_class, response_class
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
from mockbroker_protocol.schema_fields import WireType, fields_of
from mockbroker_protocol.shapes import shape_of
from tests.support.work_counts import lines_of

LINES_A_TOLD = 60
# Its two lists become one of the users in them: nobody serves it.
KEYS = [ApiKey(key) for key in API_SPECS if key != ApiKey.ALTER_USER_SCRAM_CREDENTIALS]
VERSIONS = [
    (key, version)
    for key in KEYS
    for version in range(API_SPECS[key].min_version, API_SPECS[key].max_version + 1)
]


def sample(cls: type, version: int, count: int = 1) -> object:
    """A request that names one of everything, or so many in its lists that have no other in them.

    So it does in its structs.
    """
    message: object = cls()
    for field in fields_of(cls):
        if not field.present(version) or field.is_tagged(version):
            continue
        value = value_of(field.type, version, count)
        if value is not None:
            setattr(message, field.name, value)
    return message


def value_of(wire: WireType, version: int, count: int = 1) -> object | None:
    if wire.kind == "array":
        assert wire.element is not None
        inner = wire.element.struct
        is_last = inner is None or all(field.type.kind != "array" for field in fields_of(inner))
        items = [value_of(wire.element, version, count) for _ in range(count if is_last else 1)]
        return None if items[0] is None else items
    inner = wire.struct
    if inner is not None:
        return sample(inner, version, count)
    return "x" if wire.kind == "string" else 1 if wire.code in {"b", "h", "i", "q"} else None


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_every_api_can_refuse_in_every_version(key: ApiKey, version: int) -> None:
    shape = shape_of(key, version)
    if key in {ApiKey.METADATA, ApiKey.FETCH} or not (shape.top_error or shape.nested_error):
        return
    request = sample(request_class(key), version)
    answer = error_response(request, version, 7, None)
    cls: type[object] = response_class(key)
    assert type(answer) is cls
    wire = b"".join(encode(answer, version))
    assert has_error(decode(cls, version, wire, 0)[0], 7)


@pytest.mark.parametrize("key", [key for key in KEYS if key is not ApiKey.FETCH])
def test_every_api_that_names_things_is_refused_one_by_one(key: ApiKey) -> None:
    version = API_SPECS[key].max_version
    if not shape_of(key, version).nested_error or key is ApiKey.METADATA:
        return
    request = sample(request_class(key), version)
    answer = error_response(request, version, 7, "partition")
    assert has_error(answer, 7)
    if key is ApiKey.DESCRIBE_LOG_DIRS:
        return  # it answers by directory, and is not asked by directory
    if key in {ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS}:
        return  # they answer in the order asked, and name nothing again
    assert any(named in repr(answer) for named in ("'x'", "index=1", "partition=1"))


def produce_request() -> ProduceRequest:
    partitions = [ProduceRequestPartition(index, b"r") for index in range(3)]
    one = ProduceRequestTopic("a", partition_data=partitions)
    return ProduceRequest(None, 1, 1000, [one, ProduceRequestTopic("b")])


def test_a_refusal_tells_names_and_no_offsets() -> None:
    answer = cast("ProduceResponse", error_response(produce_request(), 9, 6, None))
    assert [topic.name for topic in answer.responses] == ["a", "b"]
    told = answer.responses[0].partition_responses
    assert [(p.index, p.error_code, p.base_offset) for p in told] == [(i, 6, -1) for i in range(3)]
    found = cast(
        "FindCoordinatorResponse", error_response(FindCoordinatorRequest("g"), 3, 15, None)
    )
    assert (found.error_code, found.node_id, found.port) == (15, -1, -1)
    keys = FindCoordinatorRequest(coordinator_keys=["g"])
    (one,) = cast("FindCoordinatorResponse", error_response(keys, 4, 15, None)).coordinators
    assert (one.key, one.error_code, one.node_id) == ("g", 15, -1)
    deleted = error_response(DeleteTopicsRequest(topic_names=["t"]), 5, 7, None)
    (result,) = cast("DeleteTopicsResponse", deleted).responses
    assert (result.name, result.error_code) == ("t", 7)


def test_a_request_that_names_nothing_tells_nothing() -> None:
    assert not has_error(error_response(OffsetFetchRequest(topics=None), 1, 14, None), 14)
    assert has_error(error_response(OffsetFetchRequest(topics=None), 7, 14, None), 14)


def test_a_part_is_taken_out_and_the_answers_become_one() -> None:
    request = produce_request()
    part, left = split_request(request, lambda ref, index: ref.name == "a" and index == 1)
    assert left
    assert isinstance(part, ProduceRequest)
    assert [p.index for t in part.topic_data for p in t.partition_data] == [1]
    assert [p.index for t in request.topic_data for p in t.partition_data] == [0, 2]
    done = ProduceResponse(
        [ProduceResponseTopic("a", partition_responses=[ProduceResponsePartition(0)])]
    )
    merged = cast("ProduceResponse", merge_responses(done, error_response(part, 9, 6, None)))
    (topic,) = merged.responses
    assert [(p.index, p.error_code) for p in topic.partition_responses] == [(0, 0), (1, 6)]


def test_nothing_is_left_when_all_is_taken_out() -> None:
    request = produce_request()
    request.topic_data.pop()
    _, left = split_request(request, lambda ref, _index: ref.name == "a")
    assert not left


@pytest.mark.parametrize("key", KEYS)
def test_an_error_costs_little_for_each_that_it_is_told_of(key: ApiKey) -> None:
    """Twenty thousand of them are told in one turn of the loop."""
    version = API_SPECS[key].max_version
    few, many = (sample(request_class(key), version, count) for count in (5, 105))
    error_response(few, version, 7, "partition")  # what is worked out once is not counted
    lines = lines_of(lambda: error_response(many, version, 7, "partition"))
    lines -= lines_of(lambda: error_response(few, version, 7, "partition"))
    assert lines <= 100 * LINES_A_TOLD


def test_two_answers_become_one_in_a_time_that_grows_with_their_length() -> None:
    def merge(count: int) -> int:
        mine, theirs = (
            ProduceResponse([ProduceResponseTopic(f"{at + index}") for index in range(count)])
            for at in (0, count // 2)
        )
        return lines_of(lambda: merge_responses(mine, theirs))

    few, many = merge(20), merge(200)
    assert many < 12 * few
