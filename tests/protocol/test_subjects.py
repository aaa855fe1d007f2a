"""Topics, groups, transactional ids and errors are found in messages of all shapes."""

from __future__ import annotations

from typing import NoReturn

import pytest

from mockbroker_protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mockbroker_protocol.messages.produce import (
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from mockbroker_protocol.messages.topics import DeleteTopicsRequest
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from mockbroker_protocol.subjects import TopicRef, concerns, errors_in, subjects_of

ID = bytes(15) + b"x"


@pytest.mark.parametrize(
    ("message", "topics"),
    [
        (
            FetchRequest(topics=[FetchRequestTopic("t", partitions=[FetchRequestPartition(3)])]),
            [TopicRef("t", None, [3])],
        ),
        (
            FetchRequest(topics=[FetchRequestTopic(topic_id=ID)]),
            [TopicRef(None, ID, [])],
        ),
        (DeleteTopicsRequest(topic_names=["a", "b"]), [TopicRef(n, None, None) for n in "ab"]),
        (
            DescribeConfigsRequest(
                [DescribeConfigsResource(2, "t"), DescribeConfigsResource(4, "1")]
            ),
            [TopicRef("t", None, None)],
        ),
        (
            AddPartitionsToTxnRequest(
                v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0, 2])],
            ),
            [TopicRef("t", None, [0, 2])],
        ),
        (
            OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("t")])]
            ),
            [TopicRef("t", None, [])],
        ),
        (HeartbeatRequest("g"), []),
    ],
)
def test_topics_are_found_by_name_and_by_id(message: object, topics: list[TopicRef]) -> None:
    assert subjects_of(message).topics == topics


def test_groups_and_transactional_ids_are_told_apart() -> None:
    assert subjects_of(HeartbeatRequest("g")).groups == ["g"]
    assert subjects_of(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g")])).groups == ["g"]
    group = subjects_of(FindCoordinatorRequest(coordinator_keys=["a"], key_type=0))
    transaction = subjects_of(FindCoordinatorRequest("b", key_type=1))
    assert (group.groups, group.transactional_ids) == (["a"], [])
    assert (transaction.groups, transaction.transactional_ids) == ([], ["b"])
    old = AddPartitionsToTxnRequest(v3_and_below_transactional_id="t")
    assert subjects_of(old).transactional_ids == ["t"]


def test_errors_come_in_document_order() -> None:
    partitions = [ProduceResponsePartition(0, 6), ProduceResponsePartition(1, 0)]
    assert list(errors_in(ProduceResponse([ProduceResponseTopic("t", ID, partitions)]))) == [6, 0]
    assert list(errors_in(HeartbeatResponse(0, 27))) == [27]
    result = AddPartitionsToTxnTopicResult("t", [AddPartitionsToTxnPartitionResult(0, 48)])
    old = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[result])
    assert list(errors_in(old)) == [0, 48]
    assert list(errors_in(None)) == []


class _Unread(list[object]):
    """Partitions that nobody is to look at."""

    def __iter__(self) -> NoReturn:
        raise AssertionError


def test_partitions_are_looked_at_where_one_is_meant() -> None:
    partitions = [FetchRequestPartition(index) for index in (3, 5)]
    request = FetchRequest(topics=[FetchRequestTopic("a", partitions=partitions)])
    assert [concerns(request, lambda *_: True, index) for index in (3, 4)] == [True, False]
    request.topics[0].partitions = _Unread(partitions)  # type: ignore[assignment]
    assert concerns(request, lambda name, _: name == "a", None)
    assert not concerns(request, lambda name, _: name == "b", 3)
    request.topics[0].partitions = []
    assert not concerns(request, lambda *_: True, None)


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (DeleteTopicsRequest(topic_names=["a"]), {"a"}),
        (
            DescribeConfigsRequest(
                [DescribeConfigsResource(2, "a"), DescribeConfigsResource(4, "b")]
            ),
            {"a"},
        ),
        (
            OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup(
                        "g", topics=[OffsetFetchRequestTopics("a", partition_indexes=[1])]
                    )
                ]
            ),
            {"a"},
        ),
        (HeartbeatRequest("g"), set()),
    ],
)
def test_a_request_concerns_the_topics_that_it_names(request_: object, named: set[str]) -> None:
    asked = set()

    def selects(name: str | None, _: bytes | None) -> bool:
        asked.add(name)
        return name == "b"

    assert not concerns(request_, selects, None)
    assert asked == named
    assert concerns(request_, lambda *_: True, None) == bool(named)
