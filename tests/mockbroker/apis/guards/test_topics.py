"""What is hidden of topics."""

from __future__ import annotations

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.support.acls import TOPIC, deny, guarded_core


def test_topics_are_hidden_among_all_and_refused_by_name() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.DESCRIBE)
    every = core.client().call(MetadataRequest(None), 9, MetadataResponse)
    assert [topic.name for topic in every.topics] == ["open"]
    one = MetadataRequest([MetadataRequestTopic(ZERO_UUID, "shut")])
    named = core.client().call(one, 9, MetadataResponse)
    assert [(topic.name, topic.error_code) for topic in named.topics] == [("shut", 29)]


def test_operations_are_those_that_are_left() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.WRITE)
    asked = MetadataRequest([MetadataRequestTopic(ZERO_UUID, "shut")], False, False, True)
    (topic,) = core.client().call(asked, 9, MetadataResponse).topics
    assert topic.topic_authorized_operations & 1 << AclOperation.WRITE == 0
    assert topic.topic_authorized_operations & 1 << AclOperation.READ
