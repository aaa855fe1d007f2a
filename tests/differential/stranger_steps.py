"""What Apache Kafka refuses to a client at another address: the APIs that `acl_steps` leaves out.

ACLs deny this and that to whoever comes from `STRANGER`; its requests are compared while all is
allowed, and with each denial. The others come from 127.0.0.1 and set everything up again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.configs import ListConfigResourcesRequest
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribeRequest
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from mockbroker_protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from mockbroker_protocol.messages.quorum import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    RemoveRaftVoterRequest,
    UnregisterBrokerRequest,
    UnregisterControllerRequest,
)
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    DescribeClientQuotasRequest,
    EntityData,
    OpData,
)
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
    UserName,
)
from mockbroker_protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    PushTelemetryRequest,
)
from mockbroker_protocol.messages.transaction_admin import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
    TopicRequest,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from mockbroker_protocol.messages.transactions import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.acl_steps import (
    ALL,
    ALLOW,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_ACTION,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    acl,
    deny,
    forget,
    up,
    wanted,
)
from tests.differential.consumer_group_steps import beat
from tests.differential.feature_steps import TXN, UPGRADE, update
from tests.differential.record_steps import offsets_ready
from tests.differential.steps import ask
from tests.differential.topic_steps import create, settled, topic
from tests.differential.txn_requests import Producer, add, add_offsets, init, learn_producer

if TYPE_CHECKING:
    from tests.differential.steps import Known, Step

STRANGER = "127.0.0.2"
OPEN, SHUT = "far-open", "far-shut"
PARTITIONS = {OPEN: 1, SHUT: 2}
"""They differ in number, so that answers in the order of a hash map can be put in order."""
STORED, JOINED, UNKNOWN = "far-stored", "far-joined", "far-unknown"
ONGOING, FREE = "far-txn", "far-txn-free"
WRITER = Producer(0, txn=ONGOING, learned=ONGOING)
LONG_MS = 900_000


def strange(name: str, versions: int | tuple[int, ...], message: Any, **options: Any) -> list[Step]:
    return ask(f"{name} of a stranger", versions, message, connection=STRANGER, **options)


def cluster_apis() -> list[Step]:
    """What is asked of the cluster as a whole; it changes nothing."""
    parts = [ReassignableTopic(name, [ReassignablePartition(0, None)]) for name in PARTITIONS]
    moves = [ListPartitionReassignmentsTopics(name, [0]) for name in PARTITIONS]
    dirs = [AlterReplicaLogDirTopic(name, [0]) for name in PARTITIONS]
    held = [DescribableLogDirTopic(OPEN, [0])]
    quorum = [
        DescribeQuorumRequestTopicData(
            "__cluster_metadata", [DescribeQuorumRequestPartitionData(0)]
        )
    ]
    entries = [
        AlterClientQuotasRequestEntryData(
            [EntityData("user", user)], [OpData("producer_byte_rate", 1.0, False)]
        )
        for user in ("a", "b")
    ]
    deletion = AlterUserScramCredentialsRequest([ScramCredentialDeletion("nobody", 1)], [])
    return [
        *strange("AddRaftVoter", 0, AddRaftVoterRequest("another", 500, 7)),
        *strange("RemoveRaftVoter", 0, RemoveRaftVoterRequest("another", 7)),
        *strange("AlterClientQuotas", (0, 1), AlterClientQuotasRequest(entries, True)),
        *strange("DescribeClientQuotas", (0, 1), DescribeClientQuotasRequest()),
        *strange("AlterPartitionReassignments", (0, 1), AlterPartitionReassignmentsRequest(
            topics=parts)),
        *strange("ListPartitionReassignments", 0, ListPartitionReassignmentsRequest(1000, moves)),
        *strange("AlterReplicaLogDirs", (1, 2), AlterReplicaLogDirsRequest(
            [AlterReplicaLogDir("/nowhere", dirs)])),
        *strange("DescribeLogDirs", (1, 2, 4), DescribeLogDirsRequest(held)),
        *strange("AlterUserScramCredentials", 0, deletion),
        *strange("DescribeUserScramCredentials", 0, DescribeUserScramCredentialsRequest(
            [UserName("nobody"), UserName("none")])),
        *strange("DescribeQuorum", (0, 1, 2), DescribeQuorumRequest(quorum)),
        *strange("ElectLeaders", (0, 2), ElectLeadersRequest(
            0, [TopicPartitions(name, [0]) for name in PARTITIONS], 1000)),
        *strange("ListConfigResources", (0, 1), ListConfigResourcesRequest([])),
        *strange("UnregisterBroker", 0, UnregisterBrokerRequest(99)),
        *strange("UnregisterController", 0, UnregisterControllerRequest(99)),
        *strange("UpdateFeatures", (0, 1, 2), update((TXN, 2, UPGRADE), validate_only=True)),
        *strange("WriteTxnMarkers", (1, 2), WriteTxnMarkersRequest([WritableTxnMarker(
            12345, 0, False, [WritableTxnMarkerTopic("far-nowhere", [0])])])),
        *open_apis(),
    ]  # fmt: skip


def open_apis() -> list[Step]:
    """What no ACL of a cluster, a topic, a group or a transaction is asked for."""
    return [
        *strange("GetTelemetrySubscriptions", 0, GetTelemetrySubscriptionsRequest()),
        *strange("PushTelemetry", 0, PushTelemetryRequest(metrics=b"m")),
        *strange("CreateDelegationToken", (1, 3), CreateDelegationTokenRequest()),
        *strange("DescribeDelegationToken", (1, 3), DescribeDelegationTokenRequest(None)),
        *strange("RenewDelegationToken", (1, 2), RenewDelegationTokenRequest(b"h", 1)),
        *strange("ExpireDelegationToken", (1, 2), ExpireDelegationTokenRequest(b"h", 1)),
    ]


def group_apis() -> list[Step]:
    """What is asked of groups, and of the topics that they read."""

    def leave(member: str) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(JOINED, member, -1)

    stored = [
        OffsetCommitRequestTopic(name, ZERO_UUID, [OffsetCommitRequestPartition(0, 5, -1, "m")])
        for name in PARTITIONS
    ]
    deletion = [
        OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(index) for index in (0, 9)])
        for name in (*PARTITIONS, "far-nowhere")
    ]
    both = list(PARTITIONS)
    return [
        *ask("OffsetCommit to a far group", 8, OffsetCommitRequest(
            STORED, -1, "", None, -1, stored)),
        *strange("OffsetDelete", 0, OffsetDeleteRequest(STORED, deletion)),
        *ask("a member joins a far group", 1, beat(JOINED, "m", 0, topics=both)),
        *strange("ConsumerGroupDescribe", (0, 1), ConsumerGroupDescribeRequest(
            [UNKNOWN, JOINED], True)),
        *strange("ConsumerGroupHeartbeat", (0, 1), beat(JOINED, "s", 0, topics=both)),
        *strange("ConsumerGroupHeartbeat for the open topic", 1, beat(
            JOINED, "s", 0, topics=[OPEN])),
        *ask("the stranger leaves", 1, leave("s")),
        *ask("a member leaves a far group", 1, leave("m")),
    ]  # fmt: skip


def transaction_apis() -> list[Step]:
    """What is asked of transactions, their topics and their groups."""
    asked = [TopicRequest(name, [0, 9]) for name in PARTITIONS]

    def commit(known: Known) -> TxnOffsetCommitRequest:
        topics = [
            TxnOffsetCommitRequestTopic(
                name, known[f"id of {name}"], [TxnOffsetCommitRequestPartition(0, 7, -1, "n")]
            )
            for name in PARTITIONS
        ]
        return TxnOffsetCommitRequest(
            ONGOING, STORED, WRITER.id(known), WRITER.epoch, -1, "", None, topics
        )

    return [
        *strange("DescribeTransactions", 0, DescribeTransactionsRequest([FREE, ONGOING, "none"])),
        *strange("ListTransactions", (0, 1, 2), ListTransactionsRequest()),
        *strange("TxnOffsetCommit", (0, 3, 5), commit),
        *strange("DescribeProducers", 0, DescribeProducersRequest(asked)),
    ]


def expressions() -> list[Step]:
    """Topics of an expression that who brings its member may not describe."""
    describe = ConsumerGroupDescribeRequest(["far-matched"], True)

    def at(epoch: int) -> Any:
        return lambda answer: answer.groups[0].group_epoch >= epoch

    return [
        *deny(*closed(TOPIC, SHUT, DESCRIBE)),
        *strange("a member with an expression", 1, beat("far-matched", "m", 0, regex="far-.*")),
        *ask("ConsumerGroupDescribe of what is left out", 1, describe, until=at(2)),
        *strange("it gets the open topic", 1, beat("far-matched", "m", 1, owned={})),
        *reopened(TOPIC, SHUT),
        *strange("nothing is looked at again", 1, beat("far-matched", "m", 2)),
        *strange("another with the same", 1, beat("far-matched", "n", 0, regex="far-.*")),
        *ask("ConsumerGroupDescribe when rights are back", 1, describe),
        *ask("one leaves", 1, ConsumerGroupHeartbeatRequest("far-matched", "n", -1)),
        *ask("all leave", 1, ConsumerGroupHeartbeatRequest("far-matched", "m", -1)),
    ]


def closed(kind: int, name: str, operation: int) -> list[Any]:
    """ACLs that deny an operation to the stranger, and all else to nobody."""
    return [
        acl(kind, name, ALL, ALLOW),
        acl(kind, name, operation, DENY, principal="User:*", host=STRANGER),
    ]


def reopened(kind: int, name: str) -> list[Step]:
    return forget(wanted(kind, name, host=STRANGER), wanted(kind, name))


def stranger_steps() -> list[Step]:
    """The script: for a broker where everybody may do what no ACL is about."""
    every = [*cluster_apis(), *group_apis(), *transaction_apis()]
    steps = [
        *ask("CreateTopics", 7, create(*(topic(*each) for each in PARTITIONS.items()))),
        *settled(*PARTITIONS),
        *(step for each in PARTITIONS.items() for step in offsets_ready(*each)),
        *ask("FindCoordinator until it is up", 3, FindCoordinatorRequest(STORED, 0), until=up),
        *ask("FindCoordinator until txns are up", 3, FindCoordinatorRequest(FREE, 1), until=up),
        *ask("InitProducerId of one that does nothing", 4, init(txn=FREE, timeout_ms=LONG_MS),
             until=up),
        *ask("InitProducerId of one that writes", 4, init(txn=ONGOING, timeout_ms=LONG_MS),
             until=up, learn=learn_producer(ONGOING)),
        *ask("AddPartitionsToTxn", 3, add(WRITER, {OPEN: [0], SHUT: [0, 1]})),
        *ask("AddOffsetsToTxn", 3, add_offsets(WRITER, STORED)),
        *every,
    ]  # fmt: skip
    for operation in (ALL, ALTER, ALTER_CONFIGS, DESCRIBE, DESCRIBE_CONFIGS, CLUSTER_ACTION):
        steps += [
            *deny(*closed(CLUSTER, "kafka-cluster", operation)),
            *cluster_apis(),
            *(transaction_apis() if operation == ALL else []),
            *reopened(CLUSTER, "kafka-cluster"),
        ]
    for operation in (ALL, READ, WRITE, DESCRIBE):
        steps += [
            *deny(*closed(TOPIC, SHUT, operation)),
            *group_apis(),
            *transaction_apis(),
            *reopened(TOPIC, SHUT),
        ]
    for name in (STORED, JOINED):
        for operation in (ALL, READ, DESCRIBE, DELETE):
            steps += [
                *deny(*closed(GROUP, name, operation)),
                *group_apis(),
                *(transaction_apis() if name == STORED else []),
                *reopened(GROUP, name),
            ]
    for operation in (ALL, WRITE, DESCRIBE):
        steps += [
            *deny(*closed(TRANSACTIONAL_ID, ONGOING, operation)),
            *transaction_apis(),
            *reopened(TRANSACTIONAL_ID, ONGOING),
        ]
    return [*steps, *expressions(), *every]
