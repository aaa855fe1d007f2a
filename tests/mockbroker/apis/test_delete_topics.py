"""DeleteTopics as a client sees it; the controller's tests have the refusals."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.support.core import Core


def ask(core: Core, version: int, *names: str) -> list[tuple[str | None, int, str | None]]:
    request = DeleteTopicsRequest(topic_names=list(names))
    if version >= 6:
        request = DeleteTopicsRequest([DeleteTopicState(name) for name in names])
    answer = core.client().call(request, version, DeleteTopicsResponse)
    return [(each.name, each.error_code, each.error_message) for each in answer.responses]


@pytest.mark.parametrize("version", range(1, 7))
def test_topics_are_deleted_by_name(version: int) -> None:
    core = Core(topics={"t": 2})
    message = "This server does not host this topic-partition." if version >= 5 else None
    assert ask(core, version, "t", "nope") == [("nope", 3, message), ("t", 0, None)]
    assert not core.cluster.metadata.topics


def test_topics_are_deleted_by_id() -> None:
    core = Core(topics={"t": 2})
    topic_id = core.cluster.metadata.topics["t"].id
    request = DeleteTopicsRequest([DeleteTopicState(None, topic_id)])
    (answer,) = core.client().call(request, 6, DeleteTopicsResponse).responses
    assert (answer.name, answer.topic_id, answer.error_code) == ("t", topic_id, 0)
    (answer,) = core.client().call(request, 6, DeleteTopicsResponse).responses
    assert (answer.name, answer.topic_id, answer.error_code) == (None, topic_id, 100)


@pytest.mark.parametrize(("version", "error"), [(1, 42), (2, 42), (3, 73), (5, 73), (6, 73)])
def test_deletion_may_be_disabled(version: int, error: int) -> None:
    core = Core(topics={"t": 1}, config={"delete.topic.enable": "false"})
    assert ask(core, version, "t") == [("t", error, None)]
    assert "t" in core.cluster.metadata.topics
