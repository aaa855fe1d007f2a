"""Each API asks the authorizer for what Apache Kafka asks, and refuses when one part is denied.

The cases say what each API needs (docs: Kafka's "Operations in Kafka, by API"); each is sent once
with everything allowed and once for each denial. What is hidden or taken out is in
test_auth_helper_filters.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, cast

import pytest

from mockbroker.apis.registry import CONTROLLER_SERVED, SERVED
from mockbroker.metadata.acls import CLUSTER_NAME, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey
from mockbroker_protocol.messages import (
    acls,
    configs,
    consumer_group,
    features,
    find_coordinator,
    group_admin,
    group_membership,
    group_offsets,
    list_offsets,
    log_dirs,
    metadata,
    produce,
    quorum,
    quotas,
    reassignments,
    scram,
    topics,
    transaction_admin,
    transactions,
)
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.messages.controller_apis import BrokerRegistrationResponse
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.schema import ZERO_UUID
from mockbroker_protocol.subjects import errors_in
from tests.mockbroker.apis.test_produce import request as produce_request
from tests.support import outside_brokers
from tests.support.acls import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, deny, guarded_core
from tests.support.core import Core
from tests.support.fetch_world import batch
from tests.support.metadata_logs import QuorumCore

NOW = 1_700_000_000_000
ALLOWED = frozenset({29, 30, 31, 53})
OP = AclOperation


class Denial(NamedTuple):
    """One denied operation."""

    kind: ResourceType
    name: str
    operation: AclOperation


class Case(NamedTuple):
    """A request, and what denies it: each row alone is enough, all of a row are needed."""

    version: int
    request: object
    denials: list[tuple[int, tuple[Denial, ...]]]

    def __repr__(self) -> str:
        return type(self.request).__name__


def topic(operation: AclOperation) -> tuple[int, tuple[Denial, ...]]:
    return 29, (Denial(TOPIC, "shut", operation),)


def group(operation: AclOperation) -> tuple[int, tuple[Denial, ...]]:
    return 30, (Denial(GROUP, "g", operation),)


def txn(operation: AclOperation) -> tuple[int, tuple[Denial, ...]]:
    return 53, (Denial(TRANSACTIONAL_ID, "t", operation),)


def cluster(*operations: AclOperation) -> tuple[int, tuple[Denial, ...]]:
    return 31, tuple(Denial(CLUSTER, CLUSTER_NAME, operation) for operation in operations)


def either(operation: AclOperation) -> tuple[int, tuple[Denial, ...]]:
    return 29, (*cluster(operation)[1], *topic(operation)[1])


TRANSACTIONAL = build_batch(
    [Record(0, NOW, None, b"v", [])],
    producer_id=1,
    producer_epoch=0,
    base_sequence=0,
    transactional=True,
)
EVERY_ACL = (1, None, 1, None, None, 1, 1)
CASES = [
    Case(9, produce_request(batch(5, 1, NOW), name="shut"), [topic(OP.WRITE)]),
    Case(
        9,
        produce_request(TRANSACTIONAL, transactional_id="t"),
        [txn(OP.WRITE)],
    ),
    Case(
        5,
        list_offsets.ListOffsetsRequest(
            -1, 0, [list_offsets.ListOffsetsTopic("shut", [list_offsets.ListOffsetsPartition()])]
        ),
        [topic(OP.DESCRIBE)],
    ),
    Case(
        4,
        list_offsets.OffsetForLeaderEpochRequest(
            -1,
            [list_offsets.OffsetForLeaderTopic("shut", [list_offsets.OffsetForLeaderPartition()])],
        ),
        [(29, (*cluster(OP.CLUSTER_ACTION)[1], *topic(OP.DESCRIBE)[1]))],
    ),
    Case(
        1,
        metadata.MetadataRequest([metadata.MetadataRequestTopic(ZERO_UUID, "shut")]),
        [topic(OP.DESCRIBE)],
    ),
    Case(
        0,
        metadata.DescribeTopicPartitionsRequest([metadata.TopicRequest("shut")]),
        [topic(OP.DESCRIBE)],
    ),
    Case(
        8,
        group_offsets.OffsetCommitRequest(
            "g",
            topics=[
                group_offsets.OffsetCommitRequestTopic(
                    "shut", partitions=[group_offsets.OffsetCommitRequestPartition(0, 1)]
                )
            ],
        ),
        [group(OP.READ), topic(OP.READ)],
    ),
    Case(
        7,
        group_offsets.OffsetFetchRequest("g", [group_offsets.OffsetFetchRequestTopic("shut", [0])]),
        [group(OP.DESCRIBE), topic(OP.DESCRIBE)],
    ),
    Case(
        9,
        group_offsets.OffsetFetchRequest(
            groups=[
                group_offsets.OffsetFetchRequestGroup(
                    "g", topics=[group_offsets.OffsetFetchRequestTopics("shut", ZERO_UUID, [0])]
                )
            ]
        ),
        [group(OP.DESCRIBE), topic(OP.DESCRIBE)],
    ),
    Case(
        0,
        group_offsets.OffsetDeleteRequest(
            "g",
            [
                group_offsets.OffsetDeleteRequestTopic(
                    "shut", [group_offsets.OffsetDeleteRequestPartition(0)]
                )
            ],
        ),
        [group(OP.DELETE), topic(OP.READ)],
    ),
    Case(3, find_coordinator.FindCoordinatorRequest("g", 0), [group(OP.DESCRIBE)]),
    Case(3, find_coordinator.FindCoordinatorRequest("t", 1), [txn(OP.DESCRIBE)]),
    Case(
        4,
        find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h"]),
        [group(OP.DESCRIBE)],
    ),
    Case(
        4,
        find_coordinator.FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]),
        [txn(OP.DESCRIBE)],
    ),
    Case(
        7,
        group_membership.JoinGroupRequest(
            "g",
            6000,
            6000,
            "",
            None,
            "consumer",
            [group_membership.JoinGroupRequestProtocol("range")],
        ),
        [group(OP.READ)],
    ),
    Case(4, group_membership.HeartbeatRequest("g", 1, "m"), [group(OP.READ)]),
    Case(
        4,
        group_membership.LeaveGroupRequest("g", members=[group_membership.MemberIdentity("m")]),
        [group(OP.READ)],
    ),
    Case(4, group_membership.SyncGroupRequest("g", 1, "m"), [group(OP.READ)]),
    Case(
        5,
        group_membership.SyncGroupRequest("g", 1, "m", None, "consumer", "range"),
        [group(OP.READ)],
    ),
    Case(
        0,
        consumer_group.ConsumerGroupHeartbeatRequest(
            "g",
            "",
            0,
            rebalance_timeout_ms=5000,
            subscribed_topic_names=["shut"],
            topic_partitions=[],
        ),
        [group(OP.READ), topic(OP.DESCRIBE)],
    ),
    Case(5, group_admin.DescribeGroupsRequest(["g"]), [group(OP.DESCRIBE)]),
    Case(0, group_admin.ConsumerGroupDescribeRequest(["g"]), [group(OP.DESCRIBE)]),
    Case(2, group_admin.DeleteGroupsRequest(["g"]), [group(OP.DELETE)]),
    Case(7, topics.CreateTopicsRequest([topics.CreatableTopic("shut", 1, 1)]), [either(OP.CREATE)]),
    Case(5, topics.DeleteTopicsRequest(topic_names=["shut"]), [either(OP.DELETE)]),
    Case(
        6,
        topics.DeleteTopicsRequest([topics.DeleteTopicState("shut")]),
        [either(OP.DELETE), (29, (*cluster(OP.DELETE)[1], *topic(OP.DESCRIBE)[1]))],
    ),
    Case(
        2,
        topics.DeleteRecordsRequest(
            [topics.DeleteRecordsTopic("shut", [topics.DeleteRecordsPartition(0, 0)])]
        ),
        [topic(OP.DELETE)],
    ),
    Case(
        3,
        topics.CreatePartitionsRequest([topics.CreatePartitionsTopic("shut", 2, None)]),
        [topic(OP.ALTER)],
    ),
    Case(4, transactions.InitProducerIdRequest("t", 1000), [txn(OP.WRITE)]),
    Case(
        4,
        transactions.InitProducerIdRequest(None, 1000),
        [
            (31, (*cluster(OP.IDEMPOTENT_WRITE)[1], Denial(TOPIC, "*", OP.WRITE))),
        ],
    ),
    Case(
        3,
        transactions.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="t",
            v3_and_below_topics=[transactions.AddPartitionsToTxnTopic("shut", [0])],
        ),
        [txn(OP.WRITE), topic(OP.WRITE)],
    ),
    Case(
        4,
        transactions.AddPartitionsToTxnRequest(
            [
                transactions.AddPartitionsToTxnTransaction(
                    "t", topics=[transactions.AddPartitionsToTxnTopic("shut", [0])]
                )
            ]
        ),
        [cluster(OP.CLUSTER_ACTION)],
    ),
    Case(
        3,
        transactions.AddOffsetsToTxnRequest("t", 1, 0, "g"),
        [txn(OP.WRITE), group(OP.READ)],
    ),
    Case(4, transactions.EndTxnRequest("t", 1, 0, True), [txn(OP.WRITE)]),
    Case(
        3,
        transactions.TxnOffsetCommitRequest(
            "t",
            "g",
            1,
            topics=[
                transactions.TxnOffsetCommitRequestTopic(
                    "shut", partitions=[transactions.TxnOffsetCommitRequestPartition(0, 1)]
                )
            ],
        ),
        [txn(OP.WRITE), group(OP.READ), topic(OP.READ)],
    ),
    Case(
        1,
        transaction_admin.WriteTxnMarkersRequest(
            [
                transaction_admin.WritableTxnMarker(
                    1, 0, True, [transaction_admin.WritableTxnMarkerTopic("open", [0])]
                )
            ]
        ),
        [cluster(OP.ALTER, OP.CLUSTER_ACTION)],
    ),
    Case(
        0,
        transaction_admin.DescribeProducersRequest([transaction_admin.TopicRequest("shut", [0])]),
        [topic(OP.READ)],
    ),
    Case(0, transaction_admin.DescribeTransactionsRequest(["t"]), [txn(OP.DESCRIBE)]),
    Case(3, acls.DescribeAclsRequest(*EVERY_ACL), [cluster(OP.DESCRIBE)]),
    Case(
        3,
        acls.CreateAclsRequest([acls.AclCreation(2, "open", 3, "User:x", "*", 3, 3)]),
        [cluster(OP.ALTER)],
    ),
    Case(3, acls.DeleteAclsRequest([acls.DeleteAclsFilter(*EVERY_ACL)]), [cluster(OP.ALTER)]),
    Case(
        4,
        configs.DescribeConfigsRequest([configs.DescribeConfigsResource(2, "shut")]),
        [topic(OP.DESCRIBE_CONFIGS)],
    ),
    Case(
        4,
        configs.DescribeConfigsRequest([configs.DescribeConfigsResource(32, "g")]),
        [group(OP.DESCRIBE_CONFIGS)],
    ),
    Case(
        4,
        configs.DescribeConfigsRequest([configs.DescribeConfigsResource(4, "0")]),
        [cluster(OP.DESCRIBE_CONFIGS)],
    ),
    Case(
        2,
        configs.AlterConfigsRequest([configs.AlterConfigsResource(2, "shut")]),
        [topic(OP.ALTER_CONFIGS)],
    ),
    Case(
        1,
        configs.IncrementalAlterConfigsRequest(
            [configs.IncrementalAlterConfigsResource(2, "shut")]
        ),
        [topic(OP.ALTER_CONFIGS)],
    ),
    Case(1, configs.ListConfigResourcesRequest(), [cluster(OP.DESCRIBE_CONFIGS)]),
    Case(
        2,
        log_dirs.AlterReplicaLogDirsRequest(
            [
                log_dirs.AlterReplicaLogDir(
                    "/nowhere", [log_dirs.AlterReplicaLogDirTopic("open", [0])]
                )
            ]
        ),
        [cluster(OP.ALTER)],
    ),
    Case(4, log_dirs.DescribeLogDirsRequest(None), [cluster(OP.DESCRIBE)]),
    Case(
        2,
        reassignments.ElectLeadersRequest(0, [reassignments.TopicPartitions("open", [0])]),
        [cluster(OP.ALTER)],
    ),
    Case(
        0,
        reassignments.AlterPartitionReassignmentsRequest(
            topics=[
                reassignments.ReassignableTopic(
                    "open", [reassignments.ReassignablePartition(0, None)]
                )
            ]
        ),
        [cluster(OP.ALTER)],
    ),
    Case(0, reassignments.ListPartitionReassignmentsRequest(1000, None), [cluster(OP.DESCRIBE)]),
    Case(1, quotas.DescribeClientQuotasRequest([]), [cluster(OP.DESCRIBE_CONFIGS)]),
    Case(0, scram.DescribeUserScramCredentialsRequest([]), [cluster(OP.DESCRIBE)]),
    Case(
        0,
        scram.AlterUserScramCredentialsRequest([scram.ScramCredentialDeletion("x", 1)], []),
        [cluster(OP.ALTER)],
    ),
    Case(
        1,
        quotas.AlterClientQuotasRequest(
            [
                quotas.AlterClientQuotasRequestEntryData(
                    [quotas.EntityData("user", "x")],
                    [quotas.OpData("producer_byte_rate", 1.0)],
                )
            ]
        ),
        [cluster(OP.ALTER_CONFIGS)],
    ),
    Case(0, quorum.DescribeQuorumRequest(), [cluster(OP.DESCRIBE)]),
    Case(
        1,
        features.UpdateFeaturesRequest(1000, [features.FeatureUpdateKey("group.version", 1)]),
        [cluster(OP.ALTER)],
    ),
    Case(0, quorum.UnregisterBrokerRequest(7), [cluster(OP.ALTER)]),
    Case(0, quorum.AddRaftVoterRequest("x", 1000, 7), [cluster(OP.ALTER)]),
    Case(0, quorum.RemoveRaftVoterRequest("x", 7), [cluster(OP.ALTER)]),
    Case(0, quorum.UnregisterControllerRequest(7), [cluster(OP.ALTER)]),
]
DENIALS = [(case, code, row) for case in CASES for code, row in case.denials]
FILTERED = frozenset(
    {ApiKey.FETCH, ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS, ApiKey.DESCRIBE_CLUSTER}
)
"""They refuse nothing: they leave out, or tell less."""
OPEN = frozenset(
    {
        ApiKey.SASL_HANDSHAKE,
        ApiKey.API_VERSIONS,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
    }
)
LOGGED_IN = frozenset({ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN})
"""They are for those who have a login: see their own tests."""


def key_of(case: Case) -> int:
    return cast("int", case.request.API_KEY)  # type: ignore[attr-defined]  # all requests have one


def refused_with(core: Core, case: Case) -> set[int]:
    answer: object = core.client().call(case.request, case.version, response_class(key_of(case)))
    return set(errors_in(answer)) & ALLOWED


def test_every_api_is_guarded_or_open_to_all() -> None:
    assert {key_of(case) for case in CASES} | FILTERED | OPEN | LOGGED_IN == set(SERVED)
    unguarded = {key for key, name in SERVED.items() if import_module(name).guard is None}
    assert unguarded == OPEN


def test_what_a_controller_alone_serves_is_for_brokers() -> None:
    for name in set(CONTROLLER_SERVED.values()) - set(SERVED.values()):
        assert import_module(name).guard is not None


def test_a_broker_without_cluster_action_is_not_registered() -> None:
    core = QuorumCore(config={"authorizer.class.name": STANDARD_AUTHORIZER})
    refused = core.observer().call(
        outside_brokers.registration(core), 4, BrokerRegistrationResponse
    )
    assert refused.error_code == 31


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_nobody_is_refused_who_may_do_all(case: Case) -> None:
    assert refused_with(guarded_core(), case) == set()


@pytest.mark.parametrize(
    ("case", "code", "row"),
    DENIALS,
    ids=[f"{case!r}-{code}-{row[-1].operation.name}" for case, code, row in DENIALS],
)
def test_each_denial_is_answered_with_its_error(
    case: Case, code: int, row: tuple[Denial, ...]
) -> None:
    core = guarded_core()
    for kind, name, operation in row:
        deny(core, kind, name, operation)
    assert refused_with(core, case) == {code}
    if len(row) == 1:
        return
    for allowed in row:
        core = guarded_core()
        for kind, name, operation in row:
            if (kind, name, operation) != allowed:
                deny(core, kind, name, operation)
        assert refused_with(core, case) == set(), allowed


def test_a_broker_without_an_authorizer_knows_no_guards() -> None:
    core = Core(topics={"shut": 1})
    assert core.broker.services.authorizer is None
    for case in CASES:
        assert refused_with(core, case) == set() or ALL_SPECS[key_of(case)].name.endswith("Acls")


def test_refused_and_handled_topics_are_in_one_answer() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", OP.WRITE)
    asked = produce.ProduceRequest(None, -1, 1000, [])
    for name in ("open", "shut"):
        asked.topic_data += produce_request(batch(5, 1, NOW), name=name).topic_data
    answer = core.client().call(asked, 9, produce.ProduceResponse)
    told = {one.name: one.partition_responses[0].error_code for one in answer.responses}
    assert told == {"open": 0, "shut": 29}
