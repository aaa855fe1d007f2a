"""OffsetDelete over the wire."""

from __future__ import annotations

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from tests.support.core import Core


def request(group_id: str, **topics: list[int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id,
        [
            OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(one) for one in indexes])
            for name, indexes in topics.items()
        ],
    )


def test_positions_are_deleted_and_strangers_refused() -> None:
    client = Core(topics={"t": 2}).client()
    asked = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5)])]
    client.call(OffsetCommitRequest("g", topics=asked), 9, OffsetCommitResponse)
    response = client.call(request("g", t=[0, 9], none=[0]), 0, OffsetDeleteResponse)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert response.error_code == 0
    assert {
        one.name: [(each.partition_index, each.error_code) for each in one.partitions]
        for one in response.topics
    } == {"t": [(9, unknown), (0, 0)], "none": [(0, unknown)]}


def test_an_error_of_the_group_is_of_the_whole() -> None:
    client = Core(topics={"t": 2}).client()
    response = client.call(request("g", t=[0, 9]), 0, OffsetDeleteResponse)
    assert (response.error_code, response.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
