"""What a client is told of a group's ranges and leases."""

from __future__ import annotations

import pytest

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.cooperation import (
    DescribeIndividualCommitsRequest,
    DescribeIndividualCommitsRequestTopic,
    DescribeIndividualCommitsResponse,
    DescribeIndividualCommitsResponseLease,
    DescribeIndividualCommitsResponsePartition,
    DescribeIndividualCommitsResponseTopic,
)
from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
from tests.mockbroker.coop.test_cooperative_fetch import LEASE_MS, Reader, core_of
from tests.support.acls import GROUP, TOPIC, deny, guarded_core
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core, CoreClient
from tests.support.range_group import COMMIT_VERSION, ON, RangeGroup, fill


def described(
    client: CoreClient, *asked: tuple[str, list[int]], group: str = "g"
) -> DescribeIndividualCommitsResponse:
    topics = [DescribeIndividualCommitsRequestTopic(*one) for one in asked] or None
    request = DescribeIndividualCommitsRequest(group, topics)
    return client.call(request, 0, DescribeIndividualCommitsResponse)


def test_ranges_and_leases_are_told() -> None:
    core = core_of()
    one, two = Reader(core, "A"), Reader(core, "B")
    one.take()
    two.take()
    two.commits.commit((12, 13))
    core.advance(1_000)
    lease = DescribeIndividualCommitsResponseLease
    left_ms = LEASE_MS - 1_000
    assert described(core.client()).topics == [
        DescribeIndividualCommitsResponseTopic(
            "t",
            [
                DescribeIndividualCommitsResponsePartition(
                    partition_index=0,
                    stable_offset=0,
                    max_committed_offset=13,
                    committed_ranges=tags.pack_ranges([(12, 13)]),
                    marker=20,
                    leases=[
                        lease(0, 9, "A", 1, left_ms),
                        lease(10, 11, "B", 1, left_ms),
                        lease(14, 19, "B", 1, left_ms),
                    ],
                )
            ],
        )
    ]


def test_what_is_asked_for_is_answered_though_nothing_is_shared() -> None:
    core = Core(topics={"t": 2}, config=ON)
    client = core.client()
    fill(client, 5)
    RangeGroup(client).commit((0, 2))
    answer = described(client, ("t", [1, 0]), ("nowhere", [3]))
    told = {
        (topic.name, one.partition_index): (
            one.error_code,
            one.stable_offset,
            one.max_committed_offset,
        )
        for topic in answer.topics
        for one in topic.partitions
    }
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert told == {("t", 0): (0, 3, 2), ("t", 1): (0, -1, -1), ("nowhere", 3): (unknown, -1, -1)}
    assert described(client, group="nobody").topics == []


def test_the_coordinator_alone_can_tell() -> None:
    core = ClusterCore(brokers=2, topics={"t": 1}, config=ON)
    errors = {described(core.client(node=node)).error_code for node in (1, 2)}
    assert ErrorCode.NOT_COORDINATOR in errors


@pytest.mark.parametrize("asked", [(), (("open", [0]), ("shut", [0]))])
def test_topics_that_may_not_be_described_are_hidden_or_refused(
    asked: tuple[tuple[str, list[int]], ...],
) -> None:
    core = guarded_core(**ON)
    client = core.client()
    for topic in ("open", "shut"):
        fill(client, 4, topic)
        asked_to_commit = RangeGroup(client).asking(0, commit_fields([(1, 2)]))
        asked_to_commit.topics[0].name = topic
        client.call(asked_to_commit, COMMIT_VERSION, OffsetCommitResponse)
    deny(core, TOPIC, "shut", AclOperation.DESCRIBE)
    told = {
        topic.name: topic.partitions[0].error_code for topic in described(client, *asked).topics
    }
    denied = {"shut": ErrorCode.TOPIC_AUTHORIZATION_FAILED} if asked else {}
    assert told == {"open": 0, **denied}
    deny(core, GROUP, "g", AclOperation.DESCRIBE)
    assert described(client, *asked).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("advertises", ["true", "false"])
def test_clients_are_told_of_the_apis_where_that_is_wanted(advertises: str) -> None:
    core = Core(config={**ON, "coop.advertise.private.apis": advertises})
    answer = core.client().call(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)
    own = [
        (one.api_key, one.min_version, one.max_version)
        for one in answer.api_keys
        if one.api_key > 1000
    ]
    assert own == ([(19700, 0, 0), (19701, 0, 0)] if advertises == "true" else [])
