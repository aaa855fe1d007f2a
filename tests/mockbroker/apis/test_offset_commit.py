"""OffsetCommit over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.support.core import Core

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def request(*topics: OffsetCommitRequestTopic, group_id: str = "g") -> OffsetCommitRequest:
    return OffsetCommitRequest(group_id=group_id, topics=list(topics))


def topic(name: str, *partitions: int, topic_id: bytes = bytes(16)) -> OffsetCommitRequestTopic:
    asked = [OffsetCommitRequestPartition(index, 5, -1, "note") for index in partitions]
    return OffsetCommitRequestTopic(name, topic_id, asked)


def outcome(response: OffsetCommitResponse) -> list[tuple[str, list[tuple[int, int]]]]:
    return [
        (one.name, [(each.partition_index, each.error_code) for each in one.partitions])
        for one in response.topics
    ]


@pytest.mark.parametrize("version", range(2, 10))
def test_every_version_commits(version: int) -> None:
    client = Core(topics={"t": 2}).client()
    response = client.call(request(topic("t", 0, 1)), version, OffsetCommitResponse)
    assert outcome(response) == [("t", [(0, 0), (1, 0)])]


@pytest.mark.parametrize("version", [2, 9, 10])
def test_every_version_keeps_the_topics_id(version: int) -> None:
    core = Core(topics={"t": 1})
    topic_id = core.cluster.metadata.topics["t"].id
    asked = request(topic("t", 0, topic_id=topic_id))
    core.client().call(asked, version, OffsetCommitResponse)
    shard = core.broker.services.groups.service.runtime.shard_for("g")
    assert shard is not None
    stored = shard.offsets.get("g", "t", 0)
    assert stored is not None
    assert stored.topic_id == topic_id


def test_version_10_names_topics_by_id() -> None:
    core = Core(topics={"t": 2})
    topic_id = core.cluster.metadata.topics["t"].id
    asked = request(topic("", 0, 7, topic_id=topic_id), topic("", 0, topic_id=b"?" * 16))
    response = core.client().call(asked, 10, OffsetCommitResponse)
    found = {one.topic_id: one.partitions for one in response.topics}
    assert [(one.partition_index, one.error_code) for one in found[topic_id]] == [
        (7, UNKNOWN),
        (0, 0),
    ]
    assert found[b"?" * 16][0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_what_does_not_exist_is_refused_and_the_rest_committed() -> None:
    client = Core(topics={"t": 2, "u": 1}).client()
    asked = request(topic("t", 0, 2), topic("none", 0), topic("u", 0))
    response = client.call(asked, 9, OffsetCommitResponse)
    assert outcome(response) == [
        ("t", [(2, UNKNOWN), (0, 0)]),
        ("none", [(0, UNKNOWN)]),
        ("u", [(0, 0)]),
    ]


def test_a_group_does_not_come_to_be_for_topics_that_do_not_exist() -> None:
    core = Core()
    response = core.client().call(request(topic("none", 0)), 9, OffsetCommitResponse)
    assert outcome(response) == [("none", [(0, UNKNOWN)])]
    assert "__consumer_offsets" not in core.cluster.metadata.topics


def test_an_error_of_the_group_is_told_for_each_partition() -> None:
    client = Core(topics={"t": 2}).client()
    asked = request(topic("t", 0, 1))
    asked.generation_id_or_member_epoch = 3
    response = client.call(asked, 9, OffsetCommitResponse)
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    assert outcome(response) == [("t", [(0, missing), (1, missing)])]
