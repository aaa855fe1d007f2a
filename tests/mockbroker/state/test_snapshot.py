"""Back to what a cluster kept, and what its clients are told on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import (
    AclsChanged,
    ClientQuotasChanged,
    ConfigsChanged,
    DelegationTokenChanged,
    ScramCredentialChanged,
)
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.scram import ScramCredential
from mockbroker.metadata.topic_requests import NewPartitions, TopicReference
from mockbroker.state.groups import commit_offsets, committed_offsets, describe_group, group_ids
from mockbroker.state.partitions import leading_partition
from mockbroker.state.reading import READ_COMMITTED, TopicReader
from mockbroker.state.snapshot import restore, take
from mockbroker.state.writing import NewRecord, create_topic, delete_records, delete_topic, put
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core, CoreClient
from tests.support.group_calls import consumer_heartbeat, join_group, stable_group
from tests.support.inside import make_cluster
from tests.support.transactions import Transactional

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster


def values(cluster: Cluster, topic: str = "orders") -> list[bytes]:
    return [record.value for record in TopicReader(topic).read(cluster)]


def fetch_request(
    core: Core, offset: int, *, epoch: int = -1, max_wait_ms: int = 0
) -> FetchRequest:
    partition = FetchRequestPartition(0, epoch, offset, partition_max_bytes=1 << 20)
    topic = FetchRequestTopic(
        topic_id=core.cluster.metadata.topics["orders"].id, partitions=[partition]
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=[topic]
    )


def fetch(client: CoreClient, offset: int, epoch: int = -1) -> FetchResponsePartition:
    request = fetch_request(client.core, offset, epoch=epoch)
    return client.call(request, 13, FetchResponse).responses[0].partitions[0]


def test_everything_is_as_it_was() -> None:
    cluster = make_cluster({"orders": 2})
    create_topic(cluster, "payments", 1, configs={"retention.ms": "1000"})
    put(cluster, "orders", [NewRecord(b"%d" % at, b"k") for at in range(5)])
    commit_offsets(cluster, "g", {("orders", 0): 3})
    snapshot = take(cluster)
    before = [(one.name, one.topic_id, one.configs) for one in snapshot.topics]

    delete_topic(cluster, "payments")
    create_topic(cluster, "later")
    put(cluster, "orders", [NewRecord(b"late") for _ in range(4)])
    commit_offsets(cluster, "g", {("orders", 0): 9})
    commit_offsets(cluster, "other", {("orders", 0): 9})
    restore(cluster, snapshot)

    again = take(cluster)
    assert sorted((one.name, one.topic_id, one.configs) for one in again.topics) == sorted(before)
    assert values(cluster) == [b"0", b"1", b"2", b"3", b"4"]
    assert committed_offsets(cluster, "g") == {("orders", 0): 3}
    assert group_ids(cluster) == ["g"]
    assert put(cluster, "orders", [NewRecord(b"on", b"k")])[0].offset == 5
    assert values(cluster) == [b"0", b"1", b"2", b"3", b"4", b"on"]


def test_a_snapshot_is_not_touched_by_what_comes_after() -> None:
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"one")])
    snapshot = take(cluster)
    for _ in range(2):
        put(cluster, "orders", [NewRecord(b"two")])
        cluster.metadata.apply(ConfigsChanged(2, "orders", {"retention.ms": "5"}))
        restore(cluster, snapshot)
        assert values(cluster) == [b"one"]
        assert cluster.metadata.topics["orders"].configs == {}


def test_what_did_not_change_is_not_touched() -> None:
    cluster = make_cluster({"orders": 2})
    put(cluster, "orders", [NewRecord(b"one", partition=0), NewRecord(b"two", partition=1)])
    commit_offsets(cluster, "g", {("orders", 0): 1})
    partition = leading_partition(cluster, "orders", 0)
    assert partition is not None
    log, version = partition.log, cluster.metadata.version
    snapshot = take(cluster)
    restore(cluster, snapshot)
    assert (partition.log, partition.leader_epoch) == (log, 0)
    assert cluster.metadata.version == version
    put(cluster, "orders", [NewRecord(b"three", partition=1)])
    restore(cluster, snapshot)
    assert (partition.log, partition.leader_epoch) == (log, 0)


def test_a_reader_beyond_the_end_is_told_so() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    put(core.cluster, "orders", [NewRecord(b"one")])
    snapshot = take(core.cluster)
    put(core.cluster, "orders", [NewRecord(b"two"), NewRecord(b"three")])
    assert fetch(client, 3, epoch=0).error_code == ErrorCode.NONE
    restore(core.cluster, snapshot)
    assert fetch(client, 3, epoch=0).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert fetch(client, 3, epoch=1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(client, 1, epoch=1).error_code == ErrorCode.NONE
    log = core.cluster.brokers[0].services.replicas.partition("orders", 0)
    assert log is not None
    assert log.open_log().end_offset_for_epoch(0) == (0, 1)


def test_a_parked_fetch_is_answered() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    snapshot = take(core.cluster)
    put(core.cluster, "orders", [NewRecord(b"one")])
    client.send(fetch_request(core, 1, epoch=0, max_wait_ms=60_000), 13)
    assert client.answered == 0
    core.act(lambda: restore(core.cluster, snapshot))
    core.deliver()
    answer = client.receive(FetchResponse).responses[0].partitions[0]
    assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_deleted_topic_comes_back_under_its_id_with_a_higher_epoch() -> None:
    core = Core(topics={"orders": 1})
    topic_id = core.cluster.metadata.topics["orders"].id
    put(core.cluster, "orders", [NewRecord(b"one")])
    snapshot = take(core.cluster)
    for _ in range(3):
        put(core.cluster, "orders", [NewRecord(b"two")])
        restore(core.cluster, snapshot)
    partition = leading_partition(core.cluster, "orders", 0)
    assert partition is not None
    delete_topic(core.cluster, "orders")
    create_topic(core.cluster, "orders")
    restore(core.cluster, snapshot)
    again = leading_partition(core.cluster, "orders", 0)
    assert again is not None
    assert again.topic_id == topic_id
    assert again.leader_epoch > partition.leader_epoch == 3
    assert values(core.cluster) == [b"one"]


def test_a_topic_that_grew_shrinks_and_one_that_was_small_grows() -> None:
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"one")])
    small = take(cluster)
    cluster.controller.create_partitions([NewPartitions("orders", 3)])
    put(cluster, "orders", [NewRecord(b"two", partition=2)])
    large = take(cluster)
    restore(cluster, small)
    assert len(cluster.metadata.topics["orders"].partitions) == 1
    assert values(cluster) == [b"one"]
    restore(cluster, large)
    assert len(cluster.metadata.topics["orders"].partitions) == 3
    assert values(cluster) == [b"one", b"two"]


def test_a_log_that_does_not_start_at_its_first_record_comes_back_so() -> None:
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"%d" % at) for at in range(4)])
    partition = leading_partition(cluster, "orders", 0)
    assert partition is not None
    partition.delete_records_before(2)
    half = take(cluster)
    delete_records(cluster, "orders")
    gone = take(cluster)
    delete_topic(cluster, "orders")
    restore(cluster, half)
    assert values(cluster) == [b"2", b"3"]
    restore(cluster, gone)
    assert values(cluster) == []
    assert put(cluster, "orders", [NewRecord(b"next")])[0].offset == 4


def test_members_learn_that_they_are_unknown_and_offsets_are_back() -> None:
    core = Core(topics={"orders": 1})
    commit_offsets(core.cluster, "g", {("orders", 0): 1})
    snapshot = take(core.cluster)
    client = core.client()
    member_id = stable_group(client)
    restore(core.cluster, snapshot)
    assert describe_group(core.cluster, "g").state == "Empty"
    assert committed_offsets(core.cluster, "g") == {("orders", 0): 1}
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    answer = client.call(heartbeat, 4, HeartbeatResponse)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert join_group(client).error_code == ErrorCode.NONE


def test_groups_come_back_without_their_members() -> None:
    core = Core(topics={"orders": 1})
    stable_group(core.client())
    snapshot = take(core.cluster)
    delete_topic(core.cluster, "__consumer_offsets")
    assert describe_group(core.cluster, "g").state == "Dead"
    restore(core.cluster, snapshot)
    group = describe_group(core.cluster, "g")
    assert (group.state, group.members) == ("Empty", [])
    assert join_group(core.client()).error_code == ErrorCode.NONE


def test_consumer_groups_come_back_without_their_members() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    epoch = consumer_heartbeat(client, "m1", topics=["orders"]).member_epoch
    snapshot = take(core.cluster)
    consumer_heartbeat(client, "m1", -1)
    commit_offsets(core.cluster, "g", {("orders", 0): 5})
    restore(core.cluster, snapshot)
    group = describe_group(core.cluster, "g")
    assert (group.state, group.members, group.group_type) == ("Empty", [], "consumer")
    assert committed_offsets(core.cluster, "g") == {}
    answer = consumer_heartbeat(client, "m1", epoch)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert consumer_heartbeat(client, "m2", topics=["orders"]).error_code == ErrorCode.NONE
    assert describe_group(core.cluster, "g").state == "Stable"


def test_transactions_and_producers_come_back() -> None:
    core = Core(topics={"orders": 1})
    producer = Transactional.begin(core)
    producer.add({"orders": [0]})
    producer.write("orders", 0, "one")
    producer.finish(commit=True)
    rested = take(core.cluster)
    producer.add({"orders": [0]})
    producer.write("orders", 0, "two")
    ongoing = take(core.cluster)
    producer.finish(commit=True)
    restore(core.cluster, ongoing)
    assert producer.state == "Ongoing"
    committed = TopicReader("orders", isolation=READ_COMMITTED)
    assert [record.value for record in committed.read(core.cluster)] == [b"one"]
    restore(core.cluster, rested)
    assert producer.state == "CompleteCommit"
    assert [record.value for record in committed.read(core.cluster)] == [b"one"]
    partition = leading_partition(core.cluster, "orders", 0)
    assert partition is not None
    assert partition.log is not None
    assert partition.log.producers is not None
    assert list(partition.log.producers.producers) == [producer.producer_id]


def test_producer_ids_are_never_given_out_twice() -> None:
    core = Core()
    snapshot = take(core.cluster)
    first = Transactional.begin(core, "a").producer_id
    restore(core.cluster, snapshot)
    assert Transactional.begin(core, "b").producer_id > first


def test_configs_of_brokers_come_back() -> None:
    cluster = make_cluster()
    snapshot = take(cluster)
    cluster.metadata.apply(ConfigsChanged(4, "", {"log.retention.ms": "5"}))
    restore(cluster, snapshot)
    assert cluster.metadata.config.text("log.retention.ms") is None
    assert repr(snapshot) == "<Snapshot of 0 topics: >"


def test_quotas_and_acls_come_back() -> None:
    core = ClusterCore()
    store = core.cluster.metadata
    kept, other = (("user", "u"),), (("client-id", None),)
    acls = [Acl(2, name, 3, "User:mallory", "*", 3, 2) for name in ("a", "b", "c")]
    store.apply(ClientQuotasChanged(kept, {"producer_byte_rate": 7.0}))
    store.apply(AclsChanged(acls, ()))
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    store.apply(ScramCredentialChanged(("alice", 1), credential))
    token = DelegationToken("id", "User:a", "User:a", (), 1, 9, 5, b"")
    store.apply(DelegationTokenChanged("id", token))
    snapshot = take(core.cluster)

    def spoil() -> None:
        store.apply(ClientQuotasChanged(kept, {"producer_byte_rate": 8.0}))
        store.apply(ClientQuotasChanged(other, {"consumer_byte_rate": 8.0}))
        store.apply(AclsChanged([Acl(2, "d", 3, "User:eve", "*", 3, 2)], acls[:1]))
        store.apply(ScramCredentialChanged(("eve", 1), ScramCredential(b"e", b"v", b"e", 5000)))
        store.apply(ScramCredentialChanged(("alice", 1), None))
        store.apply(DelegationTokenChanged("id", None))
        store.apply(DelegationTokenChanged("other", token._replace(token_id="other")))

    core.act(spoil)
    core.act(lambda: restore(core.cluster, snapshot))
    core.advance(1_000)
    for broker in core.cluster.brokers:
        told = broker.services.metadata
        assert told.client_quotas == {kept: {"producer_byte_rate": 7.0}}
        assert list(told.acls) == acls
        assert told.scram_credentials == {("alice", 1): credential}
        assert told.delegation_tokens == {"id": token}
    assert take(core.cluster)._replace(version=0) == snapshot._replace(version=0)


def test_configs_of_every_broker_come_back_even_to_one_that_is_down() -> None:
    core = ClusterCore()
    store = core.cluster.metadata
    for node in ("1", "2", "3"):
        store.apply(ConfigsChanged(4, node, {"log.retention.ms": node}))
    core.advance(1_000)
    snapshot = take(core.cluster)
    assert sorted(snapshot.broker_configs) == ["", "1", "2", "3"]
    for node in ("1", "2", "3"):
        store.apply(ConfigsChanged(4, node, {"log.retention.bytes": "7"}))
    core.advance(1_000)
    core.controls.stop(3)
    restore(core.cluster, snapshot)
    core.advance(1_000)
    core.controls.revive(3)
    core.advance(1_000)
    for broker in core.cluster.brokers:
        config = broker.services.config
        assert config.int("log.retention.ms") == config.node_id
        assert config.int("log.retention.bytes") == -1


def test_a_topic_that_was_deleted_comes_back_with_its_records_on_every_broker() -> None:
    core = ClusterCore(topics={"t": 1, "u": 1})
    for name in ("t", "u"):
        core.client(node=core.state(name).leader).produce(name, b"a")
    core.advance(1_000)
    snapshot = take(core.cluster)
    delete = [TopicReference("t")]
    core.act(lambda: core.cluster.controller.delete_topics(delete))
    core.client(node=core.state("u").leader).produce("u", b"b")
    core.advance(1_000)
    core.act(lambda: restore(core.cluster, snapshot))
    core.advance(1_000)
    for name in ("t", "u"):
        assert [core.values(node, name) for node in (1, 2, 3)] == [[b"a"]] * 3
        assert sorted(core.state(name).isr) == [1, 2, 3]
