"""The topics of OffsetCommit and TxnOffsetCommit: what exists is passed on, the rest is answered.

Partitions that do not exist are answered before a coordinator sees the request (3; an unknown topic
id 100), as KafkaApis does; the answer has one entry a topic, the refused ones first (Kafka:
OffsetCommitResponse.Builder, TxnOffsetCommitResponse.Builder).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequestTopic,
    OffsetCommitResponseTopic,
)
from mockbroker_protocol.messages.transactions import (
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.metadata.store import MetadataStore

Asked = TypeVar("Asked", OffsetCommitRequestTopic, TxnOffsetCommitRequestTopic)
Answer = TypeVar("Answer", OffsetCommitResponseTopic, TxnOffsetCommitResponseTopic)


def split_topics(
    metadata: MetadataStore,
    requested: Iterable[Asked],
    answer: Callable[[Asked, list[int], ErrorCode], Answer],
    *,
    by_id: bool,
) -> tuple[list[Asked], list[Answer]]:
    """What exists, with its name and its id filled in, and the answers to the rest."""
    known: list[Asked] = []
    refused: list[Answer] = []
    for asked in requested:
        indexes = [one.partition_index for one in asked.partitions]
        if by_id:
            topic = metadata.topics_by_id.get(asked.topic_id)
            unknown = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic = metadata.topics.get(asked.name)
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            refused.append(answer(asked, indexes, unknown))
            continue
        # Either way the record has both, so that a later topic of that name is told apart.
        asked.name, asked.topic_id = topic.name, topic.id
        existing = range(len(topic.partitions))
        missing = [index for index in indexes if index not in existing]
        if missing:
            refused.append(answer(asked, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            asked.partitions = [one for one in asked.partitions if one.partition_index in existing]
        if asked.partitions:
            known.append(asked)
    return known, refused


def merge_topics(refused: list[Answer], answered: list[Answer]) -> list[Answer]:
    """One entry a topic, the refused ones first."""
    merged = {(topic.name, topic.topic_id): topic for topic in refused}
    for topic in answered:
        earlier = merged.setdefault((topic.name, topic.topic_id), topic)
        if earlier is not topic:
            earlier.partitions += topic.partitions
    return list(merged.values())
