"""Java's Admin: what each of its methods brings, the same here as on an Apache Kafka 4.3.1.

A method whose API this broker does not advertise must tell so.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.clients.login import SECURITY

if TYPE_CHECKING:
    from tests.clients.java.conftest import Tool
    from tests.clients.java.jvm import Jvm

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

UNSUPPORTED = "UnsupportedVersionException"
NO_SECURITY = "SecurityDisabledException"
# Who has logged in may ask; there is no secret key.
NO_TOKENS = (
    "DelegationTokenDisabledException" if SECURITY else "UnsupportedByAuthenticationException"
)


class Call(NamedTuple):
    """A step of AdminSweep: the API that it needs, what it brings, and what it does without it."""

    api: str
    brings: object
    without: object = UNSUPPORTED


CALLS = {
    "createTopics": Call("CreateTopics", [2, 1, "1000000"]),
    "createTopics again": Call("CreateTopics", "TopicExistsException"),
    "createPartitions": Call("CreatePartitions", 3),
    "listTopics": Call("Metadata", True),
    "describeTopics": Call("DescribeTopicPartitions", [[index, 1, 1, 1] for index in range(3)]),
    "deleteTopics": Call("DeleteTopics", False),
    "incrementalAlterConfigs": Call("IncrementalAlterConfigs", "done"),
    "describeConfigs": Call(
        "DescribeConfigs", ["delete,compact", "DYNAMIC_TOPIC_CONFIG", "DEFAULT_CONFIG"]
    ),
    "listConfigResources": Call("ListConfigResources", True),
    "listOffsets": Call("ListOffsets", [0, 10, 9, 4, 0]),
    "deleteRecords": Call("DeleteRecords", 3),
    "describeProducers": Call("DescribeProducers", [9]),
    "describeConsumerGroups": Call("DescribeGroups", ["Stable", "range", 1, 3]),
    "describeClassicGroups": Call("DescribeGroups", "consumer"),
    "removeMembersFromConsumerGroup": Call("LeaveGroup", 0),
    "listConsumerGroups": Call("ListGroups", True),
    "listClientMetricsResources": Call("ListConfigResources", False),
    "listGroups": Call("ListGroups", [["Classic", "consumer", "Empty"]]),
    "listConsumerGroupOffsets": Call("OffsetFetch", 10),
    "alterConsumerGroupOffsets": Call("OffsetCommit", [5, "moved"]),
    "deleteConsumerGroupOffsets": Call("OffsetDelete", False),
    "deleteConsumerGroups": Call("DeleteGroups", False),
    "listTransactions": Call("ListTransactions", ["Ongoing"]),
    "describeTransactions": Call("DescribeTransactions", ["Ongoing", 60000, True]),
    "forceTerminateTransaction": Call("InitProducerId", "Empty"),
    "abortTransaction": Call("WriteTxnMarkers", [0, False]),
    "fenceProducers": Call("InitProducerId", True),
    "describeCluster": Call("DescribeCluster", [1, 1, 22]),
    "describeFeatures": Call("ApiVersions", 2),
    "metrics": Call("ApiVersions", True),
    "registerMetricForSubscription": Call("ApiVersions", "done"),
    "unregisterMetricFromSubscription": Call("ApiVersions", "done"),
    "describeMetadataQuorum": Call("DescribeQuorum", 1),
    "updateFeatures": Call("UpdateFeatures", "InvalidUpdateVersionException"),
    "unregisterBroker": Call("UnregisterBroker", "BrokerIdNotRegisteredException"),
    # The voters of a static quorum stand in its configs.
    "addRaftVoter": Call("AddRaftVoter", UNSUPPORTED),
    "removeRaftVoter": Call("RemoveRaftVoter", UNSUPPORTED),
    "clientInstanceId": Call("GetTelemetrySubscriptions", True, False),
    "electLeaders": Call("ElectLeaders", "ElectionNotNeededException"),
    "alterPartitionReassignments": Call("AlterPartitionReassignments", "done"),
    "listPartitionReassignments": Call("ListPartitionReassignments", 0),
    "describeLogDirs": Call("DescribeLogDirs", [[True, 0, False]]),
    "describeReplicaLogDirs": Call("DescribeLogDirs", 0),
    "alterReplicaLogDirs": Call("AlterReplicaLogDirs", "done"),
    "describeAcls": Call("DescribeAcls", NO_SECURITY),
    "createAcls": Call("CreateAcls", NO_SECURITY),
    "deleteAcls": Call("DeleteAcls", NO_SECURITY),
    "alterClientQuotas": Call("AlterClientQuotas", "done"),
    "describeClientQuotas": Call("DescribeClientQuotas", {"producer_byte_rate": 1024.0}),
    "describeUserScramCredentials": Call("DescribeUserScramCredentials", False),
    "alterUserScramCredentials": Call("AlterUserScramCredentials", 4096),
    "createDelegationToken": Call("CreateDelegationToken", NO_TOKENS),
    "renewDelegationToken": Call("RenewDelegationToken", NO_TOKENS),
    "expireDelegationToken": Call("ExpireDelegationToken", NO_TOKENS),
    "describeDelegationToken": Call("DescribeDelegationToken", NO_TOKENS),
    "describeShareGroups": Call("ShareGroupDescribe", "GroupIdNotFoundException"),
    "alterShareGroupOffsets": Call("AlterShareGroupOffsets", None),
    "listShareGroupOffsets": Call("DescribeShareGroupOffsets", 1),
    "deleteShareGroupOffsets": Call("DeleteShareGroupOffsets", None),
    # A DeleteGroups of the group that alterShareGroupOffsets made.
    "deleteShareGroups": Call("AlterShareGroupOffsets", None, "GroupIdNotFoundException"),
    "describeStreamsGroups": Call("StreamsGroupDescribe", "GroupIdNotFoundException"),
    "alterStreamsGroupOffsets": Call("OffsetCommit", None),
    "listStreamsGroupOffsets": Call("OffsetFetch", 1),
    "deleteStreamsGroupOffsets": Call("OffsetDelete", None),
    "deleteStreamsGroups": Call("DeleteGroups", None),
}


def advertised(tool: Tool) -> set[str]:
    """The APIs that the broker has, by their names."""
    shown = tool("BrokerApiVersionsCommand")
    return set(re.findall(r"^\t(\w+)\(\d+\): \d", shown, re.MULTILINE))


def test_each_method_brings_what_it_brings_from_a_kafka(
    jvm: Jvm, tool: Tool, server_process: str, topic: str
) -> None:
    apis = advertised(tool)
    lines = jvm.check("AdminSweep", server_process, topic).splitlines()
    brought: dict[str, Any] = dict(json.loads(line) for line in lines)
    assert brought.pop("not called") == ["close", "create"]
    assert brought == {
        step: call.brings if call.api in apis else call.without for step, call in CALLS.items()
    }
