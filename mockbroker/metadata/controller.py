"""The controller: decides what happens to topics (Kafka: ControllerApis and its managers).

Handlers, coordinators and the Python API ask it; what it accepts becomes changes that it hands to
`MetadataStore.apply`, so a request is in force when its answer is made. Checks stand in Kafka's
order, because the first that fails is the one that a client is told.

Invariant: a request that is refused, or only validated, applies nothing.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.config.errors import ConfigError
from mockbroker.config.topic import TopicConfig
from mockbroker.metadata.changes import (
    PartitionsAdded,
    PartitionState,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.internal_topics import internal_topic
from mockbroker.metadata.names import (
    CLUSTER_METADATA_TOPIC,
    NO_TOPIC_ID,
    invalid_topic_name,
    is_internal,
    random_uuid,
)
from mockbroker.metadata.placement import invalid_assignment, place_replicas
from mockbroker.metadata.topic_requests import (
    ACCEPTED,
    CreatedTopic,
    DeletedTopic,
    NewTopic,
    Refusal,
    TopicReference,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.slices import all_at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from random import Random

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.acl_control import DeletedAcls
    from mockbroker.metadata.acls import Acl, AclFilter
    from mockbroker.metadata.changes import Entity
    from mockbroker.metadata.client_quotas import QuotaAlteration
    from mockbroker.metadata.elections import Election
    from mockbroker.metadata.features import Feature, FeatureUpdate
    from mockbroker.metadata.replication_control import ReplicationControl
    from mockbroker.metadata.store import MetadataStore, Topic
    from mockbroker.metadata.topic_requests import ConfigAlteration, NewPartitions

# Kafka: QuorumController.MAX_RECORDS_PER_USER_OP, also the limit on partitions of one request.
MAX_RECORDS_PER_REQUEST: Final = 10_000
CHANGED_AT_ONCE: Final = 128
"""Topics that are checked or made in one slice."""
DELETED_AT_ONCE: Final = 16
"""The same of topics that are deleted: each group is looked at for positions in them."""

_DUPLICATE_NAME: Final = Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_UNKNOWN_TOPIC: Final = Refusal(
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
)
_UNKNOWN_TOPIC_ID: Final = Refusal(
    ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."
)


T = TypeVar("T")


class Controller:
    """The one controller of the cluster. Topic ids and placements come from `rng`."""

    __slots__ = ("_store", "config", "rng")

    def __init__(self, store: MetadataStore, config: BrokerConfig, rng: Random) -> None:
        self._store = store
        self.config = config
        self.rng = rng

    # -- creation --------------------------------------------------------------------------

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        max_records: int = MAX_RECORDS_PER_REQUEST,
    ) -> list[CreatedTopic]:
        """As `creating_topics`, in one piece."""
        return all_at_once(
            self.creating_topics(topics, validate_only=validate_only, max_records=max_records)
        )

    def creating_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        max_records: int = MAX_RECORDS_PER_REQUEST,
    ) -> Generator[None, None, list[CreatedTopic]]:
        """Create topics: one answer for each distinct name, those of duplicates last.

        `max_records` bounds what one request may bring: its topics, configs and partitions.

        In slices: all are checked before the first is made, and each is in force at the end of the
        slice that made it, as a broker hears of the controller's records one after another. What
        others changed between two slices counts: a topic that is there by now is not made twice.
        """
        occurrences = Counter(topic.name for topic in topics)
        wanted = [
            topic
            for topic in topics
            if occurrences[topic.name] == 1 and topic.name != CLUSTER_METADATA_TOPIC
        ]
        if sum(self._partitions_asked(topic) for topic in wanted) > max_records:
            return _refuse_all(topics, "Excessively large number of partitions per request.")
        version = self._store.version
        decided: list[tuple[CreatedTopic, TopicCreated | None]] = []
        records = 0
        for topic in wanted:
            answer, change = self._create(topic)
            decided.append((answer, change))
            if change is not None:
                records += 1 + len(change.configs) + len(change.partitions)
                if records > max_records:
                    return _refuse_all(
                        topics, "Unable to perform excessively large batch operation."
                    )
            if not len(decided) % CHANGED_AT_ONCE:
                yield
        answers: list[CreatedTopic] = []
        for topic, (answer, change) in zip(wanted, decided, strict=True):
            if validate_only:
                answers.append(answer)
                continue
            before = self._store.version
            if before != version:
                answer, change = self._create(topic)  # noqa: PLW2901 -- decided anew
            answers.append(answer)
            if change is not None:
                self._store.apply(change)
                version += self._store.version - before
            if not len(answers) % CHANGED_AT_ONCE:
                yield
        answers.extend(
            CreatedTopic(name, _DUPLICATE_NAME) for name, times in occurrences.items() if times > 1
        )
        if occurrences[CLUSTER_METADATA_TOPIC] == 1:
            message = f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
            refusal = Refusal(ErrorCode.INVALID_REQUEST, message)
            answers.append(CreatedTopic(CLUSTER_METADATA_TOPIC, refusal))
        return answers

    def auto_creating(
        self, names: Iterable[str]
    ) -> Generator[None, None, list[tuple[str, ErrorCode]]]:
        """Create what a Metadata request named and nobody had; the codes it is answered with.

        Kafka answers before the topic exists, so a good name gets UNKNOWN_TOPIC_OR_PARTITION and
        the client asks again (Kafka: DefaultAutoTopicCreationManager). Bad names come first.
        """
        invalid: list[tuple[str, ErrorCode]] = []
        created: list[tuple[str, ErrorCode]] = []
        for name in names:
            if invalid_topic_name(name) is not None:
                invalid.append((name, ErrorCode.INVALID_TOPIC_EXCEPTION))
                continue
            created.append((name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        yield from self.creating_topics(
            [
                internal_topic(name, self.config)
                if is_internal(name, self.config)
                else NewTopic(name)
                for name, _ in created
            ]
        )
        return [*invalid, *created]

    def ensure_internal_topic(self, name: str) -> Refusal:
        """Create a coordinator's topic unless it exists; the refusal if it cannot be."""
        assert is_internal(name, self.config)
        if name in self._store.topics:
            return ACCEPTED
        (answer,) = self.create_topics([internal_topic(name, self.config)])
        return answer.refusal

    def _partitions_asked(self, topic: NewTopic) -> int:
        if topic.assignments:
            return len(topic.assignments)
        if topic.num_partitions == -1:
            return self.config.int("num.partitions")
        return max(topic.num_partitions, 0)

    def _create(self, topic: NewTopic) -> tuple[CreatedTopic, TopicCreated | None]:
        """Check one topic in Kafka's order; what passes becomes a change."""
        refusal = self._refuse_name(topic.name)
        if refusal is not None:
            return CreatedTopic(topic.name, refusal), None
        configs: dict[str, str] = {}
        nulls = [key for key, value in topic.configs if value is None]
        if nulls:
            message = f"Null value not supported for topic configs: {','.join(nulls)}"
            return CreatedTopic(topic.name, Refusal(ErrorCode.INVALID_CONFIG, message)), None
        configs.update((key, value) for key, value in topic.configs if value is not None)
        config = TopicConfig(configs, self.config)
        try:
            config.validate()
        except ConfigError as error:
            refusal = Refusal(ErrorCode.INVALID_CONFIG, str(error))
            return CreatedTopic(topic.name, refusal), None
        partitions = (
            self._assigned_partitions(topic)
            if topic.assignments
            else self._placed_partitions(topic)
        )
        if isinstance(partitions, Refusal):
            return CreatedTopic(topic.name, partitions), None
        topic_id = random_uuid(self.rng)
        answer = CreatedTopic(
            topic.name,
            topic_id=topic_id,
            num_partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            config=config,
        )
        return answer, TopicCreated(topic.name, topic_id, partitions, configs)

    def _refuse_name(self, name: str) -> Refusal | None:
        if name in self._store.topics:
            return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = self._store.colliding_topic(name)
        if other is not None:
            return Refusal(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {other}",
            )
        invalid = invalid_topic_name(name)
        if invalid is not None:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, invalid)
        return None

    def _assigned_partitions(self, topic: NewTopic) -> list[PartitionState] | Refusal:
        for count, what in (
            (topic.replication_factor, "replication factor"),
            (topic.num_partitions, "numPartitions"),
        ):
            if count != -1:
                return Refusal(
                    ErrorCode.INVALID_REQUEST,
                    f"A manual partition assignment was specified, but {what} was not set to -1.",
                )
        states: dict[int, PartitionState] = {}
        replication_factor = None
        for index, replicas in topic.assignments:
            if index in states:
                return Refusal(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {index}",
                )
            state = self._assigned(index, replicas, replication_factor)
            if isinstance(state, Refusal):
                return state
            states[index] = state
            replication_factor = len(replicas)
        if set(states) != set(range(len(states))):
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence",
            )
        return [states[index] for index in range(len(states))]

    def _placed_partitions(self, topic: NewTopic) -> list[PartitionState] | Refusal:
        if topic.replication_factor < -1 or topic.replication_factor == 0:
            return Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if topic.num_partitions < -1 or topic.num_partitions == 0:
            return Refusal(
                ErrorCode.INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            )
        replication_factor = topic.replication_factor
        if replication_factor == -1:
            replication_factor = self.config.int("default.replication.factor")
        placed = place_replicas(
            self._store.brokers, self._partitions_asked(topic), replication_factor, self.rng
        )
        if isinstance(placed, str):
            return Refusal(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {replication_factor} time(s): {placed}",
            )
        return [self._new_partition(replicas) for replicas in placed]

    def _assigned(
        self, index: int, replicas: Sequence[int], replication_factor: int | None
    ) -> PartitionState | Refusal:
        invalid = invalid_assignment(self._store.brokers, replicas, replication_factor)
        if invalid is None and all(self._store.brokers[node].fenced for node in replicas):
            invalid = (
                "All brokers specified in the manual partition assignment for partition "
                f"{index} are fenced or in controlled shutdown."
            )
        if invalid is not None:
            return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, invalid)
        return self._new_partition(replicas)

    def _new_partition(self, replicas: Sequence[int]) -> PartitionState:
        brokers = self._store.brokers
        isr = [node for node in replicas if not brokers[node].fenced]
        assert isr
        return PartitionState(isr[0], list(replicas), isr)

    # -- growth ----------------------------------------------------------------------------

    def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> list[tuple[str, Refusal]]:
        """Let topics grow: one answer for each distinct name, those of duplicates first."""
        occurrences = Counter(request.name for request in requests)
        wanted = [request for request in requests if occurrences[request.name] == 1]
        if sum(map(partial(_additional, self._store), wanted)) > MAX_RECORDS_PER_REQUEST:
            refusal = Refusal(
                ErrorCode.POLICY_VIOLATION,
                "Excessively large number of additional partitions per request.",
            )
            return [(request.name, refusal) for request in requests]
        changes: list[PartitionsAdded] = []
        answers = [(name, _DUPLICATE_NAME) for name, times in occurrences.items() if times > 1]
        answers.extend((request.name, self._grow(request, changes)) for request in wanted)
        if not validate_only:
            for change in changes:
                self._store.apply(change)
        return answers

    def _grow(self, request: NewPartitions, changes: list[PartitionsAdded]) -> Refusal:
        topic = self._store.topics.get(request.name)
        if topic is None:
            # Kafka throws here without a message.
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        current = len(topic.partitions)
        if request.total_count == current:
            return Refusal(
                ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s)."
            )
        if request.total_count < current:
            return Refusal(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {topic.name} currently has {current} partition(s); "
                f"{request.total_count} would not be an increase.",
            )
        states = self._additional_partitions(topic, request)
        if isinstance(states, Refusal):
            return states
        changes.append(PartitionsAdded(topic.name, topic.id, current, states))
        return ACCEPTED

    def _additional_partitions(
        self, topic: Topic, request: NewPartitions
    ) -> list[PartitionState] | Refusal:
        additional = request.total_count - len(topic.partitions)
        replication_factor = len(topic.partitions[0].replicas)
        if request.assignments is None:
            placed = place_replicas(self._store.brokers, additional, replication_factor, self.rng)
            if isinstance(placed, str):
                return Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, placed)
            return [self._new_partition(replicas) for replicas in placed]
        if len(request.assignments) != additional:
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {additional} additional partition(s), but only "
                f"{len(request.assignments)} assignment(s) were specified.",
            )
        states: list[PartitionState] = []
        for index, replicas in enumerate(request.assignments, len(topic.partitions)):
            state = self._assigned(index, replicas, replication_factor)
            if isinstance(state, Refusal):
                return state
            states.append(state)
        return states

    # -- deletion --------------------------------------------------------------------------

    def delete_topics(self, references: Sequence[TopicReference]) -> list[DeletedTopic]:
        """As `deleting_topics`, in one piece."""
        return all_at_once(self.deleting_topics(references))

    def deleting_topics(
        self, references: Sequence[TopicReference]
    ) -> Generator[None, None, list[DeletedTopic]]:
        """Delete topics by name or id. Refusals come first, then what was deleted.

        In slices: each is gone at the end of the slice that deleted it. One that another deleted
        meanwhile counts as deleted: it is.

        Whether `delete.topic.enable` allows it is the handler's question: the answer depends on
        the version (Kafka: ControllerApis.deleteTopics, which shuffles the answers).
        """
        answers: list[DeletedTopic] = []
        names: Counter[str] = Counter()
        ids: Counter[bytes] = Counter()
        for reference in references:
            name, topic_id = reference.name, reference.topic_id
            if name is None and topic_id == NO_TOPIC_ID:
                answers.append(
                    _malformed(name, topic_id, "Neither topic name nor id were specified.")
                )
            elif name is None:
                ids[topic_id] += 1
            elif topic_id == NO_TOPIC_ID:
                names[name] += 1
            else:
                message = "You may not specify both topic name and topic id."
                answers.append(_malformed(name, topic_id, message))
        answers += [
            _malformed(name, NO_TOPIC_ID, "Duplicate topic name.")
            for name, times in names.items()
            if times > 1
        ]
        answers += [
            _malformed(None, topic_id, "Duplicate topic id.")
            for topic_id, times in ids.items()
            if times > 1
        ]
        doomed = self._named_by_id(ids, answers)
        self._add_named(names, ids, doomed, answers)
        for done, (topic_id, name) in enumerate(doomed.items(), 1):
            if topic_id in self._store.topics_by_id:
                self._store.apply(TopicDeleted(name, topic_id))
            if not done % DELETED_AT_ONCE:
                yield
        answers += [DeletedTopic(name, topic_id) for topic_id, name in doomed.items()]
        return answers

    def _named_by_id(self, ids: Counter[bytes], answers: list[DeletedTopic]) -> dict[bytes, str]:
        doomed: dict[bytes, str] = {}
        for topic_id, times in ids.items():
            if times > 1:
                continue
            topic = self._store.topics_by_id.get(topic_id)
            if topic is None:
                answers.append(DeletedTopic(None, topic_id, _UNKNOWN_TOPIC_ID))
            else:
                doomed[topic_id] = topic.name
        return doomed

    def _add_named(
        self,
        names: Counter[str],
        ids: Counter[bytes],
        doomed: dict[bytes, str],
        answers: list[DeletedTopic],
    ) -> None:
        for name, times in names.items():
            if times > 1:
                continue
            topic = self._store.topics.get(name)
            if topic is None:
                answers.append(DeletedTopic(name, NO_TOPIC_ID, _UNKNOWN_TOPIC))
            elif topic.id in ids:
                # Named twice, once by each way: neither is carried out.
                doomed.pop(topic.id, None)
                message = "The provided topic name maps to an ID that was already supplied."
                answers.append(_malformed(name, topic.id, message))
            else:
                doomed[topic.id] = name

    # -- configs ---------------------------------------------------------------------------

    def alter_configs(
        self, alterations: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> list[Refusal]:
        """Change configs of topics and brokers; one answer for each, in their order."""
        from mockbroker.metadata.config_control import alter_configs

        return alter_configs(self._store, alterations, validate_only=validate_only)

    def alter_client_quotas(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool
    ) -> dict[Entity, Refusal]:
        """Set and remove quotas; one answer for each entity."""
        from mockbroker.metadata.client_quotas import alter_client_quotas

        return alter_client_quotas(self._store, alterations, validate_only=validate_only)

    def carry_out(
        self,
        decide: Callable[[MetadataStore], T],
        unreachable: T,  # noqa: ARG002 -- of a controller that is here
        *,
        imposed: bool = False,  # noqa: ARG002
    ) -> T:
        """What `decide` answers, which may change the cluster's metadata.

        `unreachable` is the answer where the controller cannot be reached; what is `imposed` is no
        broker's request, and nothing keeps it away.
        """
        return decide(self._store)

    def create_acls(self, acls: Sequence[Acl]) -> list[Refusal]:
        """Add ACLs; one answer for each, in their order."""
        from mockbroker.metadata.acl_control import create_acls

        return create_acls(self._store, acls)

    def delete_acls(self, filters: Sequence[AclFilter]) -> list[DeletedAcls]:
        """Remove the ACLs that fit; one answer for each filter, in their order."""
        from mockbroker.metadata.acl_control import delete_acls

        return delete_acls(self._store, filters)

    def update_features(
        self,
        updates: Sequence[FeatureUpdate],
        features: Sequence[Feature],
        node_id: int,
        *,
        validate_only: bool,
    ) -> Refusal:
        """Finalize features at other levels, all of them or none; `features` are on offer."""
        from mockbroker.metadata.features import update_features

        return update_features(self._store, updates, features, node_id, validate_only=validate_only)

    # -- brokers, leaders and replicas -----------------------------------------------------

    def unregister_broker(self, node_id: int) -> Refusal:
        """Forget a broker; see `ReplicationControl.unregister`."""
        return self.replication.unregister(node_id)

    def elect_leader(self, name: str, index: int, election: Election) -> Refusal:
        """Elect for one partition; see `ReplicationControl.elect`."""
        return self.replication.elect(name, index, election)

    def reassign(
        self, name: str, index: int, target: Sequence[int] | None, *, may_change_factor: bool
    ) -> Refusal:
        """Put one partition's replicas elsewhere; see `ReplicationControl.reassign`."""
        return self.replication.reassign(name, index, target, may_change_factor=may_change_factor)

    def reassignments(
        self, wanted: Iterable[tuple[str, Sequence[int]]] | None
    ) -> list[tuple[str, int, PartitionState]] | Refusal:
        """The reassignments under way, or why they cannot be told."""
        return self.replication.reassignments(wanted)

    @property
    def replication(self) -> ReplicationControl:
        """What decides over leaders and replicas."""
        from mockbroker.metadata.replication_control import ReplicationControl

        return ReplicationControl(self._store)


def _additional(store: MetadataStore, request: NewPartitions) -> int:
    topic = store.topics.get(request.name)
    return 0 if topic is None else max(request.total_count - len(topic.partitions), 0)


def _refuse_all(topics: Sequence[NewTopic], message: str) -> list[CreatedTopic]:
    refusal = Refusal(ErrorCode.POLICY_VIOLATION, message)
    return [CreatedTopic(topic.name, refusal) for topic in topics]


def _malformed(name: str | None, topic_id: bytes, message: str) -> DeletedTopic:
    return DeletedTopic(name, topic_id, Refusal(ErrorCode.INVALID_REQUEST, message))
