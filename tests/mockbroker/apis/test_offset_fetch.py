"""OffsetFetch over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from tests.support.core import Core


def committed(group_id: str = "g") -> Core:
    """A group that has committed 5 for t-0, with leader epoch 7."""
    core = Core(topics={"t": 2})
    asked = [OffsetCommitRequestPartition(0, 5, 7, "note")]
    request = OffsetCommitRequest(
        group_id, topics=[OffsetCommitRequestTopic("t", partitions=asked)]
    )
    core.client().call(request, 9, OffsetCommitResponse)
    return core


@pytest.mark.parametrize("version", range(1, 8))
def test_every_version_of_one_group(version: int) -> None:
    client = committed().client()
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1])])
    response = client.call(request, version, OffsetFetchResponse)
    assert response.error_code == 0
    epoch = 7 if version >= 5 else -1
    assert response.topics[0].partitions == [
        OffsetFetchResponsePartition(0, 5, epoch, "note"),
        OffsetFetchResponsePartition(1, -1, -1, ""),
    ]


@pytest.mark.parametrize("version", [2, 5, 7])
def test_null_asks_for_all_topics(version: int) -> None:
    client = committed().client()
    response = client.call(OffsetFetchRequest("g", None), version, OffsetFetchResponse)
    assert [(one.name, len(one.partitions)) for one in response.topics] == [("t", 1)]
    empty = client.call(OffsetFetchRequest("g", []), version, OffsetFetchResponse)
    assert empty.topics == []


@pytest.mark.parametrize("version", [8, 9])
def test_many_groups_in_one_request(version: int) -> None:
    client = committed().client()
    asked = [
        OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("t", partition_indexes=[0])]),
        OffsetFetchRequestGroup("g", topics=None),
        OffsetFetchRequestGroup("none", topics=None),
    ]
    response = client.call(OffsetFetchRequest(groups=asked), version, OffsetFetchResponse)
    position = [OffsetFetchResponsePartitions(0, 5, 7, "note")]
    assert [one.group_id for one in response.groups] == ["g", "g", "none"]
    assert [one.error_code for one in response.groups] == [0, 0, 0]
    assert [one.topics[0].partitions for one in response.groups[:2]] == [position, position]
    assert response.groups[2].topics == []


def test_version_10_names_topics_by_id() -> None:
    core = committed()
    topic_id = core.cluster.metadata.topics["t"].id
    asked = [
        OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0]),
        OffsetFetchRequestTopics(topic_id=b"?" * 16, partition_indexes=[0]),
    ]
    groups = [OffsetFetchRequestGroup("g", topics=asked), OffsetFetchRequestGroup("g", topics=None)]
    response = core.client().call(OffsetFetchRequest(groups=groups), 10, OffsetFetchResponse)
    named, everything = response.groups
    found = {one.topic_id: one.partitions[0] for one in named.topics}
    assert found[topic_id].committed_offset == 5
    assert found[b"?" * 16].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert found[b"?" * 16].committed_offset == -1
    assert [one.topic_id for one in everything.topics] == [topic_id]


@pytest.mark.parametrize("version", [1, 2, 7, 8])
def test_a_group_that_is_coordinated_elsewhere(version: int) -> None:
    core = committed()
    service = core.broker.services.groups.service
    service.runtime.unload(service.runtime.partition_for("g"))
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    if version >= 8:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
    response = core.client().call(request, version, OffsetFetchResponse)
    if version >= 8:
        assert response.groups[0].error_code == ErrorCode.NOT_COORDINATOR
    elif version >= 2:
        assert (response.error_code, response.topics) == (ErrorCode.NOT_COORDINATOR, [])
    else:
        assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
