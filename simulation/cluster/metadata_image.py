"""What the records of the metadata log add up to, as a follower of it has it.

Replays them by Kafka's rules (PartitionRegistration.merge, ClusterControlManager.replay and so on),
which know nothing of how the controller made them. `differences` says where that is not what the
controller's store holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import PartitionState
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_BROKER_LOGGER, RESOURCE_TOPIC
from mockbroker.quorum.record_codec import FRAME_VERSION
from mockbroker_protocol.messages import metadata_records as records
from mockbroker_protocol.plan import decode
from mockbroker_protocol.primitives import read_uvarint
from mockbroker_protocol.records.batch import iterate_batches, iterate_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.metadata.store import MetadataStore
    from mockbroker_protocol.primitives import Buffer

SAME_LEADER: Final = -2
Resource = tuple[int, str]


def record_of(value: Buffer) -> object:
    """A metadata record from its bytes (Kafka: AbstractApiMessageSerde.read)."""
    frame_version, pos = read_uvarint(value, 0)
    assert frame_version == FRAME_VERSION
    key, pos = read_uvarint(value, pos)
    version, pos = read_uvarint(value, pos)
    kind: type[object] = records.METADATA_RECORDS[key]
    record, end = decode(kind, version, value, pos)
    assert end == len(value)
    return record


class MetadataImage:
    """Takes records in their order."""

    def __init__(self) -> None:
        self.brokers: dict[int, tuple[bool, bool, int]] = {}
        """Whether each is fenced and shuts down, and its epoch."""
        self.names: dict[bytes, str] = {}
        self.partitions: dict[bytes, dict[int, PartitionState]] = {}
        self.configs: dict[Resource, dict[str, str]] = {}
        self.quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = {}
        self.acls: dict[bytes, Acl] = {}
        self.features: dict[str, int] = {}
        self.scram: dict[tuple[str, int], tuple[bytes, bytes, bytes, int]] = {}
        self.next_producer_id = 0

    def take_batches(self, data: Buffer) -> None:
        """All records of some batches; control records say nothing here."""
        for pos, header in iterate_batches(data):
            if not header.is_control:
                for record in iterate_records(data, pos, header):
                    assert record.value is not None
                    self.take(record_of(record.value))

    def take(self, record: object) -> None:
        """The next record."""
        if not self._take_topic(record) and not self._take_broker(record):
            self._take_other(record)

    def _take_topic(self, record: object) -> bool:
        if isinstance(record, records.TopicRecord):
            self.names[record.topic_id] = record.name
            self.partitions[record.topic_id] = {}
        elif isinstance(record, records.RemoveTopicRecord):
            del self.partitions[record.topic_id]
            self.configs.pop((RESOURCE_TOPIC, self.names.pop(record.topic_id)), None)
        elif isinstance(record, records.PartitionRecord):
            self.partitions[record.topic_id][record.partition_id] = PartitionState(
                record.leader,
                record.replicas,
                record.isr,
                record.leader_epoch,
                record.partition_epoch,
                record.adding_replicas,
                record.removing_replicas,
                record.eligible_leader_replicas or [],
                (record.last_known_elr or [-1])[0],
            )
        elif isinstance(record, records.PartitionChangeRecord):
            known = self.partitions[record.topic_id]
            known[record.partition_id] = _merged(known[record.partition_id], record)
        else:
            return False
        return True

    def _take_broker(self, record: object) -> bool:
        if isinstance(record, records.RegisterBrokerRecord):
            registered = record.fenced, record.in_controlled_shutdown, record.broker_epoch
            self.brokers[record.broker_id] = registered
        elif isinstance(record, records.UnregisterBrokerRecord):
            del self.brokers[record.broker_id]
        elif isinstance(record, records.BrokerRegistrationChangeRecord):
            fenced, leaves, epoch = self.brokers[record.broker_id]
            assert epoch == record.broker_epoch
            fenced = record.fenced > 0 if record.fenced else fenced
            self.brokers[record.broker_id] = (
                fenced,
                leaves or record.in_controlled_shutdown > 0,
                epoch,
            )
        else:
            return False
        return True

    def _take_other(self, record: object) -> None:
        if isinstance(record, records.ConfigRecord):
            resource = record.resource_type, record.resource_name
            configs = self.configs.setdefault(resource, {})
            configs.pop(record.name, None)
            if record.value is not None:
                configs[record.name] = record.value
        elif isinstance(record, records.ClientQuotaRecord):
            entity = tuple((part.entity_type, part.entity_name) for part in record.entity)
            values = self.quotas.setdefault(entity, {})
            values.pop(record.key, None)
            if not record.remove:
                values[record.key] = record.value
        elif isinstance(record, records.AccessControlEntryRecord):
            self.acls[record.id] = Acl(
                record.resource_type,
                record.resource_name,
                record.pattern_type,
                record.principal,
                record.host,
                record.operation,
                record.permission_type,
            )
        elif isinstance(record, records.RemoveAccessControlEntryRecord):
            del self.acls[record.id]
        elif isinstance(record, records.FeatureLevelRecord):
            self.features[record.name] = record.feature_level
        elif isinstance(record, records.UserScramCredentialRecord):
            credential = record.salt, record.stored_key, record.server_key, record.iterations
            self.scram[record.name, record.mechanism] = credential
        elif isinstance(record, records.RemoveUserScramCredentialRecord):
            del self.scram[record.name, record.mechanism]
        elif isinstance(record, records.ProducerIdsRecord):
            assert record.next_producer_id > self.next_producer_id
            self.next_producer_id = record.next_producer_id

    # -- held against the store ----------------------------------------------------------------

    def differences(self, store: MetadataStore) -> list[str]:
        """Where this is not what the store holds."""
        wanted, has = _values_of(store), self._values()
        return [
            f"the metadata log says {what} {has[what]}, the controller {value}"
            for what, value in wanted.items()
            if has[what] != value
        ]

    def configs_but(self, left_out: int) -> dict[Resource, dict[str, str]]:
        """Those of one type left out: of brokers, the store has only its own."""
        return {
            resource: known
            for resource, known in self.configs.items()
            if known and (resource[0] != left_out or not resource[1])
        }

    def _values(self) -> dict[str, object]:
        topics = {
            topic_id: (self.names[topic_id], [_plain(known[at]) for at in range(len(known))])
            for topic_id, known in self.partitions.items()
        }
        return {
            "brokers": self.brokers,
            "topics": topics,
            "configs": self.configs_but(RESOURCE_BROKER),
            "quotas": {entity: known for entity, known in self.quotas.items() if known},
            "ACLs": sorted(self.acls.values()),
            "features": {name: level for name, level in self.features.items() if level},
            "SCRAM credentials": self.scram,
        }


def _merged(known: PartitionState, change: records.PartitionChangeRecord) -> PartitionState:
    """Kafka: PartitionRegistration.merge."""
    leads_on = change.leader == SAME_LEADER
    last_known = change.last_known_elr
    return PartitionState(
        known.leader if leads_on else change.leader,
        _told(change.replicas, known.replicas),
        _told(change.isr, known.isr),
        known.leader_epoch + (not leads_on),
        known.partition_epoch + 1,
        _told(change.adding_replicas, known.adding),
        _told(change.removing_replicas, known.removing),
        _told(change.eligible_leader_replicas, known.elr),
        known.last_known_leader if last_known is None else (last_known or [-1])[0],
    )


def _told(changed: list[int] | None, known: Sequence[int]) -> list[int]:
    return list(known) if changed is None else changed


def _plain(state: PartitionState) -> tuple[object, ...]:
    return tuple(one if isinstance(one, int) else list(one) for one in state)


def _values_of(store: MetadataStore) -> dict[str, object]:
    configs: dict[Resource, dict[str, str]] = {
        (RESOURCE_TOPIC, topic.name): dict(topic.configs) for topic in store.topics.values()
    }
    configs[RESOURCE_BROKER, ""] = dict(store.config.dynamic(cluster_default=True))
    for kind, by_name in store.resource_configs.items():
        if kind not in (RESOURCE_BROKER, RESOURCE_BROKER_LOGGER):
            configs.update({(kind, name): dict(known) for name, known in by_name.items()})
    return {
        "brokers": {
            node_id: (broker.fenced, broker.leaving, broker.epoch)
            for node_id, broker in store.brokers.items()
        },
        "topics": {
            topic.id: (topic.name, [_plain(state) for state in topic.partitions])
            for topic in store.topics.values()
        },
        "configs": {resource: known for resource, known in configs.items() if known},
        "quotas": {entity: dict(values) for entity, values in store.client_quotas.items()},
        "ACLs": sorted(store.acls),
        "features": {name: level for name, level in store.features.items() if level},
        "SCRAM credentials": {user: tuple(one) for user, one in store.scram_credentials.items()},
    }
