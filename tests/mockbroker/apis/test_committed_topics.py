"""What exists is passed on with its name and id; the rest is answered, one entry a topic."""

from __future__ import annotations

from mockbroker.apis.committed_topics import merge_topics, split_topics
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.support.core import Core


def asked(name: str, *indexes: int, topic_id: bytes = bytes(16)) -> OffsetCommitRequestTopic:
    partitions = [OffsetCommitRequestPartition(index) for index in indexes]
    return OffsetCommitRequestTopic(name, topic_id, partitions)


def answer(
    topic: OffsetCommitRequestTopic, indexes: list[int], error: ErrorCode
) -> OffsetCommitResponseTopic:
    results = [OffsetCommitResponsePartition(index, error) for index in indexes]
    return OffsetCommitResponseTopic(topic.name, topic.topic_id, results)


def told(topics: list[OffsetCommitResponseTopic]) -> list[tuple[str, int, int]]:
    return [
        (topic.name, one.partition_index, one.error_code)
        for topic in topics
        for one in topic.partitions
    ]


def test_each_partition_is_passed_on_or_refused() -> None:
    metadata = Core(topics={"t": 2}).broker.services.metadata
    requested = [asked("t", 0, 2, 1, -1), asked("gone", 0), asked("t", 7)]
    known, refused = split_topics(metadata, requested, answer, by_id=False)
    assert [[one.partition_index for one in topic.partitions] for topic in known] == [[0, 1]]
    assert known[0].topic_id == metadata.topics["t"].id
    assert told(refused) == [("t", 2, 3), ("t", -1, 3), ("gone", 0, 3), ("t", 7, 3)]


def test_an_unknown_id_has_an_error_of_its_own() -> None:
    metadata = Core(topics={"t": 1}).broker.services.metadata
    requested = [asked("", 0, topic_id=metadata.topics["t"].id), asked("", 0, topic_id=b"x" * 16)]
    known, refused = split_topics(metadata, requested, answer, by_id=True)
    assert [topic.name for topic in known] == ["t"]
    assert told(refused) == [("", 0, ErrorCode.UNKNOWN_TOPIC_ID)]


def test_the_answer_has_one_entry_a_topic_the_refused_first() -> None:
    refused = [answer(asked("b"), [9], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    answered = [answer(asked("a"), [0], ErrorCode.NONE), answer(asked("b"), [1], ErrorCode.NONE)]
    assert told(merge_topics(refused, answered)) == [("b", 9, 3), ("b", 1, 0), ("a", 0, 0)]
