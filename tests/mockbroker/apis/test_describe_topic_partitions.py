"""DescribeTopicPartitions as a client sees it: pages, cursors, refusals."""

from __future__ import annotations

import pytest

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker_protocol.messages.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    PageCursor,
    TopicRequest,
)
from tests.support.acls import TOPIC, deny, guarded_core
from tests.support.core import Core

Cursor = tuple[str, int]
ALL_OPERATIONS, NOT_ASKED = 3576, -(2**31)


@pytest.fixture
def core() -> Core:
    return Core(topics={"b": 2, "a": 3, "c": 1})


def ask(
    core: Core, *names: str, limit: int = 2000, cursor: Cursor | None = None
) -> DescribeTopicPartitionsResponse:
    start = None if cursor is None else PageCursor(*cursor)
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, start)
    return core.client().call(request, 0, DescribeTopicPartitionsResponse)


def page(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [
        (topic.name, [part.partition_index for part in topic.partitions]) for topic in answer.topics
    ]


def next_cursor(answer: DescribeTopicPartitionsResponse) -> Cursor | None:
    cursor = answer.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_a_topic_in_full(core: Core) -> None:
    (topic,) = ask(core, "c").topics
    known = core.cluster.metadata.topics["c"]
    assert (topic.error_code, topic.topic_id, topic.is_internal) == (0, known.id, False)
    assert topic.topic_authorized_operations == ALL_OPERATIONS
    (partition,) = topic.partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 1, 0)
    assert (partition.replica_nodes, partition.isr_nodes) == ([1], [1])
    assert partition.eligible_leader_replicas == []
    assert partition.last_known_elr == []
    assert partition.offline_replicas == []


def test_topics_come_by_name_each_once(core: Core) -> None:
    assert page(ask(core, "b", "a", "b")) == [("a", [0, 1, 2]), ("b", [0, 1])]


def test_no_names_are_all_topics(core: Core) -> None:
    assert page(ask(core)) == [("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("names", [(), ("c", "b", "a")])
def test_pages_add_up(core: Core, limit: int, names: tuple[str, ...]) -> None:
    seen: list[tuple[str | None, int]] = []
    cursor: Cursor | None = None
    while True:
        answer = ask(core, *names, limit=limit, cursor=cursor)
        found = [(name, index) for name, indexes in page(answer) for index in indexes]
        assert len(found) <= limit
        seen += found
        cursor = next_cursor(answer)
        if cursor is None:
            break
        assert len(found) == limit
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("c", 0)]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_has_at_least_one_partition(core: Core, limit: int) -> None:
    answer = ask(core, limit=limit)
    assert (page(answer), next_cursor(answer)) == ([("a", [0])], ("a", 1))


def test_the_broker_bounds_a_page() -> None:
    core = Core(topics={"a": 3}, config={"max.request.partition.size.limit": "2"})
    answer = ask(core)
    assert (page(answer), next_cursor(answer)) == ([("a", [0, 1])], ("a", 2))


def test_a_cursor_past_the_end_gives_no_partition(core: Core) -> None:
    answer = ask(core, cursor=("b", 9))
    assert page(answer) == [("b", []), ("c", [0])]
    assert page(ask(core, cursor=("aa", 1))) == [("b", [0, 1]), ("c", [0])]


def test_unknown_topics_count_for_no_partition(core: Core) -> None:
    answer = ask(core, "Bad@", "c", "nope", limit=1)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("Bad@", 17), ("c", 0)]
    assert next_cursor(answer) == ("nope", 0)
    (topic,) = ask(core, "nope").topics
    assert (topic.error_code, topic.topic_id, topic.partitions) == (3, bytes(16), [])


@pytest.mark.parametrize(
    ("names", "cursor", "error"),
    [(("a", "b"), ("c", 0), 42), (("a",), ("a", -1), 42), (("a", ""), None, -1)],
)
def test_a_bad_request_fails_each_topic(
    core: Core, names: tuple[str, ...], cursor: Cursor | None, error: int
) -> None:
    answer = ask(core, *names, cursor=cursor)
    assert [topic.name for topic in answer.topics] == list(names)
    for topic in answer.topics:
        assert (topic.error_code, topic.topic_authorized_operations) == (error, NOT_ASKED)


def test_a_bad_request_for_all_topics_is_empty(core: Core) -> None:
    assert ask(core, cursor=("a", -1)).topics == []


def test_a_partition_without_leader_has_no_error(core: Core) -> None:
    topic = core.cluster.metadata.topics["c"]
    core.cluster.metadata.apply(LeaderChanged("c", topic.id, 0, PartitionState(-1, [1], [1], 1)))
    (partition,) = ask(core, "c").topics[0].partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, -1, 1)


def test_with_an_authorizer_all_topics_come_from_any_cursor_on() -> None:
    """A cursor may be a topic that is gone; a bad one names no topic."""
    core = guarded_core()
    assert ask(core, cursor=("open", -1)).topics == []
    assert page(ask(core, cursor=("other", 1))) == [("shut", [0])]
    deny(core, TOPIC, "open", AclOperation.DESCRIBE)
    assert page(ask(core, cursor=("open", 0))) == [("shut", [0])]
    assert page(ask(core, cursor=("z", 0))) == []
