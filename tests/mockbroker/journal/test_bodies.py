"""What a client asked of Metadata and the like, and what it was told, is in the line."""

from __future__ import annotations

import json
from typing import Any

from mockbroker.journal.bodies import MAX_ELEMENTS, MAX_LISTED, body_of
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.support.core import Core


def asked(core: Core, request: object, version: int, kind: type[Any]) -> dict[str, Any]:
    """The body of the line of one request to a core."""
    core.client("app").call(request, version, kind)
    line = list(core.cluster.journal.requests())[-1].line(core.cluster.journal.topic_name)
    assert json.loads(json.dumps(line)) == line
    body = line["body"]
    assert isinstance(body, dict)
    return body


def test_metadata_tells_topics_and_leaders() -> None:
    core = Core(topics={"orders": 2})
    topics = [MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="none/such")]
    body = asked(core, MetadataRequest(topics), 12, MetadataResponse)
    assert [topic["name"] for topic in body["request"]["topics"]] == ["orders", "none/such"]
    known, unknown = body["response"]["topics"]
    assert len(known["topic_id"]) == 22
    assert [p["leader_id"] for p in known["partitions"]] == [core.broker.broker_id] * 2
    assert unknown["error_code"] == 17
    assert body["left_out"] == 0


def test_create_topics_tells_what_was_asked_and_why_it_was_refused() -> None:
    topic = CreatableTopic("orders", 3, 5)
    body = asked(Core(), CreateTopicsRequest([topic], 1000), 7, CreateTopicsResponse)
    assert body["request"]["topics"][0]["num_partitions"] == 3
    assert body["response"]["topics"][0]["error_code"] == 38


def test_list_offsets_tells_timestamp_and_offset() -> None:
    topics = [ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -2)])]
    body = asked(
        Core(topics={"orders": 1}), ListOffsetsRequest(-1, 0, topics), 6, ListOffsetsResponse
    )
    assert body["request"]["topics"][0]["partitions"][0]["timestamp"] == -2
    assert body["response"]["topics"][0]["partitions"][0]["offset"] == 0


def test_long_answers_are_cut_and_counted() -> None:
    core = Core(topics={"orders": 1})
    resources = [DescribeConfigsResource(2, "orders"), DescribeConfigsResource(4, "1")]
    body = asked(core, DescribeConfigsRequest(resources), 4, DescribeConfigsResponse)
    brokers = body["response"]["results"][1]["configs"]
    assert len(brokers) == MAX_LISTED
    assert body["left_out"] > 0
    topics = [MetadataRequestTopic(name=f"t{number}") for number in range(12)]
    topics[0].name = "orders"
    wide = Core(topics={f"t{number}": 90 for number in range(12)})
    body = asked(wide, MetadataRequest(topics), 12, MetadataResponse)
    told = sum(len(topic["partitions"]) for topic in body["response"]["topics"])
    assert told < MAX_ELEMENTS < told + body["left_out"]


def test_secrets_stay_out() -> None:
    config = IncrementalAlterableConfig
    configs = [config("ssl.key.password", 0, "1234"), config("retention.ms", 0, "1234")]
    resource = IncrementalAlterConfigsResource(4, "1", configs)
    body = body_of(IncrementalAlterConfigsRequest([resource]), None)
    request = body["request"]
    assert isinstance(request, dict)
    told = request["resources"][0]["configs"]
    assert [one["value"] for one in told] == ["[hidden]", "1234"]
    assert body["response"] is None


def test_the_answer_of_api_versions_is_left_out() -> None:
    body = asked(Core(), ApiVersionsRequest("lib", "1.0"), 3, ApiVersionsResponse)
    assert (body["request"]["client_software_name"], body["response"]) == ("lib", None)
