"""Topics as consumer groups see them."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.group.consumer.topic_view import TopicView
from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolTopicPartition,
)
from tests.support.consumer_groups import ConsumerWorld


def test_the_hash_tells_of_every_change() -> None:
    world = ConsumerWorld(topics=(("a", 1), ("b", 2)))
    view = TopicView(world.metadata)
    before = view.hash_of(["a", "b", "none"])
    assert view.hash_of(["b", "a"]) == before
    assert len({0, view.hash_of(["a"]), view.hash_of(["b"]), before}) == 4
    assert view.hash_of(["none"]) == 0
    world.grow("a", 3)
    assert view.hash_of(["a", "b"]) != before


def test_only_topics_that_are_there_are_subscribed() -> None:
    world = ConsumerWorld(topics=(("a", 1), ("b", 2)))
    view = TopicView(world.metadata)
    group = ConsumerGroup("g")
    group.resolved["b.*"] = ResolvedRegex(frozenset(["b", "bb"]), 0, 0)
    member = ConsumerMember("m", topic_names=frozenset(["a", "none"]), topic_regex="b.*")
    assert view.subscribed_ids(group, member) == {view.topic_id("a"), view.topic_id("b")}
    assert view.counts(view.subscribed_ids(group, member)) == {
        view.topic_id("a"): 1,
        view.topic_id("b"): 2,
    }


def test_partitions_change_between_names_and_ids() -> None:
    world = ConsumerWorld(topics=(("a", 3),))
    view = TopicView(world.metadata)
    named = [
        ConsumerProtocolTopicPartition("a", [0, 2]),
        ConsumerProtocolTopicPartition("none", [1]),
    ]
    found = view.partitions_of(named)
    assert found == {view.topic_id("a"): [0, 2]}
    assert view.named({**found, bytes(16): [1]}) == [("a", [0, 2])]
