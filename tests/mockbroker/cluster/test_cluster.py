"""The cluster puts a node together from configs, topics and one seed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.config.errors import ConfigError
from mockbroker.faults import Fault
from tests.support.cluster_core import ClusterCore


def cluster(seed: int = 0, **topics: int | None) -> Cluster:
    return Cluster({}, topics, substream=lambda name: Random(f"{seed}/{name}"), epoch_ms=0)


def test_topics_are_there_from_the_start() -> None:
    made = cluster(orders=6, logs=None)
    counts = {name: len(topic.partitions) for name, topic in made.metadata.topics.items()}
    assert counts == {"orders": 6, "logs": 1}
    replicas = made.brokers[0].services.replicas
    assert replicas.partition("orders", 5) is not None
    assert replicas.partition("orders", 6) is None


def test_the_cluster_id_is_written_as_kafka_writes_it() -> None:
    cluster_id = cluster().metadata.cluster_id
    assert len(cluster_id) == 22
    assert set(cluster_id) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


def test_one_seed_gives_one_cluster() -> None:
    def ids(made: Cluster) -> tuple[str, bytes]:
        return made.metadata.cluster_id, made.metadata.topics["orders"].id

    assert ids(cluster(3, orders=1)) == ids(cluster(3, orders=1))
    assert ids(cluster(3, orders=1)) != ids(cluster(4, orders=1))


def test_node_id_and_profile_come_from_the_config() -> None:
    made = Cluster(
        {"node.id": "7", "mockbroker.version.profile": "4.4"}, {}, substream=Random, epoch_ms=0
    )
    assert list(made.metadata.brokers) == [7]
    assert made.brokers[0].registry.advertised()[1] == (4, 18)


@pytest.mark.parametrize(
    ("config", "topics", "needle"),
    [
        ({"no.such.key": "1"}, {}, r"no\.such\.key"),
        ({"num.partitions": "0"}, {}, r"num\.partitions"),
        ({}, {"a.b": 1, "a_b": 1}, "topic a_b: .*collides"),
    ],
)
def test_what_cannot_be_is_refused(
    config: dict[str, str], topics: dict[str, int | None], needle: str
) -> None:
    with pytest.raises(ConfigError, match=needle):
        Cluster(config, topics, substream=Random, epoch_ms=0)


def test_an_advertised_host_reaches_the_metadata() -> None:
    made = cluster()
    made.advertise(0, "kafka.test")
    (broker,) = made.metadata.brokers.values()
    assert broker.endpoints["PLAINTEXT"].host == "kafka.test"


def test_a_rule_may_be_armed_while_no_broker_is_up() -> None:
    core = ClusterCore(topics={"t": 1})
    for node in list(core.cluster.metadata.brokers):
        core.controls.kill(node)
    assert core.cluster.brokers == []
    core.cluster.faults.add(Fault(api="Produce", error=56, maybe=True))
    core.controls.revive(1)
    assert [armed.fault.api for armed in core.cluster.faults.list()] == ["Produce"]
