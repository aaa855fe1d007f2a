"""Changes of the metadata as records, and the store that replaying them gives."""

from __future__ import annotations

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.acls import Acl
from mockbroker.metadata.brokers import BrokerInfo
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
    PartitionState,
    ScramCredentialChanged,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.scram import ScramCredential
from mockbroker.metadata.store import RESOURCE_GROUP, MetadataStore
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker.quorum.registrations import Registration
from mockbroker.quorum.translation import UNASSIGNED_DIRECTORY, Translation
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
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
from tests.support import outside_brokers
from tests.support.core import Core
from tests.support.metadata_logs import BROKER, CONTROLLER, QuorumCore, records_in

TOPIC = b"t" * 16
IDS = [bytes([at]) * 16 for at in range(1, 4)]
"""Of ACLs, in the order of their creation."""
READ, WRITE = (Acl(2, "a", 3, "User:u", "*", operation, 3) for operation in (3, 4))
EVERY_USER = (("client-id", "c"), ("user", None))


def register(broker: BrokerInfo, offset: int) -> Registration:
    log_dirs = tuple(bytes([broker.node_id, at]) * 8 for at in range(broker.node_id))
    return Registration(broker.node_id, b"i" * 16, (), {}, log_dirs, broker.rack, offset)


def translation(*states: PartitionState) -> Translation:
    made = Translation(register, iter(IDS).__next__)
    made.records(TopicCreated("a", TOPIC, states, {}), 0)
    return made


def test_a_broker_registers_once_and_is_then_fenced_and_unfenced() -> None:
    made = Translation(register, iter(IDS).__next__)
    (record,) = made.records(BrokerChanged(BrokerInfo(1, fenced=True)), 7)
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_id, record.broker_epoch, record.fenced) == (1, 7, True)
    assert made.records(BrokerChanged(BrokerInfo(1)), 8) == [
        BrokerRegistrationChangeRecord(1, 7, -1)
    ]
    assert made.records(BrokerChanged(BrokerInfo(1)), 9) == []
    fenced = made.records(BrokerChanged(BrokerInfo(1, fenced=True)), 9)
    assert fenced == [BrokerRegistrationChangeRecord(1, 7, 1)]
    (again,) = made.records(BrokerChanged(BrokerInfo(1, rack="r")), 10)
    assert isinstance(again, RegisterBrokerRecord)
    assert (again.broker_epoch, again.rack, again.fenced) == (10, "r", False)


def test_a_broker_that_is_forgotten_registers_anew() -> None:
    made = Translation(register, iter(IDS).__next__)
    made.records(BrokerChanged(BrokerInfo(1)), 7)
    assert made.records(BrokerUnregistered(1), 8) == [UnregisterBrokerRecord(1, 7)]
    (again,) = made.records(BrokerChanged(BrokerInfo(1, fenced=True)), 9)
    assert isinstance(again, RegisterBrokerRecord)
    assert (again.broker_epoch, again.fenced) == (9, True)


def test_a_topic_is_told_with_its_configs_and_partitions() -> None:
    made = Translation(register, iter(IDS).__next__)
    made.records(BrokerChanged(BrokerInfo(1)), 0)
    made.records(BrokerChanged(BrokerInfo(2)), 1)
    states = [PartitionState(1, [1, 2], [1]), PartitionState(2, [2], [2])]
    records = made.records(TopicCreated("a", TOPIC, states, {"k": "v"}), 2)
    assert records[:2] == [TopicRecord("a", TOPIC), ConfigRecord(2, "a", "k", "v")]
    first, second = records[2:]
    assert isinstance(first, PartitionRecord)
    assert isinstance(second, PartitionRecord)
    assert (first.replicas, first.isr, first.leader) == ([1, 2], [1], 1)
    # Broker 1 has one directory; broker 2 has two, and has yet to say which it takes.
    assert first.directories == [bytes([1, 0]) * 8, UNASSIGNED_DIRECTORY]
    assert (second.partition_id, second.leader_epoch, second.partition_epoch) == (1, 0, 0)


def test_a_topic_grows_and_goes() -> None:
    made = translation(PartitionState(1, [1], [1]))
    (added,) = made.records(PartitionsAdded("a", TOPIC, 1, [PartitionState(1, [1], [1])]), 0)
    assert isinstance(added, PartitionRecord)
    assert added.partition_id == 1
    assert made.records(TopicDeleted("a", TOPIC), 0) == [RemoveTopicRecord(TOPIC)]


def test_an_election_tells_the_leader_and_the_in_sync_set() -> None:
    made = translation(PartitionState(1, [1, 2], [1, 2], 3, 5))
    state = PartitionState(2, [1, 2], [2], 4, 6)
    assert made.records(LeaderChanged("a", TOPIC, 0, state), 0) == [
        PartitionChangeRecord(0, TOPIC, isr=[2], leader=2)
    ]
    # A leader of the same epoch leaves the epoch as it is: the leader is not named.
    state = PartitionState(2, [1, 2], [2, 1], 4, 7)
    assert made.records(LeaderChanged("a", TOPIC, 0, state), 0) == [
        PartitionChangeRecord(0, TOPIC, isr=[2, 1])
    ]


def test_replicas_bring_their_directories() -> None:
    made = translation(PartitionState(1, [1], [1]))
    state = PartitionState(1, [1, 3], [1], 0, 1)
    (record,) = made.records(LeaderChanged("a", TOPIC, 0, state), 0)
    assert isinstance(record, PartitionChangeRecord)
    assert (record.replicas, record.directories) == ([1, 3], [UNASSIGNED_DIRECTORY] * 2)


def test_what_kafka_would_count_otherwise_is_told_as_a_whole() -> None:
    made = translation(PartitionState(1, [1], [1]))
    (record,) = made.records(LeaderChanged("a", TOPIC, 0, PartitionState(1, [1], [1], 9, 9)), 0)
    assert isinstance(record, PartitionRecord)
    assert (record.leader_epoch, record.partition_epoch) == (9, 9)


def test_a_feature_is_told_with_its_level() -> None:
    made = Translation(register, iter(IDS).__next__)
    change = FeatureChanged("transaction.version", 1)
    assert made.records(change, 0) == [FeatureLevelRecord("transaction.version", 1)]


def test_configs_are_told_as_they_change() -> None:
    made = Translation(register, iter(IDS).__next__)
    assert made.records(ConfigsChanged(4, "", {"a": "1", "b": "2"}), 0) == [
        ConfigRecord(4, "", "a", "1"),
        ConfigRecord(4, "", "b", "2"),
    ]
    assert made.records(ConfigsChanged(4, "", {"a": "1", "c": "3"}), 0) == [
        ConfigRecord(4, "", "c", "3"),
        ConfigRecord(4, "", "b", None),
    ]


def test_quotas_are_told_as_they_change() -> None:
    made = Translation(register, iter(IDS).__next__)
    entity = [QuotaEntityData("client-id", "c"), QuotaEntityData("user", None)]
    values = {"producer_byte_rate": 1.0, "request_percentage": 2.5}
    assert made.records(ClientQuotasChanged(EVERY_USER, values), 0) == [
        ClientQuotaRecord(entity, "producer_byte_rate", 1.0),
        ClientQuotaRecord(entity, "request_percentage", 2.5),
    ]
    values = {"producer_byte_rate": 3.0}
    assert made.records(ClientQuotasChanged(EVERY_USER, values), 0) == [
        ClientQuotaRecord(entity, "producer_byte_rate", 3.0),
        ClientQuotaRecord(entity, "request_percentage", 2.5, remove=True),
    ]
    assert made.records(ClientQuotasChanged(EVERY_USER, {}), 0) == [
        ClientQuotaRecord(entity, "producer_byte_rate", 3.0, remove=True)
    ]
    assert made.records(ClientQuotasChanged(EVERY_USER, {}), 0) == []


def test_credentials_are_told_as_they_change() -> None:
    made = Translation(register, iter(IDS).__next__)
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    told = UserScramCredentialRecord("alice", 2, b"salt", b"stored", b"server", 4096)
    assert made.records(ScramCredentialChanged(("alice", 2), credential), 0) == [told]
    assert made.records(ScramCredentialChanged(("alice", 2), None), 0) == [
        RemoveUserScramCredentialRecord("alice", 2)
    ]
    store = MetadataStore("cluster", BrokerConfig())
    store.apply(ScramCredentialChanged(("alice", 2), credential))
    assert told in Translation(register, iter(IDS).__next__).image(store, 0)


def test_a_delegation_token_is_told_without_its_secret() -> None:
    made = Translation(register, iter(IDS).__next__)
    token = DelegationToken("id", "User:a", "User:b", ("User:c",), 1, 9, 5, b"secret")
    told = DelegationTokenRecord("User:a", "User:b", ["User:c"], 1, 9, 5, "id")
    assert made.records(DelegationTokenChanged("id", token), 0) == [told]
    assert made.records(DelegationTokenChanged("id", None), 0) == [
        RemoveDelegationTokenRecord("id")
    ]
    store = MetadataStore("cluster", BrokerConfig())
    store.apply(DelegationTokenChanged("id", token))
    assert told in Translation(register, iter(IDS).__next__).image(store, 0)


def test_an_acl_goes_by_the_id_that_it_came_with() -> None:
    made = Translation(register, iter(IDS).__next__)
    assert made.records(AclsChanged((READ, WRITE), ()), 0) == [
        AccessControlEntryRecord(IDS[0], 2, "a", 3, "User:u", "*", 3, 3),
        AccessControlEntryRecord(IDS[1], 2, "a", 3, "User:u", "*", 4, 3),
    ]
    assert made.records(AclsChanged((), (WRITE, READ)), 0) == [
        RemoveAccessControlEntryRecord(IDS[1]),
        RemoveAccessControlEntryRecord(IDS[0]),
    ]
    (again,) = made.records(AclsChanged((READ,), ()), 0)
    assert isinstance(again, AccessControlEntryRecord)
    assert again.id == IDS[2]


def test_an_image_has_quotas_acls_and_configs_of_groups() -> None:
    core = Core(outsiders=True)
    store = core.cluster.metadata
    for change in (
        AclsChanged((READ, WRITE), ()),
        ClientQuotasChanged(EVERY_USER, {"request_percentage": 2.5}),
        ConfigsChanged(RESOURCE_GROUP, "g", {"consumer.session.timeout.ms": "50000"}),
    ):
        core.act(lambda change=change: store.apply(change))  # type: ignore[misc]
    quorum = core.act(lambda: core.cluster.start_quorum(CONTROLLER, {1: [BROKER]}))
    records = records_in(quorum.log)
    found = [one for one in records if isinstance(one, AccessControlEntryRecord)]
    assert [one.operation for one in found] == [3, 4]
    assert len({one.id for one in found}) == 2
    (quota,) = (one for one in records if isinstance(one, ClientQuotaRecord))
    assert (quota.key, quota.value, quota.remove) == ("request_percentage", 2.5, False)
    assert ConfigRecord(32, "g", "consumer.session.timeout.ms", "50000") in records
    end = quorum.log.log_end_offset
    core.act(lambda: store.apply(AclsChanged((), (READ,))))
    assert records_in(quorum.log, end) == [RemoveAccessControlEntryRecord(found[0].id)]


def test_the_image_of_a_store_is_its_brokers_configs_and_topics() -> None:
    core = QuorumCore(topics={"a": 2, "b": 1})
    records = records_in(core.quorum.log)
    topics = [record.name for record in records if isinstance(record, TopicRecord)]
    assert topics == ["a", "b"]
    assert sum(isinstance(record, PartitionRecord) for record in records) == 3
    (broker,) = (record for record in records if isinstance(record, RegisterBrokerRecord))
    (point,) = broker.end_points
    assert (point.name, point.host, point.port) == ("PLAINTEXT", "broker.test", 9092)
    assert (broker.broker_id, broker.broker_epoch) == (1, core.cluster.nodes[0].epoch)
    assert ConfigRecord(4, "", "min.insync.replicas", "1") in records


def test_an_advertised_host_is_a_new_registration() -> None:
    core = QuorumCore()
    end = core.quorum.log.log_end_offset
    epoch = core.cluster.nodes[0].epoch
    core.act(lambda: core.cluster.advertise(0, "other"))
    (record,) = records_in(core.quorum.log, end)
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_epoch, record.end_points[0].host) == (epoch, "other")


def test_who_shuts_down_is_told_before_its_partitions_change() -> None:
    """Else a leader outside waits with its high watermark for one that will not come back."""
    core = QuorumCore()
    outside_brokers.start(core, core.observer())
    create = core.cluster.controller.create_topics
    core.act(lambda: create([NewTopic("a", -1, -1, [(0, [1, 2])])]))
    epoch = core.quorum.translation.registrations[1].epoch
    end = core.quorum.log.log_end_offset
    core.act(lambda: core.cluster.controls.stop(1))
    leaving, elected, fenced = records_in(core.quorum.log, end)
    assert leaving == BrokerRegistrationChangeRecord(1, epoch, 0, 1)
    assert isinstance(elected, PartitionChangeRecord)
    assert (elected.leader, elected.isr) == (2, [2])
    assert fenced == BrokerRegistrationChangeRecord(1, epoch, 1)


def test_a_broker_of_this_process_that_starts_again_is_another_incarnation() -> None:
    core = QuorumCore()
    before = core.quorum.translation.registrations[1]
    core.act(lambda: core.cluster.controls.kill(1))
    end = core.quorum.log.log_end_offset
    core.act(lambda: core.cluster.controls.revive(1))
    record, unfenced = records_in(core.quorum.log, end)
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.fenced, record.broker_epoch) == (True, before.epoch + 1)
    assert record.incarnation_id != before.incarnation_id
    assert record.log_dirs == list(before.log_dirs)
    assert unfenced == BrokerRegistrationChangeRecord(1, before.epoch + 1, -1)
