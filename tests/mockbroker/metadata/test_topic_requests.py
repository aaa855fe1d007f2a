"""What is left open in a request takes the broker's defaults, or says nothing."""

from __future__ import annotations

from mockbroker.metadata.topic_requests import (
    ACCEPTED,
    CreatedTopic,
    DeletedTopic,
    NewPartitions,
    NewTopic,
    Refusal,
    TopicReference,
)
from mockbroker_protocol.errors import ErrorCode


def test_what_is_left_open_is_the_default() -> None:
    topic = NewTopic("t")
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert NewPartitions("t", 3).assignments is None
    assert TopicReference("t").topic_id == bytes(16)
    assert (ACCEPTED.error, ACCEPTED.message) == (ErrorCode.NONE, None)


def test_a_refusal_unfolds_into_an_answer() -> None:
    refusal = Refusal(ErrorCode.INVALID_REQUEST, "why")
    created = CreatedTopic("t", refusal)
    assert (created.error, created.message) == (ErrorCode.INVALID_REQUEST, "why")
    deleted = DeletedTopic("t", bytes(16), refusal)
    assert (deleted.error, deleted.message) == (ErrorCode.INVALID_REQUEST, "why")
