"""Which topics may be read through filters of keys."""

from __future__ import annotations

from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.mockbroker.coop.test_fetch import ON
from tests.support.core import Core


def test_each_topic_tells_who_asks() -> None:
    client = Core(topics={"t": 1}, config=ON).client()
    forbids = [CreatableTopicConfig("range.fetch.enable", "false")]
    made = CreateTopicsRequest([CreatableTopic("closed", 1, 1, configs=forbids)])
    assert client.call(made, 5, CreateTopicsResponse).topics[0].error_code == 0
    asked = MetadataRequest(topics=None)
    tags.tag(asked, {Tag.RANGE_FETCH_ALLOWED: b""})
    answer = client.call(asked, 12, MetadataResponse)
    assert {topic.name: tags.tagged_fields(topic) for topic in answer.topics} == {
        "t": {Tag.RANGE_FETCH_ALLOWED: b"\x01"},
        "closed": {Tag.RANGE_FETCH_ALLOWED: b"\x00"},
    }
    plain = client.call(MetadataRequest(topics=None), 12, MetadataResponse)
    assert not any(tags.tagged_fields(topic) for topic in plain.topics)


def test_each_of_very_many_topics_tells_who_asks() -> None:
    client = Core(topics={"t": 1}, config=ON).client()
    names = [f"there-is-no-such-topic-{number}" for number in range(1000)]
    asked = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in [*names, "t"]],
        allow_auto_topic_creation=False,
    )
    tags.tag(asked, {Tag.RANGE_FETCH_ALLOWED: b""})
    answer = client.call(asked, 12, MetadataResponse)
    told = {topic.name: tags.tagged_fields(topic) for topic in answer.topics}
    assert told["t"] == {Tag.RANGE_FETCH_ALLOWED: b"\x01"}
    assert len(told) == 1001
