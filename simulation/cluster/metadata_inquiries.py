"""What the simulation asks brokers about metadata: topics, brokers, log directories, the quorum.

Each function asks `Asker.node` one question and compares the answer with that broker's store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from mockbroker.metadata.authorized_operations import (
    CLUSTER_OPERATIONS,
    NOT_ASKED,
    TOPIC_OPERATIONS,
)
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.configs import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from mockbroker_protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from mockbroker_protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    PageCursor,
    TopicRequest,
)
from mockbroker_protocol.messages.quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
)
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.apis.context import Services
    from mockbroker.metadata.store import MetadataStore
    from simulation.cluster.plan import ClusterPlan

T = TypeVar("T")
NOBODY: Final = "a9"
BAD_NAME: Final = "a name"
NOBODYS_ID: Final = bytes(15) + b"\x09"
CONTROLLERS: Final = 2


class Asker(Protocol):
    """Whoever asks."""

    name: str
    rng: Random
    node: int
    plan: ClusterPlan
    parts: list[tuple[str, int]]

    @property
    def services(self) -> Services: ...

    def inquire(self, request: object, version: int, kind: type[T]) -> T:
        """The answer of the broker that is asked at the moment."""

    def expect(self, what: str, told: object, wanted: object) -> None:
        """It is a violation if they differ."""


def _partitions(store: MetadataStore, name: str, *, has_errors: bool = True) -> list[object]:
    """What is told of each partition of a topic."""
    alive = {broker.node_id for broker in store.alive_brokers()}
    told: list[object] = []
    for index, state in enumerate(store.topics[name].partitions):
        leads = state.leader in alive
        error = 0 if leads or not has_errors else ErrorCode.LEADER_NOT_AVAILABLE
        leader = state.leader if leads else -1
        offline = [node for node in state.replicas if node not in alive]
        told.append((error, index, leader, list(state.replicas), list(state.isr), offline))
    return told


def _told(answer: MetadataResponse, version: int) -> dict[str, list[object]]:
    return {
        topic.name or "": [
            (
                one.error_code,
                one.partition_index,
                one.leader_id,
                one.replica_nodes,
                one.isr_nodes,
                one.offline_replicas if version >= 5 else None,
            )
            for one in topic.partitions
        ]
        for topic in answer.topics
        if not topic.error_code
    }


def _wanted(store: MetadataStore, names: list[str], version: int) -> dict[str, list[object]]:
    return {
        name: [
            (*one[:5], one[5] if version >= 5 else None)  # type: ignore[index]
            for one in _partitions(store, name)
        ]
        for name in names
    }


def all_topics(asker: Asker) -> None:
    """Metadata of everything, with what its asker may do."""
    store, version = asker.services.metadata, asker.rng.randrange(14)
    asks = version >= 8 and asker.rng.random() < 0.5
    request = MetadataRequest([] if version == 0 else None)
    request.include_topic_authorized_operations = asks
    request.include_cluster_authorized_operations = asks and version <= 10
    answer = asker.inquire(request, version, MetadataResponse)
    asker.expect("what is told", _told(answer, version), _wanted(store, [*store.topics], version))
    alive = [each.node_id for each in store.alive_brokers()]
    asker.expect("who is alive", [each.node_id for each in answer.brokers], alive)
    if version >= 2:
        asker.expect("the cluster", answer.cluster_id, store.cluster_id)
    if version >= 10:
        ids = {topic.name: topic.topic_id for topic in answer.topics}
        asker.expect("ids", ids, {topic.name: topic.id for topic in store.topics.values()})
    if 8 <= version <= 10:
        of_cluster = CLUSTER_OPERATIONS if asks else NOT_ASKED
        asker.expect("operations", answer.cluster_authorized_operations, of_cluster)
    if asks:
        first = asker.parts[0][0]
        for topic in answer.topics:
            if topic.name == first:
                asker.expect("operations", topic.topic_authorized_operations, TOPIC_OPERATIONS)


def topics_by_name(asker: Asker) -> None:
    """Metadata of some, one that there is not, and one that there cannot be."""
    store, version = asker.services.metadata, asker.rng.randrange(4, 14)
    names = [name for name in store.topics if asker.rng.random() < 0.5]
    asked = [*names, NOBODY, BAD_NAME]
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in (*asked, *asked)])
    request.allow_auto_topic_creation = False
    answer = asker.inquire(request, version, MetadataResponse)
    errors = {topic.name: topic.error_code for topic in answer.topics}
    wanted = dict.fromkeys(names, 0) | {
        NOBODY: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        BAD_NAME: ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    asker.expect("the errors", errors, wanted)
    asker.expect("how many", len(answer.topics), len(asked))
    asker.expect("what is told", _told(answer, version), _wanted(store, names, version))


def topics_by_id(asker: Asker) -> None:
    """Metadata by ids; ids that say nothing are refused, by version."""
    store, rng = asker.services.metadata, asker.rng
    version = rng.randrange(10, 14)
    names = [name for name in store.topics if rng.random() < 0.5]
    ids = [store.topics[name].id for name in names]
    if version >= 12 and rng.random() < 0.7:
        asked = [MetadataRequestTopic(each, None) for each in (NOBODYS_ID, *ids)]
        answer = asker.inquire(MetadataRequest(asked), version, MetadataResponse)
        asker.expect("what is told", _told(answer, version), _wanted(store, names, version))
        unknown = [each.topic_id for each in answer.topics if each.error_code]
        asker.expect("unknown ids", unknown, [NOBODYS_ID])
        return
    bad = MetadataRequestTopic(ZERO_UUID if version >= 12 else NOBODYS_ID, None)
    answer = asker.inquire(MetadataRequest([bad]), version, MetadataResponse)
    error = ErrorCode.UNKNOWN_SERVER_ERROR if version >= 12 else ErrorCode.INVALID_REQUEST
    asker.expect("the errors", [each.error_code for each in answer.topics], [error])
    asker.expect("brokers", answer.brokers, [])


def brokers(asker: Asker) -> None:
    """DescribeCluster, also of endpoints that there are not here."""
    store, rng = asker.services.metadata, asker.rng
    version = rng.randrange(3)
    request = DescribeClusterRequest(rng.random() < 0.5)
    request.endpoint_type = rng.choice((1, 1, 1, CONTROLLERS, 9)) if version else 1
    request.include_fenced_brokers = version == 2 and rng.random() < 0.5
    answer = asker.inquire(request, version, DescribeClusterResponse)
    error = {1: 0, CONTROLLERS: ErrorCode.MISMATCHED_ENDPOINT_TYPE}.get(
        request.endpoint_type, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    )
    asker.expect("the error", answer.error_code, error)
    if error:
        asker.expect("brokers", answer.brokers, [])
        return
    told = [(each.broker_id, each.rack, each.is_fenced) for each in answer.brokers]
    wanted = [
        (each.node_id, each.rack, each.fenced and version == 2)
        for _, each in sorted(store.brokers.items())
        if request.include_fenced_brokers or not each.fenced
    ]
    asker.expect("brokers", told, wanted)
    asked = request.include_cluster_authorized_operations
    operations = CLUSTER_OPERATIONS if asked else NOT_ASKED
    asker.expect("operations", answer.cluster_authorized_operations, operations)


def page(asker: Asker) -> None:
    """A page of DescribeTopicPartitions from somewhere on."""
    store, rng = asker.services.metadata, asker.rng
    names = [name for name in store.topics if rng.random() < 0.7] + [NOBODY]
    if rng.random() < 0.5:
        names = []
    cursor = None
    if rng.random() < 0.7:
        chosen = rng.choice(sorted(names or store.topics) or [NOBODY])
        cursor = PageCursor(chosen, rng.choice((0, 0, 1, -1)))
        if names and rng.random() < 0.2:
            cursor.topic_name = "z"
    limit = rng.choice((1, 2, 100))
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, cursor)
    answer = asker.inquire(request, 0, DescribeTopicPartitionsResponse)
    if cursor is not None and (cursor.partition_index < 0 or (names and cursor.topic_name == "z")):
        errors = {each.error_code for each in answer.topics}
        asker.expect("the error", errors, {ErrorCode.INVALID_REQUEST} if names else set())
        return
    wanted: list[object] = []
    next_name, left = None, limit
    for name in sorted(names or store.topics):
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if cursor is not None and name < cursor.topic_name:
            continue
        if not left:
            next_name = name, 0
            break
        if name not in store.topics:
            wanted.append((name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []))
            continue
        found = _partitions(store, name, has_errors=False)
        shown = found[first : first + left]
        wanted.append((name, 0, shown))
        if first + len(shown) < len(found):
            next_name = name, first + len(shown)
            break
        left -= len(shown)
    told = [
        (
            topic.name,
            topic.error_code,
            [
                (
                    one.error_code,
                    one.partition_index,
                    one.leader_id,
                    one.replica_nodes,
                    one.isr_nodes,
                    one.offline_replicas,
                )
                for one in topic.partitions
            ],
        )
        for topic in answer.topics
    ]
    asker.expect("the page", told, wanted)
    follows = answer.next_cursor
    told_next = None if follows is None else (follows.topic_name, follows.partition_index)
    asker.expect("the cursor", told_next, next_name)


def versions(asker: Asker) -> None:
    """ApiVersions: what is served, features, and who is at the wrong address."""
    services, rng = asker.services, asker.rng
    version = rng.randrange(6)
    request = ApiVersionsRequest("simulation", "1")
    error: int = ErrorCode.NONE
    if version >= 3 and rng.random() < 0.3:
        request.client_software_name = rng.choice(("", "-x", "é", "a b"))
        error = ErrorCode.INVALID_REQUEST
    elif version == 5 and rng.random() < 0.7:
        request.cluster_id = rng.choice((services.metadata.cluster_id, "another", None))
        request.node_id = rng.choice((asker.node, 77))
        if request.cluster_id is None:
            error = ErrorCode.INVALID_REQUEST
        elif (request.cluster_id, request.node_id) != (services.metadata.cluster_id, asker.node):
            error = ErrorCode.REBOOTSTRAP_REQUIRED
    answer = asker.inquire(request, version, ApiVersionsResponse)
    asker.expect("the error", answer.error_code, error)
    told = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    hidden = (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY)
    served = {} if error else dict(services.registry.advertised().items())
    wanted = {
        int(key): (each.min_version, each.max_version)
        for key, each in served.items()
        if key not in hidden
    }
    asker.expect("what is served", told, wanted)


def log_dirs(asker: Asker) -> None:
    """DescribeLogDirs of all that a broker has, or of some of it."""
    rng, replicas = asker.rng, asker.services.replicas
    wanted = None
    if rng.random() < 0.5:
        wanted = [(NOBODY, 0), rng.choice(asker.parts)]
    topics = None
    if wanted is not None:
        topics = [DescribableLogDirTopic(name, [index]) for name, index in wanted]
    answer = asker.inquire(
        DescribeLogDirsRequest(topics), rng.randrange(1, 6), DescribeLogDirsResponse
    )
    asker.expect("the directories", {one.log_dir for one in answer.results}, {*_paths(asker)})
    told = {
        (topic.name, one.partition_index): one.partition_size
        for directory in answer.results
        for topic in directory.topics
        for one in topic.partitions
    }
    there = {
        (each.topic, each.index): 0 if each.log is None else each.log.size_bytes
        for each in replicas.all_partitions()
    }
    if wanted is not None:
        there = {part: size for part, size in there.items() if part in wanted}
    asker.expect("the sizes", told, there)


def _paths(asker: Asker) -> tuple[str, ...]:
    return asker.services.replicas.log_dirs.paths


def move_log_dir(asker: Asker) -> None:
    """AlterReplicaLogDirs to where a replica is, to nowhere, and of one that there is not."""
    rng = asker.rng
    name, index = part = rng.choice([*asker.parts, (NOBODY, 0)])
    path = rng.choice((_paths(asker)[0], "/nowhere"))
    request = AlterReplicaLogDirsRequest(
        [AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(name, [index])])]
    )
    answer = asker.inquire(request, rng.randrange(1, 3), AlterReplicaLogDirsResponse)
    error: int = ErrorCode.NONE
    if path == "/nowhere":
        error = ErrorCode.LOG_DIR_NOT_FOUND
    elif asker.services.replicas.partition(*part) is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    asker.expect("the error", answer.results[0].partitions[0].error_code, error)


def resources(asker: Asker) -> None:
    """ListConfigResources of some types."""
    services, rng = asker.services, asker.rng
    store = services.metadata
    types = rng.sample((2, 4, 8, 16, 32), rng.randint(1, 3))
    answer = asker.inquire(ListConfigResourcesRequest(types), 1, ListConfigResourcesResponse)
    told = {(each.resource_type, each.resource_name) for each in answer.config_resources}
    nodes = {str(each.node_id) for each in store.alive_brokers()}
    there = {
        2: set(store.topics),
        4: nodes,
        8: nodes,
        16: set(store.resource_configs[16]),
        32: set(store.resource_configs[32]),
    }
    asker.expect("the types", {kind for kind, _ in told} <= set(types), True)
    for kind in {2, 16} & set(types):
        asker.expect(f"type {kind}", {name for of, name in told if of == kind}, there[kind])


def quorum(asker: Asker) -> None:
    """DescribeQuorum: all brokers hold images of the controller's store; of another log none."""
    services, rng = asker.services, asker.rng
    name = rng.choice(("__cluster_metadata", NOBODY))
    data = DescribeQuorumRequestTopicData(name, [DescribeQuorumRequestPartitionData(0)])
    answer = asker.inquire(DescribeQuorumRequest([data]), rng.randrange(3), DescribeQuorumResponse)
    told = answer.topics[0].partitions[0]
    if name == NOBODY:
        asker.expect("the error", told.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return
    if services.quorum is not None:
        log = services.quorum
        end = -1 if log.high_watermark is None else log.high_watermark
        asker.expect("what is committed", told.high_watermark, end)
        followers = {each.replica_id for each in log.observers.current()}
        voters = [each.replica_id for each in told.current_voters]
        asker.expect("the voters", voters, [log.leader_id])
        asker.expect("observers", {each.replica_id for each in told.observers}, followers)
        return
    heard = services.metadata_progress()
    asker.expect("the leader", told.leader_id, services.controller_id)
    asker.expect("the end", told.high_watermark, max(heard.values()))
    members = {each.replica_id for each in (*told.current_voters, *told.observers)}
    asker.expect("the members", members, set(heard))


METADATA_INQUIRIES: Final[tuple[Callable[[Asker], None], ...]] = (
    all_topics,
    topics_by_name,
    topics_by_id,
    brokers,
    page,
    versions,
    log_dirs,
    move_log_dir,
    resources,
    quorum,
)
