"""What is left open in a request takes the broker's defaults, or says nothing."""

from __future__ import annotations

from mockbroker.metadata.topic_requests import (
    ACCEPTED,
    CreatedTopic,
    DeletedTopic,
    NewTopic,
    Refusal,
)
from protocol.errors import ErrorCode


def test_defaults() -> None:
    assert NewTopic("t")[1:3] == (-1, -1)
    assert Refusal(ErrorCode.NONE, None) == ACCEPTED


def test_a_refusal_unfolds_into_an_answer() -> None:
    refusal = Refusal(ErrorCode.INVALID_REQUEST, "why")
    assert CreatedTopic("t", *refusal).message == "why"
    assert DeletedTopic("t", bytes(16), *refusal).error is ErrorCode.INVALID_REQUEST
