"""The placement of a cluster that runs."""

from __future__ import annotations

from argparse import Namespace

from mockbroker import MockBroker
from mockbroker.pipeline.what_if.cluster import placement_of


def test_each_partition_has_its_leader_first() -> None:
    config = {"default.replication.factor": "2"}
    with MockBroker(brokers=3, topics={"orders": 4}, config=config) as broker:
        asked = Namespace(bootstrap=broker.bootstrap_servers.split(",")[0], kafka=[], conf=[])
        placed = [each for each in placement_of(asked) if each[0] == "orders"]
        assert [index for _, index, _ in placed] == [0, 1, 2, 3]
        for _, index, nodes in placed:
            assert nodes[0] == broker.cluster.leader("orders", index)
            assert sorted(nodes) == sorted(broker.cluster.replicas("orders", index))
