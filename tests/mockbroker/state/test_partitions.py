"""Where a partition is led."""

from __future__ import annotations

from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker.state.partitions import leading_partition, topic_names
from tests.support.inside import make_cluster


def test_a_partition_is_found_where_it_is_led() -> None:
    cluster = make_cluster({"orders": 2})
    partition = leading_partition(cluster, "orders", 1)
    assert partition is not None
    assert partition.index == 1
    assert leading_partition(cluster, "orders", 2) is None
    assert leading_partition(cluster, "payments", 0) is None


def test_a_partition_without_a_leader_is_not_found() -> None:
    cluster = make_cluster({"orders": 1})
    topic = cluster.metadata.topics["orders"]
    state = PartitionState(-1, [1], [1], 1)
    cluster.metadata.apply(LeaderChanged("orders", topic.id, 0, state))
    assert leading_partition(cluster, "orders", 0) is None


def test_topics_of_coordinators_are_not_named() -> None:
    cluster = make_cluster({"orders": 1, "a": 1})
    cluster.controller.ensure_internal_topic("__consumer_offsets")
    assert topic_names(cluster) == ["a", "orders"]
