"""What Apache Kafka lets an unknown client do when there are ACLs, API by API.

For brokers with an authorizer that allows all that no ACL is about: ACLs then deny one thing after
another, and every API that it concerns is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)
from mockbroker_protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from mockbroker_protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    TopicRequest,
)
from mockbroker_protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from mockbroker_protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.record_steps import EPOCH_MS, Target, fetch, offsets_ready, produce
from tests.differential.steps import ask
from tests.differential.topic_steps import create, settled, topic

if TYPE_CHECKING:
    from tests.differential.steps import Known, Step

ANY, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(1, 9)
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = range(9, 13)
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = range(2, 6)
MATCH, LITERAL, PREFIXED = range(2, 5)
DENY, ALLOW = 2, 3
ME = "User:ANONYMOUS"
DENIED = 31


def acl(
    kind: int, name: str, operation: int, permission: int = DENY, *,
    pattern: int = LITERAL, principal: str = ME, host: str = "*",
) -> AclCreation:  # fmt: skip
    return AclCreation(kind, name, pattern, principal, host, operation, permission)


def wanted(
    kind: int = ANY, name: str | None = None, operation: int = ANY, *,
    pattern: int = ANY, principal: str | None = None, host: str | None = None,
    permission: int = ANY,
) -> tuple[int, str | None, int, str | None, str | None, int, int]:  # fmt: skip
    return kind, name, pattern, principal, host, operation, permission


def deny(*acls: AclCreation) -> list[Step]:
    """Create them, and wait until the broker's authorizer knows: Kafka answers before it does."""
    return [*ask("CreateAcls", 3, CreateAclsRequest(list(acls))), *seen(acls[-1])]


def seen(one: AclCreation) -> list[Step]:
    """Waits until the authorizer has this ACL, be it that it denies to ask for it."""
    exactly = wanted(
        one.resource_type, one.resource_name, one.operation,
        pattern=one.resource_pattern_type, principal=one.principal, host=one.host,
        permission=one.permission_type,
    )  # fmt: skip
    return ask(
        "see an ACL", 3, DescribeAclsRequest(*exactly),
        until=lambda answer: answer.error_code == DENIED or answer.resources != [],
    )  # fmt: skip


def forget(*filters: Any) -> list[Step]:
    """Delete them, and wait until the broker's authorizer has none that matches."""
    deletion = DeleteAclsRequest([DeleteAclsFilter(*each) for each in filters])
    return [
        *ask("DeleteAcls", 3, deletion),
        *(step for each in filters for step in ask(
            "see no ACL", 3, DescribeAclsRequest(*each),
            until=lambda answer: answer.error_code == 0 and answer.resources == [])),
    ]  # fmt: skip


def acl_api_steps() -> list[Step]:
    """Creation, filters and deletion themselves, with all that is wrong in them."""
    good = [
        acl(TOPIC, "a", READ, ALLOW),
        acl(TOPIC, "a", READ, DENY, principal="User:x", host="10.0.0.1"),
        acl(TOPIC, "pre", WRITE, ALLOW, pattern=PREFIXED),
        acl(TOPIC, "*", DESCRIBE, ALLOW, principal="User:*"),
        acl(GROUP, "g", ALL, ALLOW, principal="User:y"),
        acl(TOPIC, "a", IDEMPOTENT_WRITE, ALLOW, principal="User:z"),
    ]
    odd = [
        acl(TOPIC, "", READ),
        acl(CLUSTER, "other", READ),
        acl(TOPIC, "a", ANY),
        acl(TOPIC, "a", READ, 1),
        acl(TOPIC, "a", READ, pattern=MATCH),
        acl(ANY, "a", READ),
        acl(TOPIC, "b", READ, principal="nobody"),
    ]
    filters = {
        "all": wanted(),
        "a topic": wanted(TOPIC, "a"),
        "what matches a topic": wanted(TOPIC, "prefix", pattern=MATCH),
        "prefixes": wanted(TOPIC, "pre", pattern=PREFIXED),
        "literals": wanted(TOPIC, None, pattern=LITERAL),
        "a principal": wanted(principal="User:x"),
        "a host": wanted(host="10.0.0.1"),
        "an operation": wanted(operation=READ),
        "denials": wanted(permission=DENY),
        "nothing": wanted(TOPIC, "nowhere"),
        "groups": wanted(GROUP),
    }
    steps = [*ask("CreateAcls of all kinds", (1, 2, 3), CreateAclsRequest(good)), *seen(good[-1])]
    for number, one in enumerate(odd):
        steps += ask(f"CreateAcls that is odd, {number}", (1, 3), CreateAclsRequest([one]))
    for what, each in filters.items():
        steps += ask(f"DescribeAcls: {what}", (1, 3), DescribeAclsRequest(*each))
    steps += ask("DeleteAcls by two filters", 2, DeleteAclsRequest(
        [DeleteAclsFilter(*wanted(TOPIC, "a")), DeleteAclsFilter(*wanted(operation=READ)),
         DeleteAclsFilter(*wanted(TOPIC, "nowhere"))]))  # fmt: skip
    steps += forget(wanted())
    return [*steps, *ask("DescribeAcls of none", 3, DescribeAclsRequest(*wanted()))]


def topic_steps() -> list[Step]:
    """Every API about topics, asked for one that is open and one that may be closed."""
    data = build_batch([Record(0, EPOCH_MS, b"k", b"v")])
    names = ("acl-open", "acl-shut")
    listed = [ListOffsetsTopic(name, [ListOffsetsPartition(0, -1, -1)]) for name in names]
    ends = [OffsetForLeaderTopic(name, [OffsetForLeaderPartition(0, -1, 0)]) for name in names]
    purge = [DeleteRecordsTopic(name, [DeleteRecordsPartition(0, 0)]) for name in names]
    resources = [DescribeConfigsResource(2, name, ["retention.ms"]) for name in names]
    targets = [(Target(name), 0) for name in names]
    altered = [AlterConfigsResource(2, n, [AlterableConfig("retention.ms", "-1")]) for n in names]
    changed = [
        IncrementalAlterConfigsResource(2, n, [IncrementalAlterableConfig("flush.ms", 0, "7")])
        for n in names
    ]

    def named(*, operations: bool = False) -> MetadataRequest:
        asked = [MetadataRequestTopic(ZERO_UUID, name) for name in (*names, "acl-nowhere")]
        return MetadataRequest(asked, False, False, operations)

    def by_id(known: Known) -> object:
        ids = [known[f"id of {name}"] for name in names]
        return MetadataRequest([MetadataRequestTopic(one, None) for one in ids], False)

    pages = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], 100)
    return [
        *ask("Metadata", (4, 9, 12), named()),
        *ask("Metadata with operations", (8, 12), named(operations=True)),
        *ask("Metadata of all", (1, 12), MetadataRequest(None)),
        *ask("Metadata of all in v0", 0, MetadataRequest([])),
        *ask("Metadata by id", 12, by_id),
        *ask("DescribeTopicPartitions", 0, pages),
        *(step for name in names for step in ask(
            f"Produce to {name}", (3, 9, 13), produce(Target(name), data))),
        *ask("Fetch", (4, 12, 13, 18), fetch(targets)),
        *ask("ListOffsets", (1, 11), ListOffsetsRequest(-1, 0, listed, 5000)),
        *ask("OffsetForLeaderEpoch", (2, 4), OffsetForLeaderEpochRequest(-1, ends)),
        *ask("DeleteRecords", 2, DeleteRecordsRequest(purge, 5000)),
        *ask("DescribeConfigs", (1, 4), DescribeConfigsRequest(resources)),
        *ask("AlterConfigs", (0, 2), AlterConfigsRequest(altered, False)),
        *ask("IncrementalAlterConfigs", 1, IncrementalAlterConfigsRequest(changed, True)),
        *ask("CreatePartitions", (0, 3), CreatePartitionsRequest(
            [CreatePartitionsTopic(name, 1, None) for name in names], 5000, True)),
        *ask("CreateTopics", (2, 7), create(
            topic("acl-new"), topic("acl-shut"), validate_only=True)),
    ]  # fmt: skip


def group_steps() -> list[Step]:
    """Every API about groups, for one that may be closed."""
    name = "acl-group"
    protocols = [JoinGroupRequestProtocol("range", b"")]
    join = JoinGroupRequest(name, 6000, 6000, "nobody", None, "consumer", protocols)
    commits = [
        OffsetCommitRequestTopic(each, ZERO_UUID, [OffsetCommitRequestPartition(0, 5, -1, "m")])
        for each in ("acl-open", "acl-shut")
    ]
    old = [OffsetFetchRequestTopic(each, [0]) for each in ("acl-open", "acl-shut")]
    new = [OffsetFetchRequestTopics(each, ZERO_UUID, [0]) for each in ("acl-open", "acl-shut")]
    groups = [OffsetFetchRequestGroup(name, None, -1, new)]
    every = [OffsetFetchRequestGroup(name, None, -1, None)]
    return [
        *ask("JoinGroup", (1, 5, 9), join),
        *ask("SyncGroup", (0, 5), SyncGroupRequest(name, 1, "nobody")),
        *ask("Heartbeat", (0, 4), HeartbeatRequest(name, 1, "nobody")),
        *ask("LeaveGroup", (0, 5), LeaveGroupRequest(name, "x", [MemberIdentity("x", None)])),
        *ask("OffsetCommit", (2, 8), OffsetCommitRequest(name, -1, "", None, -1, commits)),
        *ask("OffsetFetch", (1, 5, 7), OffsetFetchRequest(name, old)),
        *ask("OffsetFetch of all", (2, 7), OffsetFetchRequest(name, None)),
        *ask("OffsetFetch of groups", (8, 9), OffsetFetchRequest(groups=groups)),
        *ask("OffsetFetch of all of groups", 8, OffsetFetchRequest(groups=every)),
        *ask("DescribeGroups", (0, 3, 6), DescribeGroupsRequest(["acl-free", name], True)),
        *ask("ListGroups", (0, 5), ListGroupsRequest()),
        *ask("FindCoordinator", (1, 3), FindCoordinatorRequest(name, 0)),
        *ask("FindCoordinator of several", (4, 6), FindCoordinatorRequest(
            "", 0, ["acl-free", name])),
    ]  # fmt: skip


def transaction_steps() -> list[Step]:
    """Every API about transactions, and the way to a producer id."""
    topics = [AddPartitionsToTxnTopic(name, [0, 9]) for name in ("acl-open", "acl-shut")]
    return [
        *ask("InitProducerId", (0, 5), InitProducerIdRequest("acl-txn", 60_000, -1, -1)),
        *ask("AddPartitionsToTxn", (0, 3), AddPartitionsToTxnRequest([], "acl-txn", 1, 0, topics)),
        *ask("AddOffsetsToTxn", (0, 4), AddOffsetsToTxnRequest("acl-txn", 1, 0, "acl-group")),
        *ask("EndTxn", (0, 5), EndTxnRequest("acl-txn", 1, 0, True)),
        *ask("FindCoordinator of a transaction", (1, 4), FindCoordinatorRequest(
            "acl-txn", 1, ["acl-txn"])),
    ]  # fmt: skip


def cluster_steps() -> list[Step]:
    broker = [DescribeConfigsResource(4, "1", ["node.id"])]
    return [
        *ask("DescribeCluster", (0, 1), DescribeClusterRequest(True)),
        *ask("DescribeConfigs of a broker", 4, DescribeConfigsRequest(broker)),
        *ask("DescribeAcls", 3, DescribeAclsRequest(*wanted(GROUP, "nothing"))),
        *ask("InitProducerId without an id", 4, InitProducerIdRequest(None, 60_000, -1, -1)),
        *ask("ListGroups by cluster", 5, ListGroupsRequest()),
        *ask("Metadata with cluster operations", (8, 10), MetadataRequest([], False, True)),
    ]


def up(answer: Any) -> bool:
    return bool(answer.error_code not in (14, 15, 16))


def other_denials() -> list[Step]:
    """Groups, transactional ids and the cluster, one operation after another."""
    steps: list[Step] = []
    for operation in (ALL, READ, DESCRIBE, DELETE):
        steps += [
            *deny(acl(GROUP, "acl-group", ALL, ALLOW), acl(GROUP, "acl-group", operation)),
            *group_steps(),
            *transaction_steps(),
            *ask("DeleteGroups", 2, DeleteGroupsRequest(["acl-free", "acl-group"])),
            *forget(wanted(GROUP)),
        ]
    for operation in (WRITE, DESCRIBE):
        steps += [
            *deny(acl(TRANSACTIONAL_ID, "acl", operation, pattern=PREFIXED)),
            *transaction_steps(),
            *forget(wanted(TRANSACTIONAL_ID)),
        ]
    for operation in (DESCRIBE, CREATE, DESCRIBE_CONFIGS, IDEMPOTENT_WRITE):
        steps += [
            *deny(acl(CLUSTER, "kafka-cluster", operation)),
            *cluster_steps(),
            *group_steps(),
            *ask("CreateTopics in the cluster", 7, create(topic("acl-new"), validate_only=True)),
            *forget(wanted(CLUSTER, "kafka-cluster", operation)),
        ]
    return steps


def authorizer_steps() -> list[Step]:
    """The script: the same questions again and again, while ACLs come and go."""
    shut = "acl-shut"

    def with_session(step: str, epoch: int, targets: list[tuple[Target, int]]) -> list[Step]:
        def learn(known: Known, answer: Any) -> None:
            known["acl session"] = answer.session_id

        session: Any = (0, 0) if epoch == 0 else ("acl session", epoch)
        asked = fetch(targets, session=session)
        return ask(f"Fetch session {step}", 12, asked, learn=learn if epoch == 0 else None)

    both = [(Target("acl-open"), 0), (Target(shut), 0)]
    steps = [
        *ask("CreateTopics", 7, create(topic("acl-open"), topic(shut))),
        *settled("acl-open", shut),
        *offsets_ready("acl-open", 1),
        *offsets_ready(shut, 1),
        *ask("FindCoordinator until it is up", 3, FindCoordinatorRequest("acl-group", 0), until=up),
        *ask("FindCoordinator until txns are up", 3, FindCoordinatorRequest("t", 1), until=up),
        *ask("InitProducerId until it is up", 4, InitProducerIdRequest(None, 1, -1, -1), until=up),
        # While the group's partition loads, Kafka answers 0 (GroupCoordinatorService.heartbeat).
        *ask("Heartbeat until it is up", 4, HeartbeatRequest("acl-group", 1, "x"),
             until=lambda answer: answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID),
        *ask("InitProducerId until a txn is up", 4, InitProducerIdRequest(
            "warm", 60_000, -1, -1), until=up),
        *acl_api_steps(),
        *deny(acl(CLUSTER, "kafka-cluster", ALL, ALLOW)),
        *deny(acl(TOPIC, "acl-open", ALL, ALLOW)),
    ]  # fmt: skip
    for operation in (ALL, READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS):
        steps += [
            *with_session("opened", 0, both),
            *deny(acl(TOPIC, shut, ALL, ALLOW), acl(TOPIC, shut, operation)),
            *with_session(f"with {operation} denied", 1, []),
            *topic_steps(),
            *group_steps(),
            *transaction_steps(),
            *forget(wanted(TOPIC, shut)),
            *with_session("open again", 2, []),
        ]
    for allowed in (READ, WRITE, ALTER_CONFIGS):
        steps += [
            *deny(acl(TOPIC, "acl-sh", allowed, ALLOW, pattern=PREFIXED)),
            *topic_steps(),
            *forget(wanted(TOPIC, "acl-sh")),
        ]
    steps += other_denials()
    by_id = DeleteTopicsRequest([], [shut, "acl-nowhere"], 5000)

    def delete_by_id(known: Known) -> object:
        return DeleteTopicsRequest([DeleteTopicState(None, known[f"id of {shut}"])], [], 5000)

    return [
        *steps,
        *deny(acl(TOPIC, shut, DESCRIBE, ALLOW)),
        *ask("DeleteTopics", (1, 5), by_id),
        *ask("DeleteTopics by id", 6, delete_by_id),
        *forget(wanted(TOPIC, shut)),
        *deny(acl(TOPIC, shut, READ, ALLOW, principal="User:other")),
        *ask("DeleteTopics by id, hidden", 6, delete_by_id),
        *ask("Metadata of what is hidden", 12, MetadataRequest(None)),
        *forget(wanted(TOPIC)),
        *ask("DescribeAcls in the end", 3, DescribeAclsRequest(*wanted())),
    ]
