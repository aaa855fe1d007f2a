"""ACLs and quotas count on our brokers and on one of Apache Kafka beside them, whoever is asked.

What the real broker is asked to change it forwards to our controller, as elections, reassignments
and levels of features; all of it comes back to both by the metadata log.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pytest

from mockbroker.metadata.acls import Acl, PatternType, Permission, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker.testing.mock_broker import MockBroker
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
from mockbroker_protocol.messages.features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    OpData,
)
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from tests.mockbroker.apis.test_produce import request as produce_request
from tests.raft.test_real_followers import create, in_sync, kafka_jars
from tests.support.fetch_world import batch
from tests.support.real_brokers import RealBroker, until
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["kafka_jars"]

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
T = TypeVar("T")
GUARDED = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
}
LEADER_OF = {"ours": 1, "real": 2}
"""Topics, each with its leader."""
DENIED = 29
RATE = 1000.0
TOO_MUCH = 33_000
"""Bytes of a record that no window of that rate allows."""


def ask(address: str, request: object, version: int, kind: type[T]) -> T:
    """One request on a connection of its own."""

    async def call() -> T:
        async with await RawConnection.open(address) as connection:
            return await connection.call(request, version, kind)

    return asyncio.run(call())


def produce(address: str, topic: str, size: int = 1) -> tuple[int, int]:
    """Write a record; the error and for how long the answer tells to wait."""
    request = produce_request(batch(size), name=topic, acks=-1)
    answer = ask(address, request, 9, ProduceResponse)
    return answer.responses[0].partition_responses[0].error_code, answer.throttle_time_ms


def takes(address: str, topic: str) -> bool:
    """Whether a record is written, and at once."""
    return produce(address, topic) == (0, 0)


def acl(topic: str) -> Acl:
    return Acl(
        ResourceType.TOPIC,
        topic,
        PatternType.LITERAL,
        "User:ANONYMOUS",
        "*",
        AclOperation.WRITE,
        Permission.DENY,
    )


def create_acl(address: str, made: Acl) -> None:
    request = CreateAclsRequest([AclCreation(*made)])
    (result,) = ask(address, request, 3, CreateAclsResponse).results
    assert (result.error_code, result.error_message) in ((0, None), (0, ""))


def delete_acl(address: str, gone: Acl) -> None:
    request = DeleteAclsRequest([DeleteAclsFilter(*gone)])
    (result,) = ask(address, request, 3, DeleteAclsResponse).filter_results
    assert result.error_code == 0
    assert [one.resource_name for one in result.matching_acls] == [gone.resource_name]


def acls(address: str) -> set[Acl]:
    answer = ask(
        address, DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3, DescribeAclsResponse
    )
    assert answer.error_code == 0
    return {
        Acl(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )
        for resource in answer.resources
        for one in resource.acls
    }


def set_quota(address: str, rate: float | None) -> None:
    """For the client id of raw connections."""
    op = OpData("producer_byte_rate", rate or 0.0, remove=rate is None)
    entry = AlterClientQuotasRequestEntryData([EntityData("client-id", "raw")], [op])
    answer = ask(address, AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse)
    assert [one.error_code for one in answer.entries] == [0]


def quotas(address: str) -> list[tuple[str, str | None, str, float]]:
    answer = ask(address, DescribeClientQuotasRequest(), 1, DescribeClientQuotasResponse)
    assert answer.error_code == 0
    return [
        (part.entity_type, part.entity_name, value.key, value.value)
        for entry in answer.entries or ()
        for part in entry.entity
        for value in entry.values
    ]


def test_acls_and_quotas_are_one_on_both(tmp_path: Path) -> None:
    configs = [f"{key}={value}" for key, value in GUARDED.items()]
    with MockBroker(controller_port=0, config=GUARDED) as broker:
        create_acl(broker.bootstrap_servers, acl("before"))
        set_quota(broker.bootstrap_servers, 5 * RATE)
        with RealBroker(broker, tmp_path, 2, *configs) as real:
            ours, theirs = broker.bootstrap_servers, real.address
            leader = {"ours": ours, "real": theirs}
            for topic, node in LEADER_OF.items():
                create(broker, topic, [[node]])
                until(partial(takes, leader[topic], topic))
            assert acls(theirs) == {acl("before")}
            assert quotas(theirs) == [("client-id", "raw", "producer_byte_rate", 5 * RATE)]
            for maker, remover in ((ours, theirs), (theirs, ours)):
                for topic in LEADER_OF:
                    create_acl(maker, acl(topic))
                expected = {acl("before"), *map(acl, LEADER_OF)}
                until(lambda: acls(ours) == acls(theirs) == expected)  # noqa: B023 -- at once
                assert [produce(leader[topic], topic) for topic in LEADER_OF] == [(DENIED, 0)] * 2
                for topic in LEADER_OF:
                    delete_acl(remover, acl(topic))
                until(lambda: acls(ours) == acls(theirs) == {acl("before")})
                assert [produce(leader[topic], topic) for topic in LEADER_OF] == [(0, 0)] * 2
            for maker, remover in ((ours, theirs), (theirs, ours)):
                set_quota(maker, RATE)
                expected_quota = [("client-id", "raw", "producer_byte_rate", RATE)]
                until(lambda: quotas(ours) == quotas(theirs) == expected_quota)  # noqa: B023
                for topic in LEADER_OF:
                    error, throttled = produce(leader[topic], topic, TOO_MUCH)
                    assert (error, throttled > 0) == (0, True), topic
                set_quota(remover, None)
                until(lambda: quotas(ours) == quotas(theirs) == [])
                for topic in LEADER_OF:
                    assert produce(leader[topic], topic, TOO_MUCH) == (0, 0), topic


def test_a_real_broker_forwards_elections_reassignments_and_features(tmp_path: Path) -> None:
    with MockBroker(controller_port=0) as broker, RealBroker(broker, tmp_path) as real:
        create(broker, "moved", [[1, 2]])
        until(lambda: in_sync(broker, "moved") == [1, 2])
        theirs = real.address
        broker.cluster.move_leader("moved", 0, to=2)
        wanted = [TopicPartitions("moved", [0])]
        elected = ask(theirs, ElectLeadersRequest(0, wanted, 10_000), 2, ElectLeadersResponse)
        (partition,) = elected.replica_election_results[0].partition_result
        assert (elected.error_code, partition.error_code) == (0, 0)
        assert broker.cluster.leader("moved", 0) == 1
        asked = ReassignableTopic("moved", [ReassignablePartition(0, [2])])
        moving = AlterPartitionReassignmentsRequest(10_000, topics=[asked])
        answer = ask(theirs, moving, 0, AlterPartitionReassignmentsResponse)
        assert answer.responses[0].partitions[0].error_code == 0
        until(lambda: broker.cluster.replicas("moved", 0) == [2])
        listed = ask(
            theirs, ListPartitionReassignmentsRequest(), 0, ListPartitionReassignmentsResponse
        )
        assert (listed.error_code, listed.topics) == (0, [])
        for level, error in ((1, 0), (3, 95)):
            update = [FeatureUpdateKey("transaction.version", level, False, 2 if level < 2 else 1)]
            request = UpdateFeaturesRequest(10_000, update)
            assert ask(theirs, request, 1, UpdateFeaturesResponse).error_code == error
