"""What a test does to the brokers of a cluster from its own thread."""

from __future__ import annotations

import pytest

from mockbroker.cluster.node_controls import ControlError
from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker.testing.mock_broker import MockBroker


def test_a_cluster_is_seen_and_changed_from_outside() -> None:
    with MockBroker(brokers=3, racks=["a", "b", "c"], topics={"t": 1}, seed=1) as broker:
        cluster = broker.cluster
        assert len(broker.bootstrap_servers.split(",")) == 3
        assert cluster.brokers == [1, 2, 3]
        leader = cluster.leader("t", 0)
        assert cluster.replicas("t", 0)[0] == leader
        cluster.kill(leader)
        assert leader not in cluster.brokers
        new = cluster.leader("t", 0)
        assert new not in (leader, -1)
        cluster.revive(leader)
        assert cluster.brokers == [1, 2, 3]
        other = next(node for node in cluster.isr("t", 0) if node != new)
        cluster.move_leader("t", 0, to=other)
        assert cluster.leader("t", 0) == other
        cluster.elect_preferred("t", 0)
        assert cluster.leader("t", 0) == cluster.replicas("t", 0)[0] == leader
        cluster.move_leader("t", 0, to=other)
        cluster.stop(other)
        assert cluster.leader("t", 0) not in (other, -1)


def test_followers_links_and_clocks_are_controlled_too() -> None:
    with MockBroker(brokers=3, topics={"t": 1}, seed=1) as broker:
        cluster = broker.cluster
        leader, follower, other = cluster.replicas("t", 0)
        cluster.hold_follower("t", 0, follower)
        cluster.shrink_isr("t", 0, without=follower)
        assert follower not in cluster.isr("t", 0)
        broker.topic("t").put(b"value")
        cluster.release_follower("t", 0, follower)
        assert sorted(cluster.isr("t", 0)) == [1, 2, 3]
        cluster.hold_high_watermark("t", 0)
        cluster.release_high_watermark("t", 0)
        cluster.tell_high_watermark(False)
        cluster.cut_link(leader, other)
        cluster.restore_link(leader, other)
        cluster.hold_link(leader, cluster.CONTROLLER)
        cluster.slow_link(leader, cluster.CONTROLLER, seconds=0.001)
        cluster.restore_link(leader, cluster.CONTROLLER)
        cluster.isolate(other)
        cluster.reconnect(other)
        cluster.skew_clock(other, seconds=60)
        cluster.fence(other)
        assert other not in cluster.isr("t", 0)
        cluster.unfence(other)
        assert other in cluster.isr("t", 0)


def test_replicas_move_and_what_each_holds_is_seen() -> None:
    with MockBroker(brokers=3, topics={"t": 1}, seed=1) as broker:
        cluster = broker.cluster
        leader, follower, other = cluster.replicas("t", 0)
        broker.topic("t").put("first")
        cluster.reassign("t", 0, [follower, other])
        cluster.wait_in_sync("t", 0, [follower, other])
        assert cluster.leader("t", 0) in (follower, other)
        assert cluster.records("t", 0, leader) == []
        assert [record.value for record in cluster.records("t", 0, other)] == [b"first"]
        cluster.hold_follower("t", 0, other)
        cluster.shrink_isr("t", 0, without=other)
        with pytest.raises(WaitTimeoutError, match=r"its replicas are \[2, 3\], in sync \[.\]"):
            cluster.wait_in_sync("t", 0, timeout=0.01)
        broker.topic("t").put("second")
        cluster.kill(follower)
        assert cluster.leader("t", 0) == -1
        cluster.elect_unclean("t", 0)
        assert cluster.leader("t", 0) == other
        assert [record.value for record in cluster.records("t", 0, other)] == [b"first"]
        assert [record.offset for record in cluster.records("t", 0, follower)] == [0, 1]
        coordinator = cluster.coordinator("g")
        (to,) = {1, 2, 3} - {coordinator, follower}
        cluster.move_coordinator("g", to=to)
        assert cluster.coordinator("g") == to


def test_a_mistake_is_raised_where_it_was_made() -> None:
    with (
        MockBroker(brokers=2) as broker,
        pytest.raises(ControlError, match="there is no broker 9"),
    ):
        broker.cluster.kill(9)
    with MockBroker() as alone, pytest.raises(ControlError, match="one broker only"):
        alone.cluster.kill(1)
