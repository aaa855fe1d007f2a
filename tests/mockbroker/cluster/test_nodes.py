"""A node up and down, and the fault rules that find it so."""

from __future__ import annotations

from mockbroker.cluster.nodes import Node, NodeWatcher
from mockbroker.config.broker import BrokerConfig
from mockbroker.faults import Fault
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core


class Watcher(NodeWatcher):
    def __init__(self) -> None:
        self.told: list[str] = []

    def leaving(self) -> None:
        self.told.append("leaving")

    def down(self) -> None:
        self.told.append("down")

    def up(self) -> None:
        self.told.append("up")

    def network_faults_changed(self) -> None:
        self.told.append("network faults")


def test_a_node_is_down_before_it_was_started() -> None:
    node = Node(0, BrokerConfig({"node.id": "7", "broker.rack": "a"}))
    assert (node.node_id, node.info.rack, node.incarnation, node.broker) == (7, "a", None, None)


def test_the_only_node_is_up_and_sends_its_peers_nothing() -> None:
    core = Core()
    (node,) = core.cluster.nodes
    assert node.broker is core.broker
    assert (core.cluster.interconnect.feeds, core.cluster.peers) == ([], None)


def test_its_watcher_hears_how_it_goes_and_comes() -> None:
    core = ClusterCore()
    node = core.cluster.nodes[1]
    watcher = node.watcher = Watcher()
    core.controls.stop(2)
    assert node.broker is None
    core.controls.revive(2)
    core.controls.kill(2)
    assert watcher.told == ["leaving", "down", "up", "down"]


def test_a_broker_that_comes_back_goes_by_the_rules_that_were_made_meanwhile() -> None:
    core = ClusterCore()
    node = core.cluster.nodes[1]
    watcher = node.watcher = Watcher()
    core.controls.kill(2)
    core.cluster.faults.add([Fault(api="Metadata", error="UNKNOWN_SERVER_ERROR")])
    core.cluster.faults.add([Fault(latency_ms=5)])
    core.controls.revive(2)
    assert node.broker is not None
    assert node.broker.requests.faults is core.cluster.faults
    assert [rule.fault.latency is not None for rule in node.network_faults] == [True]
    assert watcher.told == ["down", "network faults", "up"]
