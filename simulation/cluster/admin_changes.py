"""What the simulation's admins may ask for: changes of the metadata, and what must be refused.

A `Change` is one request about one subject, with the error that Apache Kafka answers it with. The
functions are its makers; each is drawn by `ClusterAdmin`. Those of `REFUSALS` change nothing,
whatever the state of the cluster is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.store import (
    RESOURCE_BROKER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
)
from mockbroker_protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from mockbroker_protocol.messages.features import FeatureUpdateKey, UpdateFeaturesRequest
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
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
from simulation.cluster.metadata_history import ACLS, Subject, resource, topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from mockbroker.metadata.changes import Entity

SET, DELETE, APPEND, SUBTRACT = range(4)
KNOWN: Final = "t0"
"""A topic that is there as long as admins work."""
NOBODY: Final = "a9"
"""One that never is."""
GUARDED: Final = ("g0", "g1")
"""Topics with ACLs, which nobody makes: with one, a topic is for those that it allows."""
TOPIC_KEYS: Final = ("retention.ms", "segment.ms", "max.message.bytes", "flush.ms")
QUOTA_KEYS: Final = ("producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate")
ENTITIES: Final[tuple[Entity, ...]] = (
    (("user", "u"),),
    (("client-id", None),),
    (("client-id", "c"), ("user", None)),
    (("ip", "10.0.0.1"),),
)
FEATURES: Final = {"transaction.version": (0, 1, 2), "group.version": (0, 1)}
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
NAMED: Final = {
    RESOURCE_GROUP: ("consumer.session.timeout.ms",),
    RESOURCE_CLIENT_METRICS: ("interval.ms",),
    RESOURCE_BROKER: ("log.cleaner.backoff.ms", "log.flush.interval.ms"),
}


class Change(NamedTuple):
    """`wanted` is what the subject's value must hold then: of a topic, its number of partitions;
    of configs and quotas, what each key is, None not set.
    """

    what: str
    request: object
    version: int
    subject: Subject | None
    wanted: object = None
    error: int = ErrorCode.NONE


# -- topics ----------------------------------------------------------------------------------


def create_topic(rng: Random, name: str, nodes: Sequence[int]) -> Change:
    """By number, or by hand."""
    count = rng.randint(1, 3)
    made = CreatableTopic(name, count, rng.choice((-1, 1, 2, 3)), [], [])
    if rng.random() < 0.3:
        made.num_partitions = made.replication_factor = -1
        factor = rng.randint(1, 3)
        made.assignments = [
            CreatableReplicaAssignment(index, rng.sample(nodes, factor)) for index in range(count)
        ]
    if rng.random() < 0.5:
        made.configs = [CreatableTopicConfig("retention.ms", str(rng.randint(10**6, 10**8)))]
    request = CreateTopicsRequest([made])
    return Change(f"create {name}", request, rng.choice((2, 5, 7)), topic(name), count)


def grow_topic(rng: Random, name: str, count: int, factor: int, nodes: Sequence[int]) -> Change:
    """To so many partitions, one more than it has."""
    by_hand = [CreatePartitionsAssignment(rng.sample(nodes, factor))]
    grown = CreatePartitionsTopic(name, count, by_hand if rng.random() < 0.3 else None)
    request = CreatePartitionsRequest([grown])
    return Change(f"grow {name}", request, rng.randint(0, 3), topic(name), count)


def delete_topic(rng: Random, name: str, topic_id: bytes) -> Change:
    """By name or by id."""
    doomed = DeleteTopicState(name) if rng.random() < 0.5 else DeleteTopicState(None, topic_id)
    request = DeleteTopicsRequest([doomed])
    return Change(f"delete {name}", request, 6, topic(name), 0)


# -- configs, quotas, ACLs, features ------------------------------------------------------------


def alter_configs(rng: Random, resource_type: int, name: str, *, numbered: int) -> Change:
    """Set or delete some config of a resource; each value that is set is another."""
    keys = TOPIC_KEYS if resource_type == RESOURCE_TOPIC else NAMED[resource_type]
    key = rng.choice(keys)
    value = str(50_000 + numbered)
    subject = topic(name) if resource_type == RESOURCE_TOPIC else resource(resource_type, name)
    what = f"alter {resource_type}/{name}"
    if resource_type == RESOURCE_TOPIC and rng.random() < 0.3:
        altered = AlterConfigsResource(resource_type, name, [AlterableConfig(key, value)])
        wanted = {each: value if each == key else None for each in keys}
        return Change(what, AlterConfigsRequest([altered]), 2, subject, wanted)
    if resource_type == RESOURCE_TOPIC and rng.random() < 0.3:
        operation = rng.choice((APPEND, SUBTRACT))
        one = IncrementalAlterableConfig("cleanup.policy", operation, "compact")
        shown = "delete,compact" if operation == APPEND else "delete"
        return Change(what, _increment(resource_type, name, [one]), 1, subject, {one.name: shown})
    deletes = rng.random() < 0.3
    one = IncrementalAlterableConfig(key, DELETE if deletes else SET, None if deletes else value)
    wanted = {key: None if deletes else value}
    return Change(what, _increment(resource_type, name, [one]), rng.randint(0, 1), subject, wanted)


def _increment(
    resource_type: int, name: str, configs: list[IncrementalAlterableConfig]
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        [IncrementalAlterConfigsResource(resource_type, name, configs)]
    )


def alter_quota(rng: Random, *, numbered: int) -> Change:
    """Set or remove a quota of an entity."""
    entity = rng.choice(ENTITIES)
    is_address = entity[0][0] == "ip"
    key = "connection_creation_rate" if is_address else rng.choice(QUOTA_KEYS)
    removes = rng.random() < 0.3
    rate = 10**9 + float(numbered)
    entry = AlterClientQuotasRequestEntryData(
        [EntityData(kind, name) for kind, name in entity], [OpData(key, rate, removes)]
    )
    request = AlterClientQuotasRequest([entry])
    wanted = {key: None if removes else rate}
    return Change(f"quota of {entity}", request, rng.randint(0, 1), ("quota", entity), wanted)


def create_acl(name: str) -> Change:
    """Nobody may read a topic that nobody reads."""
    request = CreateAclsRequest([AclCreation(2, name, 3, "User:mallory", "*", 3, 2)])
    return Change(f"deny {name}", request, 3, ACLS, (name, True))


def delete_acls(rng: Random, name: str) -> Change:
    """All that are about it, by a filter of one sort or another."""
    pattern, who = rng.choice(((3, "User:mallory"), (1, None), (2, None)))
    wanted = DeleteAclsFilter(2, name, pattern, who, None, rng.choice((1, 3)), rng.choice((1, 2)))
    return Change(f"allow {name}", DeleteAclsRequest([wanted]), 3, ACLS, (name, False))


def update_feature(rng: Random, levels: dict[str, int]) -> Change:
    """Another level of a feature; `levels` are those in force."""
    name = rng.choice(sorted(FEATURES))
    level = rng.choice([each for each in FEATURES[name] if each != levels.get(name, 0)])
    lower = level < levels.get(name, 0)
    update = FeatureUpdateKey(name, level, False, SAFE_DOWNGRADE if lower else UPGRADE)
    request = UpdateFeaturesRequest(60_000, [update])
    return Change(f"{name} to {level}", request, rng.randint(1, 2), ("feature", name), level)


# -- what must be refused ------------------------------------------------------------------------


def _create(error: int, *topics: CreatableTopic) -> Change:
    return Change("create", CreateTopicsRequest(list(topics)), 7, None, error=error)


def _placed(error: int, *assignments: tuple[int, list[int]]) -> Change:
    made = [CreatableReplicaAssignment(index, nodes) for index, nodes in assignments]
    return _create(error, CreatableTopic(NOBODY, -1, -1, made, []))


def _grow(error: int, name: str, count: int, *assignments: list[int]) -> Change:
    made = [CreatePartitionsAssignment(nodes) for nodes in assignments] or None
    request = CreatePartitionsRequest([CreatePartitionsTopic(name, count, made)])
    return Change("grow", request, 3, None, error=error)


def _delete(error: int, *doomed: DeleteTopicState) -> Change:
    return Change("delete", DeleteTopicsRequest(list(doomed)), 6, None, error=error)


def _alter(error: int, kind: int, name: str, key: str, operation: int, value: str | None) -> Change:
    one = IncrementalAlterableConfig(key, operation, value)
    return Change("alter", _increment(kind, name, [one]), 1, None, error=error)


def _quota(error: int, entity: Entity, key: str, rate: float) -> Change:
    entry = AlterClientQuotasRequestEntryData(
        [EntityData(kind, name) for kind, name in entity], [OpData(key, rate, remove=False)]
    )
    return Change("quota", AlterClientQuotasRequest([entry]), 1, None, error=error)


def _feature(name: str, level: int, upgrade_type: int) -> Change:
    request = UpdateFeaturesRequest(60_000, [FeatureUpdateKey(name, level, False, upgrade_type)])
    return Change("feature", request, 2, None, error=ErrorCode.INVALID_UPDATE_VERSION)


def _new(name: str, count: int = 1, factor: int = 1, **configs: str | None) -> CreatableTopic:
    given = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    return CreatableTopic(name, count, factor, [], given)


_INVALID: Final = ErrorCode.INVALID_REQUEST
_ASSIGNMENT: Final = ErrorCode.INVALID_REPLICA_ASSIGNMENT
_CONFIG: Final = ErrorCode.INVALID_CONFIG
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_NOBODYS_ID: Final = bytes(15) + b"\x09"
REFUSALS: Final[tuple[Change, ...]] = (
    _create(ErrorCode.TOPIC_ALREADY_EXISTS, _new(KNOWN)),
    _create(ErrorCode.INVALID_TOPIC_EXCEPTION, _new("a name")),
    _create(ErrorCode.INVALID_TOPIC_EXCEPTION, _new("")),
    _create(ErrorCode.INVALID_PARTITIONS, _new(NOBODY, 0)),
    _create(ErrorCode.INVALID_REPLICATION_FACTOR, _new(NOBODY, 1, 0)),
    _create(ErrorCode.INVALID_REPLICATION_FACTOR, _new(NOBODY, 1, 9)),
    _create(_CONFIG, _new(NOBODY, retention_ms="soon")),
    _create(_CONFIG, _new(NOBODY, retention_ms=None)),
    _create(ErrorCode.POLICY_VIOLATION, _new(NOBODY, 20_000)),
    _create(_INVALID, _new(NOBODY), _new(NOBODY)),
    _create(_INVALID, _new("__cluster_metadata")),
    _create(_INVALID, CreatableTopic(NOBODY, 1, -1, [CreatableReplicaAssignment(0, [1])], [])),
    _placed(_ASSIGNMENT, (0, [1]), (0, [2])),
    _placed(_ASSIGNMENT, (1, [1])),
    _placed(_ASSIGNMENT, (0, [])),
    _placed(_ASSIGNMENT, (0, [77])),
    _placed(_ASSIGNMENT, (0, [1, 1])),
    _placed(_ASSIGNMENT, (0, [1, 2]), (1, [1])),
    _grow(_UNKNOWN, NOBODY, 2),
    _grow(ErrorCode.INVALID_PARTITIONS, KNOWN, 0),
    _grow(ErrorCode.POLICY_VIOLATION, KNOWN, 20_000),
    _grow(_ASSIGNMENT, KNOWN, 9, [1]),
    _delete(_INVALID, DeleteTopicState(None)),
    _delete(_INVALID, DeleteTopicState(NOBODY, _NOBODYS_ID)),
    _delete(_UNKNOWN, DeleteTopicState(NOBODY)),
    _delete(ErrorCode.UNKNOWN_TOPIC_ID, DeleteTopicState(None, _NOBODYS_ID)),
    _delete(_INVALID, DeleteTopicState(NOBODY), DeleteTopicState(NOBODY)),
    _alter(_UNKNOWN, RESOURCE_TOPIC, NOBODY, "retention.ms", SET, "1000"),
    _alter(_CONFIG, RESOURCE_TOPIC, KNOWN, "retention.ms", SET, "soon"),
    _alter(_CONFIG, RESOURCE_TOPIC, KNOWN, "retention.ms", APPEND, "1"),
    _alter(_INVALID, RESOURCE_TOPIC, KNOWN, "retention.ms", SET, None),
    _alter(_INVALID, RESOURCE_TOPIC, "", "retention.ms", SET, "1000"),
    _alter(ErrorCode.INVALID_TOPIC_EXCEPTION, RESOURCE_TOPIC, "a b", "retention.ms", SET, "1000"),
    _alter(_INVALID, 99, "x", "retention.ms", SET, "1000"),
    _alter(_INVALID, RESOURCE_BROKER, "77", "log.retention.ms", SET, "1000"),
    _alter(_INVALID, RESOURCE_BROKER, "one", "log.retention.ms", SET, "1000"),
    _alter(_INVALID, RESOURCE_BROKER, "", "node.id", SET, "7"),
    _alter(_CONFIG, RESOURCE_BROKER, "", "log.retention.ms", APPEND, "7"),
    _alter(_CONFIG, RESOURCE_BROKER, "", "min.insync.replicas", DELETE, None),
    _alter(_CONFIG, RESOURCE_GROUP, "g", "consumer.session.timeout.ms", SET, "long"),
    _alter(_INVALID, RESOURCE_GROUP, "", "consumer.session.timeout.ms", SET, "1000"),
    _alter(_INVALID, RESOURCE_CLIENT_METRICS, "", "interval.ms", SET, "1000"),
    _quota(_INVALID, (), "producer_byte_rate", 1.0),
    _quota(_INVALID, (("group", "g"),), "producer_byte_rate", 1.0),
    _quota(_INVALID, (("user", ""),), "producer_byte_rate", 1.0),
    _quota(_INVALID, (("ip", "1.2.3.4"), ("user", "u")), "connection_creation_rate", 1.0),
    _quota(_INVALID, (("ip", "nowhere"),), "connection_creation_rate", 1.0),
    _quota(_INVALID, (("user", "u"),), "rate", 1.0),
    _quota(_INVALID, (("user", "u"),), "producer_byte_rate", float("inf")),
    _quota(_INVALID, (("user", "u"),), "producer_byte_rate", -1.0),
    _quota(_INVALID, (("user", "u"),), "producer_byte_rate", 1.5),
    _quota(_INVALID, (("user", "u"),), "producer_byte_rate", 2.0**63),
    _feature("group.version", 9, UPGRADE),
    _feature("group.version", -1, UPGRADE),
    _feature("no.version", 1, UPGRADE),
    _feature("metadata.version", 7, SAFE_DOWNGRADE),
    _feature("metadata.version", 7, UPGRADE),
    _feature("kraft.version", 0, 9),
)
"""Each is answered with its error, and changes nothing."""
