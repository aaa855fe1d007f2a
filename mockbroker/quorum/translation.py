"""What a change of the metadata is as records of the metadata log.

`MetadataQuorum` hands each change here after the store applied it. Records of a partition tell only
what changed when Kafka's own rules lead from the old state to the new one (PartitionRegistration's
merge counts the epochs up); otherwise the partition is told anew as a whole.

Invariant: replaying all records so far gives what the store holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from mockbroker.metadata.changes import (
    AclsChanged,
    BrokerChanged,
    BrokerUnregistered,
    ClientQuotasChanged,
    ConfigsChanged,
    DelegationTokenChanged,
    FeatureChanged,
    LeaderChanged,
    PartitionsAdded,
    ScramCredentialChanged,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_BROKER_LOGGER, RESOURCE_TOPIC
from mockbroker_protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    QuotaEntityData,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mockbroker.metadata.acls import Acl
    from mockbroker.metadata.brokers import BrokerInfo
    from mockbroker.metadata.changes import Change, Entity, PartitionState, ScramUser
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker.metadata.scram import ScramCredential
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.quorum.registrations import Registration

UNASSIGNED_DIRECTORY: Final = ZERO_UUID
"""DirectoryId.UNASSIGNED: the broker has yet to say where the replica lies."""
_LISTS_OF_REPLICAS: Final = (
    ("isr", "isr"),
    ("adding", "adding_replicas"),
    ("removing", "removing_replicas"),
    ("elr", "eligible_leader_replicas"),
)
"""Of a partition's state, and of a PartitionChangeRecord."""
_FENCE: Final = 1
_UNFENCE: Final = -1

Resource = tuple[int, str]


class Translation:
    """Turns changes into records; remembers what the log says already.

    `register` tells how a broker is registered, given the offset that its record will have;
    `new_id` draws the id of an ACL.
    """

    __slots__ = (
        "_acl_ids",
        "_configs",
        "_new_id",
        "_partitions",
        "_quotas",
        "_register",
        "_states",
        "registrations",
    )

    def __init__(
        self,
        register: Callable[[BrokerInfo, int], Registration],
        new_id: Callable[[], bytes],
    ) -> None:
        self._register = register
        self._new_id = new_id
        self.registrations: dict[int, Registration] = {}
        self._states: dict[int, tuple[bool, bool]] = {}
        """Whether each broker is fenced, and whether it shuts down."""
        self._partitions: dict[bytes, list[PartitionState]] = {}
        self._configs: dict[Resource, dict[str, str]] = {}
        self._quotas: dict[Entity, Mapping[str, float]] = {}
        self._acl_ids: dict[Acl, bytes] = {}

    def image(self, store: MetadataStore, offset: int) -> list[object]:
        """All that the store holds now, as records from `offset` on."""
        records: list[object] = []
        for _, broker in sorted(store.brokers.items()):
            records += self._broker(broker, offset + len(records))
        for default in (True, False):
            configs = store.config.dynamic(cluster_default=default)
            name = "" if default else str(store.config.node_id)
            records += self._configure((RESOURCE_BROKER, name), configs)
        for resource_type, by_name in store.resource_configs.items():
            for name, configs in by_name.items():
                records += self._configure((resource_type, name), configs)
        for entity, values in store.client_quotas.items():
            records += self._set_quotas(entity, values)
        records += self._change_acls(tuple(store.acls), ())
        for user, credential in store.scram_credentials.items():
            records += _scram(user, credential)
        for token in store.delegation_tokens.values():
            records.append(_token(token))
        for topic in store.topics.values():
            created = TopicCreated(topic.name, topic.id, topic.partitions, topic.configs)
            records += self._create(created)
        return records

    def records(self, change: Change, offset: int) -> list[object]:
        """One change as records from `offset` on; none when the log says it already."""
        if isinstance(change, BrokerChanged):
            return self._broker(change.broker, offset)
        if isinstance(change, BrokerUnregistered):
            return self._unregister(change.node_id)
        if isinstance(change, TopicCreated):
            return self._create(change)
        if isinstance(change, TopicDeleted):
            del self._partitions[change.topic_id]
            self._configs.pop((RESOURCE_TOPIC, change.name), None)
            return [RemoveTopicRecord(change.topic_id)]
        if isinstance(change, PartitionsAdded):
            return self._add_partitions(change.topic_id, change.partitions)
        if isinstance(change, LeaderChanged):
            return self._change_partition(change.topic_id, change.index, change.state)
        if isinstance(change, ConfigsChanged):
            if change.resource_type == RESOURCE_BROKER_LOGGER:
                return []  # known to its own broker alone
            return self._configure((change.resource_type, change.name), change.configs)
        return self._of_cluster(change)

    def _of_cluster(
        self,
        change: FeatureChanged
        | ClientQuotasChanged
        | ScramCredentialChanged
        | DelegationTokenChanged
        | AclsChanged,
    ) -> list[object]:
        if isinstance(change, FeatureChanged):
            return [FeatureLevelRecord(change.name, change.level)]
        if isinstance(change, ClientQuotasChanged):
            return self._set_quotas(change.entity, change.values)
        if isinstance(change, ScramCredentialChanged):
            return _scram(change.user, change.credential)
        if isinstance(change, DelegationTokenChanged):
            if change.token is None:
                return [RemoveDelegationTokenRecord(change.token_id)]
            return [_token(change.token)]
        if isinstance(change, AclsChanged):
            return self._change_acls(change.added, change.removed)
        assert_never(change)

    # -- brokers ---------------------------------------------------------------------------

    def _broker(self, broker: BrokerInfo, offset: int) -> list[object]:
        node_id = broker.node_id
        known = self.registrations.get(node_id)
        registration = self._register(broker, offset)
        if known is not None and registration._replace(epoch=known.epoch) == known:
            was_fenced, was_leaving = self._states[node_id]
            self._states[node_id] = broker.fenced, broker.leaving
            # Who shuts down does so for good: it comes back in another epoch. Until it is fenced,
            # a leader that does not know would wait for it to join its in-sync set again.
            change = BrokerRegistrationChangeRecord(
                node_id, known.epoch, in_controlled_shutdown=int(broker.leaving and not was_leaving)
            )
            if broker.fenced != was_fenced:
                change.fenced = _FENCE if broker.fenced else _UNFENCE
            return [change] if change.fenced or change.in_controlled_shutdown else []
        self.registrations[node_id] = registration
        self._states[node_id] = broker.fenced, broker.leaving
        return [registration.record(fenced=broker.fenced)]

    def _unregister(self, node_id: int) -> list[object]:
        del self._states[node_id]
        return [UnregisterBrokerRecord(node_id, self.registrations.pop(node_id).epoch)]

    # -- topics ----------------------------------------------------------------------------

    def _create(self, change: TopicCreated) -> list[object]:
        self._partitions[change.topic_id] = []
        return [
            TopicRecord(change.name, change.topic_id),
            *self._configure((RESOURCE_TOPIC, change.name), change.configs),
            *self._add_partitions(change.topic_id, change.partitions),
        ]

    def _add_partitions(self, topic_id: bytes, states: Sequence[PartitionState]) -> list[object]:
        known = self._partitions[topic_id]
        first = len(known)
        known += states
        return [self._whole(topic_id, first + at, state) for at, state in enumerate(states)]

    def _whole(self, topic_id: bytes, index: int, state: PartitionState) -> PartitionRecord:
        return PartitionRecord(
            index,
            topic_id,
            replicas=list(state.replicas),
            isr=list(state.isr),
            removing_replicas=list(state.removing),
            adding_replicas=list(state.adding),
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            directories=[self._directory(node_id) for node_id in state.replicas],
            eligible_leader_replicas=list(state.elr) or None,
            last_known_elr=_last_known(state) or None,
        )

    def _directory(self, node_id: int) -> bytes:
        """Where a replica lies: no choice when its broker has one directory."""
        registration = self.registrations.get(node_id)
        if registration is None or len(registration.log_dirs) != 1:
            return UNASSIGNED_DIRECTORY
        return registration.log_dirs[0]

    def _change_partition(self, topic_id: bytes, index: int, state: PartitionState) -> list[object]:
        known = self._partitions[topic_id]
        old, known[index] = known[index], state
        elected = state.leader_epoch == old.leader_epoch + 1
        kept = state.leader_epoch == old.leader_epoch and state.leader == old.leader
        if state.partition_epoch != old.partition_epoch + 1 or not (elected or kept):
            return [self._whole(topic_id, index, state)]
        record = PartitionChangeRecord(index, topic_id)
        if elected:
            record.leader = state.leader
        if list(state.replicas) != list(old.replicas):
            record.replicas = list(state.replicas)
            record.directories = [self._directory(node_id) for node_id in state.replicas]
        for ours, kafkas in _LISTS_OF_REPLICAS:
            told = list(getattr(state, ours))
            if told != list(getattr(old, ours)):
                setattr(record, kafkas, told)
        if state.last_known_leader != old.last_known_leader:
            record.last_known_elr = _last_known(state)
        return [record]

    # -- configs ---------------------------------------------------------------------------

    def _configure(self, resource: Resource, configs: Mapping[str, str]) -> list[object]:
        old = self._configs.get(resource, {})
        self._configs[resource] = dict(configs)
        records: list[object] = [
            ConfigRecord(*resource, key, value)
            for key, value in configs.items()
            if old.get(key) != value
        ]
        records += [ConfigRecord(*resource, key, None) for key in old if key not in configs]
        return records

    # -- quotas and ACLs -------------------------------------------------------------------

    def _set_quotas(self, entity: Entity, values: Mapping[str, float]) -> list[object]:
        old = self._quotas.pop(entity, {})
        if values:
            self._quotas[entity] = dict(values)
        gone = [(key, value, True) for key, value in old.items() if key not in values]
        new = [(key, value, False) for key, value in values.items() if old.get(key) != value]
        return [
            ClientQuotaRecord([QuotaEntityData(*part) for part in entity], *one)
            for one in new + gone
        ]

    def _change_acls(self, added: Sequence[Acl], removed: Sequence[Acl]) -> list[object]:
        records: list[object] = []
        for acl in added:
            self._acl_ids[acl] = acl_id = self._new_id()
            records.append(AccessControlEntryRecord(acl_id, *acl))
        records += [RemoveAccessControlEntryRecord(self._acl_ids.pop(acl)) for acl in removed]
        return records


def _token(token: DelegationToken) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        token.owner,
        token.requester,
        list(token.renewers),
        token.issue_wall_ms,
        token.max_wall_ms,
        token.expiry_wall_ms,
        token.token_id,
    )


def _scram(user: ScramUser, credential: ScramCredential | None) -> list[object]:
    if credential is None:
        return [RemoveUserScramCredentialRecord(*user)]
    salt, stored_key, server_key, iterations = credential
    return [UserScramCredentialRecord(*user, salt, stored_key, server_key, iterations)]


def _last_known(state: PartitionState) -> list[int]:
    return [] if state.last_known_leader < 0 else [state.last_known_leader]
