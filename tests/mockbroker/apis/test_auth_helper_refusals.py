"""What else is told beside an authorizer's no, by each API as Apache Kafka tells it."""

from __future__ import annotations

from typing import cast

import pytest

from mockbroker.metadata.acls import CLUSTER_NAME
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages import (
    features,
    group_admin,
    log_dirs,
    quorum,
    quotas,
    reassignments,
    scram,
    transaction_admin,
)
from mockbroker_protocol.messages.catalog import response_class
from tests.mockbroker.apis.test_consumer_group_heartbeat import beat
from tests.support.acls import CLUSTER, TOPIC, TRANSACTIONAL_ID, deny, guarded_core
from tests.support.core import Core

DENIED, NEEDS_ALTER = "Cluster authorization failed.", "Request needs ALTER permission."
MARKER = transaction_admin.WritableTxnMarker(
    7, 0, True, [transaction_admin.WritableTxnMarkerTopic("open", [0])]
)


def told(core: Core, request: object, version: int) -> object:
    key = cast("int", request.API_KEY)  # type: ignore[attr-defined]  # all requests have one
    return core.client().call(request, version, response_class(key))


@pytest.mark.parametrize(
    ("request_", "version", "answer"),
    [
        (
            quotas.AlterClientQuotasRequest(
                [quotas.AlterClientQuotasRequestEntryData([quotas.EntityData("user", "a")], [])]
            ),
            1,
            quotas.AlterClientQuotasResponse(
                0,
                [
                    quotas.AlterClientQuotasResponseEntryData(
                        31, DENIED, [quotas.EntityData("user", "a")]
                    )
                ],
            ),
        ),
        (
            quotas.DescribeClientQuotasRequest(),
            1,
            quotas.DescribeClientQuotasResponse(0, 31, None, None),
        ),
        (
            reassignments.AlterPartitionReassignmentsRequest(
                topics=[
                    reassignments.ReassignableTopic(
                        "t", [reassignments.ReassignablePartition(3, None)]
                    )
                ]
            ),
            1,
            reassignments.AlterPartitionReassignmentsResponse(
                0,
                True,
                31,
                NEEDS_ALTER,
                [
                    reassignments.ReassignableTopicResponse(
                        "t", [reassignments.ReassignablePartitionResponse(3, 31, NEEDS_ALTER)]
                    )
                ],
            ),
        ),
        (
            reassignments.ListPartitionReassignmentsRequest(
                1, [reassignments.ListPartitionReassignmentsTopics("t", [3])]
            ),
            0,
            reassignments.ListPartitionReassignmentsResponse(
                0,
                31,
                "Request needs DESCRIBE permission.",
                [
                    reassignments.OngoingTopicReassignment(
                        "t", [reassignments.OngoingPartitionReassignment(3)]
                    )
                ],
            ),
        ),
        (
            reassignments.ElectLeadersRequest(0, [reassignments.TopicPartitions("t", [3])]),
            2,
            reassignments.ElectLeadersResponse(
                0,
                31,
                [
                    reassignments.ReplicaElectionResult(
                        "t", [reassignments.PartitionResult(3, 31, NEEDS_ALTER)]
                    )
                ],
            ),
        ),
        (log_dirs.DescribeLogDirsRequest(None), 2, log_dirs.DescribeLogDirsResponse()),
        (log_dirs.DescribeLogDirsRequest(None), 3, log_dirs.DescribeLogDirsResponse(0, 31)),
        (
            scram.DescribeUserScramCredentialsRequest([scram.UserName("a")]),
            0,
            scram.DescribeUserScramCredentialsResponse(
                0, 31, None, [scram.DescribeUserScramCredentialsResult("", 31, None)]
            ),
        ),
        (quorum.AddRaftVoterRequest("x", 1, 7), 0, quorum.AddRaftVoterResponse(0, 31, DENIED)),
        (quorum.RemoveRaftVoterRequest("x", 7), 0, quorum.RemoveRaftVoterResponse(0, 31, DENIED)),
        (
            quorum.UnregisterBrokerRequest(7),
            0,
            quorum.UnregisterBrokerResponse(0, 31, NEEDS_ALTER),
        ),
        (
            quorum.UnregisterControllerRequest(7),
            0,
            quorum.UnregisterControllerResponse(0, 31, NEEDS_ALTER),
        ),
        (quorum.DescribeQuorumRequest(), 2, quorum.DescribeQuorumResponse(31, DENIED)),
        (
            features.UpdateFeaturesRequest(1, []),
            2,
            features.UpdateFeaturesResponse(0, 31, NEEDS_ALTER),
        ),
        (
            transaction_admin.WriteTxnMarkersRequest([MARKER]),
            1,
            transaction_admin.WriteTxnMarkersResponse(
                [
                    transaction_admin.WritableTxnMarkerResult(
                        7,
                        [
                            transaction_admin.WritableTxnMarkerTopicResult(
                                "open", [transaction_admin.WritableTxnMarkerPartitionResult(0, 31)]
                            )
                        ],
                    )
                ]
            ),
        ),
    ],
    ids=lambda value: type(value).__name__.removesuffix("Request"),
)
def test_what_a_denied_cluster_tells(request_: object, version: int, answer: object) -> None:
    core = guarded_core()
    deny(
        core,
        CLUSTER,
        CLUSTER_NAME,
        *(AclOperation.ALTER, AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE),
        *(AclOperation.DESCRIBE_CONFIGS, AclOperation.CLUSTER_ACTION),
    )
    assert told(core, request_, version) == answer


def test_denied_producers_are_told_in_words() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.READ)
    asked = [transaction_admin.TopicRequest(name, [0]) for name in ("open", "shut")]
    request = transaction_admin.DescribeProducersRequest(asked)
    answer = core.client().call(request, 0, transaction_admin.DescribeProducersResponse)
    assert [
        (topic.name, part.error_code, part.error_message)
        for topic in answer.topics
        for part in topic.partitions
    ] == [("open", 0, None), ("shut", 29, "Topic authorization failed.")]


def test_denied_transactions_stay_where_they_were_asked_for() -> None:
    core = guarded_core()
    deny(core, TRANSACTIONAL_ID, "t", AclOperation.DESCRIBE)
    request = transaction_admin.DescribeTransactionsRequest(["a", "t", "b", "t"])
    answer = core.client().call(request, 0, transaction_admin.DescribeTransactionsResponse)
    assert [(one.transactional_id, one.error_code) for one in answer.transaction_states] == [
        ("a", 16),
        ("t", 53),
        ("b", 16),
        ("t", 53),
    ]


def test_a_group_whose_topics_are_hidden_tells_nothing_of_itself() -> None:
    core = guarded_core()
    beat(core, "m", "shut")
    deny(core, TOPIC, "shut", AclOperation.DESCRIBE)
    beat(core, "m", None, 1)
    request = group_admin.ConsumerGroupDescribeRequest(["g"], True)
    answer = core.client().call(request, 1, group_admin.ConsumerGroupDescribeResponse)
    (group,) = answer.groups
    assert group == group_admin.ConsumerGroupDescribedGroup(29, group.error_message, "g")
