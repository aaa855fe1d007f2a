"""Metadata as a client sees it, version by version."""

from __future__ import annotations

import pytest

from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged, LeaderChanged, PartitionState
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.support.core import Core

NO_ID = bytes(16)
OTHER_ID = bytes(15) + b"\x05"
NOT_ASKED = -(2**31)


@pytest.fixture
def core() -> Core:
    return Core(topics={"a": 2, "b": 1})


def ask(
    core: Core,
    version: int,
    topics: list[str] | list[MetadataRequestTopic] | None,
    *,
    allow: bool = True,
    cluster_operations: bool = False,
    topic_operations: bool = False,
) -> MetadataResponse:
    wanted = None
    if topics is not None:
        wanted = [
            MetadataRequestTopic(name=topic) if isinstance(topic, str) else topic
            for topic in topics
        ]
    request = MetadataRequest(wanted, allow, cluster_operations, topic_operations)
    return core.client().call(request, version, MetadataResponse)


def found(response: MetadataResponse) -> list[tuple[str | None, int]]:
    return [(topic.name, topic.error_code) for topic in response.topics]


def topic_id(core: Core, name: str) -> bytes:
    return core.cluster.metadata.topics[name].id


@pytest.mark.parametrize("version", range(14))
def test_topics_come_in_the_order_asked_for_and_once(core: Core, version: int) -> None:
    answer = ask(core, version, ["b", "a", "b"])
    assert found(answer) == [("b", 0), ("a", 0)]
    topic: MetadataResponseTopic = answer.topics[1]
    assert [each.partition_index for each in topic.partitions] == [0, 1]
    assert {
        (each.leader_id, *each.replica_nodes, *each.isr_nodes) for each in topic.partitions
    } == {(1, 1, 1)}
    assert topic.partitions[0].leader_epoch == (0 if version >= 7 else -1)
    assert topic.topic_id == (topic_id(core, "a") if version >= 10 else NO_ID)
    assert answer.cluster_id == (core.cluster.metadata.cluster_id if version >= 2 else None)
    assert answer.controller_id == (1 if version >= 1 else -1)
    assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [
        (1, "127.0.0.1", 9092)
    ]


@pytest.mark.parametrize("version", range(14))
def test_an_empty_list_means_all_in_version_0_and_none_after_it(core: Core, version: int) -> None:
    assert found(ask(core, version, [])) == ([("a", 0), ("b", 0)] if version == 0 else [])


@pytest.mark.parametrize("version", range(1, 14))
def test_null_means_all(core: Core, version: int) -> None:
    assert found(ask(core, version, None)) == [("a", 0), ("b", 0)]


def test_clients_are_told_the_advertised_host(core: Core) -> None:
    core.cluster.advertise(0, "kafka.example")
    (broker,) = ask(core, 12, None).brokers
    assert (broker.host, broker.port) == ("kafka.example", 9092)


def test_a_missing_topic_is_created_and_answered_with_error_3_first(core: Core) -> None:
    answer = ask(core, 12, ["new", "a b", "__consumer_offsets", "a"])
    assert found(answer) == [("a", 0), ("a b", 17), ("new", 3), ("__consumer_offsets", 3)]
    assert [topic.is_internal for topic in answer.topics] == [False, False, False, True]
    assert found(ask(core, 12, ["new"])) == [("new", 0)]
    assert len(ask(core, 12, ["__consumer_offsets"]).topics[0].partitions) == 50


@pytest.mark.parametrize("version", range(4))
def test_old_versions_always_allow_creation(core: Core, version: int) -> None:
    assert found(ask(core, version, ["new"])) == [("new", 3)]
    assert "new" in core.cluster.metadata.topics


@pytest.mark.parametrize(("allow", "enabled"), [(False, "true"), (True, "false")])
def test_creation_needs_the_client_and_the_broker(allow: bool, enabled: str) -> None:
    core = Core(config={"auto.create.topics.enable": enabled})
    assert found(ask(core, 4, ["new", "a b"], allow=allow)) == [("new", 3), ("a b", 17)]
    assert not core.cluster.metadata.topics


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_found_by_id(core: Core, version: int) -> None:
    wanted = [
        MetadataRequestTopic(topic_id(core, "b"), None),
        MetadataRequestTopic(OTHER_ID, None),
        MetadataRequestTopic(name="a"),
    ]
    answer = ask(core, version, wanted, topic_operations=True)
    # Names beside an id are not looked at.
    assert found(answer) == [(None, 100), ("b", 0)]
    assert [topic.topic_id for topic in answer.topics] == [OTHER_ID, topic_id(core, "b")]
    assert [topic.topic_authorized_operations for topic in answer.topics] == [NOT_ASKED, 3576]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("name", ["a", None])
def test_ids_are_refused_before_version_12(core: Core, version: int, name: str | None) -> None:
    wanted = [MetadataRequestTopic(OTHER_ID, name), MetadataRequestTopic(name="b")]
    answer = ask(core, version, wanted)
    assert found(answer) == [(name or "", 42), ("b", 42)]
    assert (answer.brokers, answer.cluster_id, answer.controller_id) == ([], None, -1)


def test_a_topic_without_name_and_id_fails_the_request(core: Core) -> None:
    answer = ask(core, 13, [MetadataRequestTopic(NO_ID, None)])
    assert (answer.error_code, found(answer)) == (-1, [("", -1)])


@pytest.mark.parametrize("version", range(8, 14))
def test_authorized_operations_are_told_when_asked_for(core: Core, version: int) -> None:
    answer = ask(core, version, ["a"])
    assert answer.cluster_authorized_operations == NOT_ASKED
    assert answer.topics[0].topic_authorized_operations == NOT_ASKED
    with_cluster = version <= 10
    answer = ask(
        core, version, ["a", "x y"], cluster_operations=with_cluster, topic_operations=True
    )
    assert answer.cluster_authorized_operations == (8096 if with_cluster else NOT_ASKED)
    assert [topic.topic_authorized_operations for topic in answer.topics] == [3576, 3576]


def test_a_partition_without_a_living_leader_says_so(core: Core) -> None:
    store = core.cluster.metadata
    store.apply(BrokerChanged(BrokerInfo(2, fenced=True)))
    store.apply(LeaderChanged("a", topic_id(core, "a"), 0, PartitionState(2, [1, 2], [2])))
    first, second = ask(core, 12, ["a"]).topics[0].partitions
    assert (first.error_code, first.leader_id, first.offline_replicas) == (5, -1, [2])
    assert (second.error_code, second.leader_id, second.offline_replicas) == (0, 1, [])
    assert [broker.node_id for broker in ask(core, 12, None).brokers] == [1]
