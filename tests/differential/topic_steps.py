"""Topics from birth to death: ApiVersions, Metadata, DescribeCluster, configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from mockbroker_protocol.messages.metadata import (
    DescribeClusterRequest,
    MetadataRequest,
    MetadataRequestTopic,
)
from mockbroker_protocol.messages.quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from mockbroker_protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.steps import ask
from tests.differential.wire import Raw

if TYPE_CHECKING:
    from tests.differential.steps import Known, Step

UNKNOWN_ID = bytes(range(16))
TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE = 2, 4, 8
API_VERSIONS, METADATA = 18, 3


def create(*topics: CreatableTopic, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(list(topics), 10_000, validate_only)


def topic(
    name: str, partitions: int = 1, replication_factor: int = 1, **configs: str | None
) -> CreatableTopic:
    pairs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    return CreatableTopic(name, partitions, replication_factor, [], pairs)


def assigned(name: str, *brokers: list[int], first: int = 0) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(index, ids) for index, ids in enumerate(brokers, start=first)
    ]
    return CreatableTopic(name, -1, -1, assignments, [])


def metadata(*names: str, create_missing: bool = False) -> MetadataRequest:
    topics = [MetadataRequestTopic(ZERO_UUID, name) for name in names]
    return MetadataRequest(topics, create_missing)


def settled(*names: str) -> list[Step]:
    """Waits until the broker leads all partitions, and learns the topics' ids."""

    def until(answer: Any) -> bool:
        return all(
            found.error_code == 0 and all(part.error_code == 0 for part in found.partitions)
            for found in answer.topics
        )

    def learn(known: Known, answer: Any) -> None:
        for found in answer.topics:
            known[f"id of {found.name}"] = found.topic_id

    return ask(f"see {', '.join(names)}", 12, metadata(*names), until=until, learn=learn)


def gone(name: str) -> list[Step]:
    return ask(
        f"see {name} gone",
        12,
        metadata(name),
        until=lambda answer: answer.topics[0].error_code == 3,
    )


def api_versions_steps() -> list[Step]:
    software = ApiVersionsRequest("differential", "1.0")
    return [
        *ask("ApiVersions", range(5), software),
        *ask("ApiVersions without software", (3, 4), ApiVersionsRequest("", "")),
        *ask("ApiVersions with odd software", (3, 4), ApiVersionsRequest("a b", "?")),
        # KIP-511: a version from the future is answered in version 0 with the range.
        *ask("ApiVersions from the future", 9, Raw(API_VERSIONS, b"\x00\x00")),
        *ask("ApiVersions after it", 0, ApiVersionsRequest("", "")),
    ]


def create_steps() -> list[Step]:
    steps = []
    for version in range(2, 8):
        steps += ask("CreateTopics", version, create(topic(f"made-v{version}", 2)))
    steps += [
        *ask("CreateTopics once more", (2, 7), create(topic("made-v2", 2))),
        *ask("CreateTopics validate only", (4, 7), create(topic("never"), validate_only=True)),
        *ask("CreateTopics of none", (5, 7), create()),
        *ask("CreateTopics twice in one", 7, create(topic("twin"), topic("twin"))),
        *ask("CreateTopics mixed", 7, create(topic("made-mixed"), topic("made-v2"), topic("b@d"))),
        *ask("CreateTopics with configs", 5, create(
            topic("made-configs", 1, cleanup_policy="compact", retention_ms="1000"))),
        *ask("CreateTopics by default counts", (4, 7), create(
            topic("never", -1, -1), validate_only=True)),
        *ask("CreateTopics assigned", 7, create(assigned("made-assigned", [1], [1], [1]))),
    ]  # fmt: skip
    bad = {
        "no partitions": topic("bad", 0),
        "negative partitions": topic("bad", -2),
        "no replicas": topic("bad", 1, 0),
        "negative replicas": topic("bad", 1, -2),
        "too many replicas": topic("bad", 1, 3),
        "empty name": topic(""),
        "dot": topic("."),
        "dots": topic(".."),
        "odd name": topic("b d"),
        "long name": topic("n" * 250),
        "colliding name": topic("made_v2"),
        "unknown config": topic("bad", 1, 1, no_such_config="1"),
        "bad config": topic("bad", 1, 1, retention_ms="soon"),
        "bad config choice": topic("bad", 1, 1, cleanup_policy="shred"),
        "null config": topic("bad", 1, 1, retention_ms=None),
        "unknown broker": assigned("bad", [7]),
        "broker twice": assigned("bad", [1, 1]),
        "no broker": assigned("bad", []),
        "gap in partitions": assigned("bad", [1], first=1),
        "uneven replicas": assigned("bad", [1], [1, 7]),
        "counts and assignment": CreatableTopic(
            "bad", 2, 1, [CreatableReplicaAssignment(0, [1])], []
        ),
    }
    for what, bad_topic in bad.items():
        steps += ask(f"CreateTopics with {what}", 7, create(bad_topic))
    steps += ask("CreateTopics with no partitions", 2, create(topic("bad", 0)))
    return [*steps, *settled("made-v2", "made-v7", "made-configs", "made-assigned")]


def create_partitions_steps() -> list[Step]:
    def grow(
        name: str, count: int, *brokers: list[int], validate_only: bool = False
    ) -> CreatePartitionsRequest:
        lists = [CreatePartitionsAssignment(ids) for ids in brokers] or None
        return CreatePartitionsRequest(
            [CreatePartitionsTopic(name, count, lists)], 10_000, validate_only
        )

    twice = [CreatePartitionsTopic("made-v2", 9, None), CreatePartitionsTopic("made-v2", 9, None)]
    steps = [
        step
        for version in range(4)
        for step in ask("CreatePartitions", version, grow("made-v3", 3 + version))
    ]
    return [
        *steps,
        *ask("CreatePartitions, same", 3, grow("made-v2", 2)),
        *ask("CreatePartitions, fewer", (0, 3), grow("made-v2", 1)),
        *ask("CreatePartitions, none", 3, grow("made-v2", 0)),
        *ask("CreatePartitions, negative", 3, grow("made-v2", -1)),
        *ask("CreatePartitions of an unknown topic", (0, 3), grow("nowhere", 3)),
        *ask("CreatePartitions validate only", 3, grow("made-v2", 5, validate_only=True)),
        *ask("CreatePartitions assigned", 3, grow("made-v4", 4, [1], [1])),
        *ask("CreatePartitions assigned short", 3, grow("made-v2", 5, [1])),
        *ask("CreatePartitions to an unknown broker", 3, grow("made-v2", 3, [9])),
        *ask("CreatePartitions to no broker", 3, grow("made-v2", 3, [])),
        *ask("CreatePartitions, broker twice", 3, grow("made-v2", 3, [1, 1])),
        *ask("CreatePartitions twice in one", 3, CreatePartitionsRequest(twice, 10_000, False)),
        *ask("see made-v3", 12, metadata("made-v3"),
             until=lambda answer: len(answer.topics[0].partitions) == 6),
    ]  # fmt: skip


def metadata_steps() -> list[Step]:
    def by_id(known: Known) -> MetadataRequest:
        return MetadataRequest([MetadataRequestTopic(known["id of made-v7"], None)], False)

    authorized = MetadataRequest([], False, True, True)
    unknown_id = MetadataRequest([MetadataRequestTopic(UNKNOWN_ID, None)], False)
    zero_id = MetadataRequest([MetadataRequestTopic(ZERO_UUID, None)], False)
    named_and_id = MetadataRequest([MetadataRequestTopic(UNKNOWN_ID, "made-v2")], False)
    return [
        *ask("Metadata", range(14), metadata("made-v2", "made-v7")),
        *ask("Metadata of nothing", range(1, 14, 4), MetadataRequest([], False)),
        *ask("Metadata of all", (0, 1, 4, 9, 12, 13), lambda known: MetadataRequest(None, False)),
        *ask("Metadata of an unknown topic", (4, 9, 12, 13), metadata("nowhere")),
        *ask("Metadata of bad names", (4, 12), metadata("b@d", "")),
        *ask("Metadata of a topic twice", (4, 12), metadata("made-v2", "made-v2")),
        *ask("Metadata by id", (10, 12, 13), by_id),
        *ask("Metadata by unknown id", (10, 12, 13), unknown_id),
        *ask("Metadata by no id", (12, 13), zero_id),
        *ask("Metadata by name and id", (10, 12, 13), named_and_id),
        *ask("Metadata with operations", (8, 10), authorized),
        *ask("Metadata creates", 4, metadata("made-by-asking", create_missing=True),
             until=lambda answer: answer.topics[0].error_code == 0),
        *ask("DescribeCluster", range(3), DescribeClusterRequest(True)),
        *ask("DescribeCluster without operations", 1, DescribeClusterRequest(False)),
        *ask("DescribeCluster of controllers", (1, 2), DescribeClusterRequest(False, 2)),
        *ask("DescribeCluster of nonsense", (1, 2), DescribeClusterRequest(False, 9)),
        *ask("DescribeQuorum", range(3), quorum(("__cluster_metadata", [0]))),
        *ask("DescribeQuorum of nothing", range(3), quorum()),
        *ask("DescribeQuorum of another topic", range(3), quorum(("other", [0, 3]))),
        *ask("DescribeQuorum of another partition", 1, quorum(("__cluster_metadata", [1]))),
        *ask("DescribeQuorum of too much", 1, quorum(("__cluster_metadata", [0, 1]))),
    ]  # fmt: skip


def quorum(*topics: tuple[str, list[int]]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        [
            DescribeQuorumRequestTopicData(
                name, [DescribeQuorumRequestPartitionData(index) for index in indexes]
            )
            for name, indexes in topics
        ]
    )


def configs_steps() -> list[Step]:
    def describe(
        kind: int, name: str, *keys: str, synonyms: bool = False, documented: bool = False
    ) -> DescribeConfigsRequest:
        resource = DescribeConfigsResource(kind, name, list(keys) or None)
        return DescribeConfigsRequest([resource], synonyms, documented)

    keys = ("retention.ms", "cleanup.policy", "compression.type")
    broker_keys = ("log.retention.ms", "num.partitions", "log.segment.bytes", "node.id")
    return [
        *ask("DescribeConfigs", range(1, 5), describe(TOPIC_RESOURCE, "made-configs")),
        *ask("DescribeConfigs with synonyms", (1, 4), describe(
            TOPIC_RESOURCE, "made-configs", synonyms=True)),
        *ask("DescribeConfigs of keys", (1, 3, 4), describe(
            TOPIC_RESOURCE, "made-v2", *keys, synonyms=True)),
        *ask("DescribeConfigs of unknown keys", 4, describe(TOPIC_RESOURCE, "made-v2", "nothing")),
        *ask("DescribeConfigs of an unknown topic", (1, 4), describe(TOPIC_RESOURCE, "nowhere")),
        *ask("DescribeConfigs of a bad topic", 4, describe(TOPIC_RESOURCE, "b@d")),
        *ask("DescribeConfigs of no topic", 4, describe(TOPIC_RESOURCE, "")),
        *ask("DescribeConfigs documented", 4, describe(
            TOPIC_RESOURCE, "made-v2", "retention.ms", documented=True)),
        *ask("DescribeConfigs of the broker", (1, 4), describe(
            BROKER_RESOURCE, "1", *broker_keys, synonyms=True)),
        *ask("DescribeConfigs of all brokers", 4, describe(BROKER_RESOURCE, "", *broker_keys)),
        *ask("DescribeConfigs of another broker", 4, describe(BROKER_RESOURCE, "7")),
        *ask("DescribeConfigs of a named broker", 4, describe(BROKER_RESOURCE, "one")),
        *ask("DescribeConfigs of nonsense", 4, describe(99, "made-v2")),
        *ask("DescribeConfigs of nothing", 4, DescribeConfigsRequest([], False, False)),
    ]  # fmt: skip


def delete_steps() -> list[Step]:
    def by_name(*names: str) -> DeleteTopicsRequest:
        return DeleteTopicsRequest([], list(names), 10_000)

    def state(name: str | None, topic_id: bytes = ZERO_UUID) -> DeleteTopicsRequest:
        return DeleteTopicsRequest([DeleteTopicState(name, topic_id)], [], 10_000)

    def by_id(known: Known) -> DeleteTopicsRequest:
        return state(None, known["id of made-v7"])

    steps = []
    for version in range(1, 6):
        steps += ask("DeleteTopics", version, by_name(f"made-v{version + 1}"))
    return [
        *steps,
        *ask("DeleteTopics of an unknown one", (1, 5), by_name("nowhere")),
        *ask("DeleteTopics of none", (1, 5), by_name()),
        *ask("DeleteTopics twice in one", (4, 5), by_name("made-mixed", "made-mixed")),
        *ask("DeleteTopics by id", 6, by_id),
        *ask("DeleteTopics by a gone id", 6, by_id),
        *ask("DeleteTopics by unknown id", 6, state(None, UNKNOWN_ID)),
        *ask("DeleteTopics by no id", 6, state(None)),
        *ask("DeleteTopics by name and id", 6, state("made-assigned", UNKNOWN_ID)),
        *ask("DeleteTopics by name", 6, state("made-assigned")),
        *gone("made-v2"),
        *gone("made-assigned"),
    ]
