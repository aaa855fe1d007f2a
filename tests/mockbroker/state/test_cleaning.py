"""What was made since goes; what was there stays."""

from __future__ import annotations

from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.server.settings import Settings
from mockbroker.state.cleaning import delete_group, delete_since, holdings, reset
from mockbroker.state.groups import commit_offsets, describe_group, ensure_coordinators, group_ids
from mockbroker.state.reading import READ_COMMITTED, TopicReader
from mockbroker.state.writing import NewRecord, create_topic, delete_topic, put
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core
from tests.support.group_calls import consumer_heartbeat, stable_group
from tests.support.inside import make_cluster
from tests.support.transactions import Transactional


def test_only_what_is_new_goes() -> None:
    cluster = make_cluster({"old": 1})
    commit_offsets(cluster, "old", {("old", 0): 1})
    before = holdings(cluster)
    create_topic(cluster, "new", 2)
    commit_offsets(cluster, "new", {("old", 0): 1, ("new", 1): 5})
    put(cluster, "old", [NewRecord(b"stays")])
    delete_since(cluster, before)
    assert holdings(cluster) == before
    assert group_ids(cluster) == ["old"]
    assert [name for name in cluster.metadata.topics if name[0] != "_"] == ["old"]


def test_a_topic_that_was_made_anew_is_new() -> None:
    cluster = make_cluster({"orders": 1})
    before = holdings(cluster)
    delete_topic(cluster, "orders")
    create_topic(cluster, "orders")
    delete_since(cluster, before)
    assert list(cluster.metadata.topics) == []


def test_an_open_transaction_is_aborted_and_its_id_forgotten() -> None:
    core = Core(topics={"orders": 1})
    before = holdings(core.cluster)
    producer = Transactional.begin(core)
    producer.add({"orders": [0]})
    producer.write("orders", 0, "one")
    assert holdings(core.cluster).transactional_ids == {"tx"}
    delete_since(core.cluster, before)
    assert holdings(core.cluster) == before
    put(core.cluster, "orders", [NewRecord(b"two")])
    committed = TopicReader("orders", isolation=READ_COMMITTED).read(core.cluster)
    assert [record.value for record in committed] == [b"two"]
    assert producer.end(commit=True).error == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_members_of_a_group_that_goes_are_unknown() -> None:
    core = Core()
    client = core.client()
    member_id = stable_group(client)
    delete_since(core.cluster, holdings(make_cluster()))
    assert describe_group(core.cluster, "g").state == "Dead"
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    answer = client.call(heartbeat, 4, HeartbeatResponse)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_of_a_consumer_group_that_goes_are_unknown() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    epoch = consumer_heartbeat(client, "m1", topics=["orders"]).member_epoch
    delete_group(core.cluster, "g")
    assert describe_group(core.cluster, "g").state == "Dead"
    assert group_ids(core.cluster) == []
    answer = consumer_heartbeat(client, "m1", epoch)
    assert answer.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_MEMBER_ID)
    assert consumer_heartbeat(client, "m2", topics=["orders"]).error_code == ErrorCode.NONE
    core.advance(60_000)
    assert describe_group(core.cluster, "g").state == "Empty"


def test_a_group_that_is_not_there_is_no_trouble() -> None:
    cluster = make_cluster()
    delete_group(cluster, "nope")
    assert group_ids(cluster) == []


def test_a_fault_that_is_new_is_disarmed() -> None:
    cluster = make_cluster()
    cluster.faults.add({"id": "old", "api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER"})
    before = holdings(cluster)
    cluster.faults.add({"id": "new", "api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER"})
    delete_since(cluster, before)
    assert [armed.id for armed in cluster.faults.list()] == ["old"]


def test_a_reset_takes_away_a_consumer_group() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    epoch = consumer_heartbeat(client, "m1", topics=["orders"]).member_epoch
    reset(core.cluster, Settings(topics={"orders": 1}))
    assert group_ids(core.cluster) == []
    answer = consumer_heartbeat(client, "m1", epoch)
    assert answer.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_reset_of_several_brokers_leaves_what_they_were_started_with() -> None:
    core = ClusterCore(topics={"orders": 3})
    cluster = core.cluster
    cluster.metadata.apply(ConfigsChanged(4, "2", {"log.retention.ms": "5"}))
    cluster.metadata.apply(ConfigsChanged(4, "", {"log.retention.bytes": "6"}))
    create_topic(cluster, "other", 3)
    core.advance(1_000)
    put(cluster, "orders", [NewRecord(b"x", partition=at) for at in range(3)])
    ensure_coordinators(cluster)
    core.advance(1_000)
    commit_offsets(cluster, "g", {("other", 0): 1})
    core.advance(1_000)
    assert group_ids(cluster) == ["g"]
    reset(cluster, Settings(topics={"orders": 3}))
    core.advance(1_000)
    assert [name for name in cluster.metadata.topics if name[0] != "_"] == ["orders"]
    assert TopicReader("orders").read(cluster) == []
    assert group_ids(cluster) == []
    for broker in cluster.brokers:
        config = broker.services.config
        assert (config.text("log.retention.ms"), config.int("log.retention.bytes")) == (None, -1)
    put(cluster, "orders", [NewRecord(b"y", partition=at) for at in range(3)])
    core.advance(1_000)
    assert len(TopicReader("orders").read(cluster)) == 3


def test_a_reset_keeps_what_the_settings_say() -> None:
    cluster = make_cluster()
    create_topic(cluster, "other")
    commit_offsets(cluster, "g", {("other", 0): 1})
    cluster.faults.add({"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER"})
    records = [{"topic": "orders", "value": "one"}]
    reset(cluster, Settings(topics={"orders": 2}, records=records))
    assert list(cluster.metadata.topics) == ["orders"]
    assert len(TopicReader("orders").read(cluster)) == 1
    assert not cluster.faults.list()
    assert group_ids(cluster) == []


def test_a_reset_registers_the_only_broker_again() -> None:
    core = Core(topics={"orders": 1})
    core.cluster.advertise(0, "kafka.test", 9093)
    before = core.cluster.metadata.brokers.copy()
    assert not core.cluster.controller.unregister_broker(1).error
    core.act(lambda: reset(core.cluster, Settings(topics={"orders": 2})))
    assert core.cluster.metadata.brokers == before
    put(core.cluster, "orders", [NewRecord(b"one")])


def test_a_reset_registers_brokers_of_a_cluster_again() -> None:
    core = ClusterCore(topics={"orders": 2})
    core.act(lambda: core.cluster.controller.unregister_broker(2))
    core.act(lambda: reset(core.cluster, Settings(brokers=3, topics={"orders": 3})))
    core.advance(60_000)
    assert [broker.node_id for broker in core.cluster.metadata.alive_brokers()] == [1, 2, 3]
    assert {state.leader for state in core.cluster.metadata.topics["orders"].partitions} == {
        1,
        2,
        3,
    }
