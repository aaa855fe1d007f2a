"""What ACLs keep from readers and followers: case 136."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fetch_cases.asking import Answer
    from tests.fetch_cases.target import Target

ANY, ALL, READ, CLUSTER_ACTION = 1, 2, 3, 9
TOPIC, CLUSTER = 2, 4
LITERAL = 3
DENY, ALLOW = 2, 3
REFUSED = 29
FOLLOWER = 1
VERSIONS = (4, 12, 13, 18)
ELSEWHERE = "127.0.0.2"
"""Apache Kafka's broker needs CLUSTER_ACTION itself, even to hand on that it is allowed again."""


@contextmanager
def denied(target: Target, kind: int, name: str, operation: int, host: str = "*") -> Iterator[None]:
    """Everybody may do all to the resource, but not this from that host."""
    acls = [
        AclCreation(kind, name, LITERAL, "User:*", where, each, permission)
        for where, each, permission in (("*", ALL, ALLOW), (host, operation, DENY))
    ]
    created = target.control.call(CreateAclsRequest(acls), 3, CreateAclsResponse)
    assert [one.error_code for one in created.results] == [0, 0], created
    try:
        target.until(lambda: known(target, kind, name) == len(acls))
        yield
    finally:
        every = DeleteAclsFilter(kind, name, LITERAL, None, None, ANY, ANY)
        deleted = target.control.call(DeleteAclsRequest([every]), 3, DeleteAclsResponse)
        assert len(deleted.filter_results[0].matching_acls) == len(acls), deleted
        target.until(lambda: known(target, kind, name) == 0)


def known(target: Target, kind: int, name: str) -> int:
    """How many ACLs about the resource the broker goes by: it learns of them a moment later."""
    asked = DescribeAclsRequest(kind, name, LITERAL, None, None, ANY, ANY)
    answer = target.control.call(asked, 3, DescribeAclsResponse)
    assert answer.error_code == 0, answer
    return sum(len(resource.acls) for resource in answer.resources)


def told(answer: Answer) -> list[tuple[str, int, int, int, int]]:
    """Topic, partition, error, high watermark and bytes of records, whatever their order."""
    assert answer.error == 0
    return sorted((got.topic, got.index, got.error, got.high_watermark, got.size)
                  for got in answer.parts)  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_136_without_read_each_partition_of_the_topic_is_refused(
    authorized_target: Target, version: int
) -> None:
    target = authorized_target
    shut = target.topic(2, (50,), (50,))
    free = target.topic(1, (50,))
    parts = (shut.at(0), free.at(0), shut.at(1))
    reader = target.reader()
    with denied(target, TOPIC, shut.name, READ):
        answer = reader.fetch(*parts, version=version)
        # A follower's fetch is about the cluster, not about topics.
        assert REFUSED not in reader.fetch(*parts, version=version, replica_id=FOLLOWER).errors
    assert told(answer) == sorted([
        (shut.name, 0, REFUSED, -1, 0), (shut.name, 1, REFUSED, -1, 0), (free.name, 0, 0, 1, 118),
    ])  # fmt: skip
    assert reader.fetch(*parts, version=version).errors == [0, 0, 0]


@pytest.mark.parametrize("version", [v for v in VERSIONS if v > 4])
def test_136_a_session_loses_what_its_reader_may_not_read_any_more(
    authorized_target: Target, version: int
) -> None:
    target = authorized_target
    shut, free = target.topic(1, (50,)), target.topic(1, (50,))
    reader = target.reader()
    session, first = reader.open_session(shut.at(0, 1), free.at(0, 1), version=version)
    assert first.errors == [0, 0]
    with denied(target, TOPIC, shut.name, READ):
        second = reader.fetch(session=(session, 1), version=version)
        assert told(second) == [(shut.name, 0, REFUSED, -1, 0)]
        target.produce(free, 0, 50)
        third = reader.fetch(session=(session, 2), version=version)
        assert told(third) == sorted([
            (shut.name, 0, REFUSED, -1, 0), (free.name, 0, 0, 2, 118),
        ])  # fmt: skip
    fourth = reader.fetch(free.at(0, 2), session=(session, 3), version=version)
    assert told(fourth) == [(shut.name, 0, 0, 1, 0)]


@pytest.mark.skipif(sys.platform != "linux", reason="a second loopback address is Linux's")
@pytest.mark.parametrize("version", VERSIONS)
def test_136_a_follower_without_cluster_action_is_refused_everything(
    authorized_target: Target, version: int
) -> None:
    target = authorized_target
    first, second = target.topic(2, (50,), (50,)), target.topic(1, (50,))
    parts = (first.at(0), second.at(0), first.at(1), first.at(7))
    reader = target.reader(ELSEWHERE)
    with denied(target, CLUSTER, "kafka-cluster", CLUSTER_ACTION, ELSEWHERE):
        answer = reader.fetch(*parts, version=version, replica_id=FOLLOWER)
        consumer = reader.fetch(*parts[:3], version=version)
    assert told(answer) == sorted([
        (part.topic.name, part.partition, REFUSED, -1, 0) for part in parts
    ])  # fmt: skip
    assert consumer.errors == [0, 0, 0]
    assert REFUSED not in reader.fetch(*parts, version=version, replica_id=FOLLOWER).errors
