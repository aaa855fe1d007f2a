"""What ACLs decide together: patterns that overlap, denials over what is allowed, hosts.

Sets of ACLs are drawn, always the same ones; under each the same questions are asked from two
addresses. For brokers where everybody may do what no ACL is about.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.acls import DescribeAclsRequest
from mockbroker_protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    DescribeGroupsRequest,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from mockbroker_protocol.messages.metadata import (
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    PageCursor,
    TopicRequest,
)
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mockbroker_protocol.messages.transactions import InitProducerIdRequest
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.acl_steps import (
    ALL,
    ALLOW,
    ALTER_CONFIGS,
    ANY,
    CLUSTER,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    IDEMPOTENT_WRITE,
    LITERAL,
    MATCH,
    ME,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    acl,
    deny,
    forget,
    wanted,
)
from tests.differential.consumer_group_steps import beat
from tests.differential.record_steps import EPOCH_MS, Target, fetch, offsets_ready, produce
from tests.differential.steps import ask
from tests.differential.stranger_steps import STRANGER
from tests.differential.topic_steps import create, settled, topic

if TYPE_CHECKING:
    from mockbroker_protocol.messages.acls import AclCreation
    from tests.differential.steps import Step

TOPICS = {"rule-a": 1, "rule-ab": 2, "rule-abc": 3, "rule-b": 4}
NAMES = list(TOPICS)
PATTERNS = [
    *((name, LITERAL) for name in NAMES),
    *((name, PREFIXED) for name in ("rule-", "rule-a", "rule-ab")),
    ("*", LITERAL),
]
HOSTS = ("*", "*", "127.0.0.1", STRANGER, "10.0.0.1")
OPERATIONS = {
    TOPIC: (ALL, READ, WRITE, DESCRIBE, CREATE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (ALL, READ, DESCRIBE, DELETE),
    TRANSACTIONAL_ID: (ALL, WRITE, DESCRIBE),
}
SETS = 30


def some_rules(rng: Random) -> list[AclCreation]:
    """A few ACLs about the same names."""
    rules = []
    for _ in range(rng.randint(1, 5)):
        kind = rng.choice((TOPIC, TOPIC, TOPIC, GROUP, TRANSACTIONAL_ID))
        name, pattern = rng.choice(PATTERNS)
        rules.append(acl(
            kind, name, rng.choice(OPERATIONS[kind]), rng.choice((DENY, ALLOW)), pattern=pattern,
            principal=rng.choice((ME, ME, "User:*", "User:other")), host=rng.choice(HOSTS),
        ))  # fmt: skip
    if rng.random() < 0.4:
        rules.append(acl(
            CLUSTER, "kafka-cluster", IDEMPOTENT_WRITE,
            principal=rng.choice((ME, "User:*")), host=rng.choice(HOSTS),
        ))  # fmt: skip
    return rules


def some_filter(rng: Random) -> DescribeAclsRequest:
    """Each part open or not; never of the ACL that lets everybody ask."""
    name, _ = rng.choice(PATTERNS)
    return DescribeAclsRequest(*wanted(
        rng.choice((TOPIC, GROUP, TRANSACTIONAL_ID)), rng.choice((None, name, f"{name}x")),
        rng.choice((ANY, ANY, READ, ALL)), pattern=rng.choice((ANY, MATCH, LITERAL, PREFIXED)),
        principal=rng.choice((None, None, ME, "User:*")), host=rng.choice((None, None, STRANGER)),
        permission=rng.choice((ANY, ANY, DENY, ALLOW)),
    ))  # fmt: skip


def questions(rng: Random, connection: str) -> list[Step]:
    """What the rules decide; it changes no more than that records come."""
    every = [MetadataRequestTopic(ZERO_UUID, name) for name in (*NAMES, "rule-none")]
    asked = [TopicRequest(name) for name in (*NAMES, "rule-none")]
    page = DescribeTopicPartitionsRequest(asked, rng.randint(1, 6))
    cursor = PageCursor(rng.choice((*NAMES, "rule-aa", "rule-none")), rng.randrange(3))
    later = DescribeTopicPartitionsRequest(asked, rng.randint(1, 6), cursor)
    some = DescribeTopicPartitionsRequest([], rng.randint(1, 6), PageCursor("rule-", 0))
    data = build_batch([Record(0, EPOCH_MS, b"k", b"v")])
    listed = [ListOffsetsTopic(name, [ListOffsetsPartition(0, -1, -2)]) for name in NAMES]
    purge = [DeleteRecordsTopic(name, [DeleteRecordsPartition(0, 0)]) for name in NAMES]
    resources = [DescribeConfigsResource(2, name, ["retention.ms"]) for name in NAMES]
    stored = [OffsetFetchRequestTopics(name, ZERO_UUID, [0]) for name in NAMES]
    groups = [OffsetFetchRequestGroup(name, None, -1, stored) for name in NAMES]
    new = [topic(name) for name in ("rule-abcd", "rule-c", "other-rule")]

    def put(what: str, version: int, message: Any) -> list[Step]:
        return ask(f"{what} under rules from {connection}", version, message, connection=connection)

    return [
        *put("Metadata with operations", 12, MetadataRequest(every, False, False, True)),
        *put("DescribeTopicPartitions of a page", 0, page),
        *put("DescribeTopicPartitions of a later page", 0, later),
        *put("DescribeTopicPartitions of any", 0, some),
        *put("Produce", 9, produce(Target(rng.choice(NAMES)), data)),
        *put("Fetch", 12, fetch([(Target(name), 0) for name in NAMES])),
        *put("ListOffsets", 5, ListOffsetsRequest(-1, 0, listed, 5000)),
        *put("DeleteRecords", 2, DeleteRecordsRequest(purge, 5000)),
        *put("DescribeConfigs", 4, DescribeConfigsRequest(resources)),
        *put("CreateTopics", 7, create(*new, validate_only=True)),
        *put("DescribeGroups", 6, DescribeGroupsRequest(NAMES, True)),
        *put("OffsetFetch", 8, OffsetFetchRequest(groups=groups)),
        *put("FindCoordinator of groups", 4, FindCoordinatorRequest("", 0, NAMES)),
        *put("FindCoordinator of transactions", 4, FindCoordinatorRequest("", 1, NAMES)),
        *put("InitProducerId", 4, InitProducerIdRequest(None, 60_000, -1, -1)),
        *put("DescribeAcls", 3, some_filter(rng)),
    ]


def expressions() -> list[Step]:
    """Members of a group bring an expression, each of which may describe other topics."""
    group, describe = "rule-matched", ConsumerGroupDescribeRequest(["rule-matched"], True)

    def at(epoch: int) -> Any:
        return lambda answer: answer.groups[0].group_epoch >= epoch

    return [
        *deny(
            acl(TOPIC, "rule-", ALL, ALLOW, pattern=PREFIXED),
            acl(TOPIC, "rule-ab", DESCRIBE, pattern=PREFIXED, principal="User:*", host=STRANGER),
        ),
        *ask("a stranger brings an expression", 1, beat(group, "m", 0, regex="rule-.*"),
             connection=STRANGER),
        *ask("ConsumerGroupDescribe of what it may describe", 1, describe, until=at(2)),
        *ask("a stranger hears what is its", 1, beat(group, "m", 1, owned={}), connection=STRANGER),
        *ask("a stranger leaves", 1, ConsumerGroupHeartbeatRequest(group, "m", -1),
             connection=STRANGER),
        *ask("one brings it who may describe all", 1, beat(group, "n", 0, regex="rule-a.*")),
        *ask("ConsumerGroupDescribe of all that match", 1, describe, until=at(5)),
        *ask("it leaves", 1, ConsumerGroupHeartbeatRequest(group, "n", -1)),
        *forget(wanted(TOPIC)),
    ]  # fmt: skip


def rule_steps() -> list[Step]:
    """The script."""
    rng = Random(19)
    steps = [
        *ask("CreateTopics for rules", 7, create(*(topic(*each) for each in TOPICS.items()))),
        *settled(*NAMES),
        *(step for each in TOPICS.items() for step in offsets_ready(*each)),
        *deny(acl(CLUSTER, "kafka-cluster", ALL, ALLOW, principal="User:*")),
    ]
    for _ in range(SETS):
        steps += [
            *deny(*some_rules(rng)),
            *questions(rng, "main"),
            *questions(rng, STRANGER),
            *forget(
                wanted(TOPIC), wanted(GROUP), wanted(TRANSACTIONAL_ID),
                wanted(CLUSTER, "kafka-cluster", IDEMPOTENT_WRITE),
            ),
        ]  # fmt: skip
    return [*steps, *expressions(), *forget(wanted(CLUSTER, "kafka-cluster"))]
