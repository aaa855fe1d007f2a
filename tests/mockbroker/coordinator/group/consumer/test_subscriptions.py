"""What subscriptions do to a group: epochs, hashes and expressions."""

from __future__ import annotations

import pytest

from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.errors import ErrorCode
from tests.support.consumer_groups import ConsumerWorld


def test_an_expression_is_resolved_after_the_join_and_counts_in_the_next_heartbeat() -> None:
    world = ConsumerWorld(topics=(("a1", 1), ("a2", 1), ("b", 1)))
    first = world.beat(regex="a.*")
    assert (first.member_epoch, world.held(first)) == (1, {})
    assert world.consumers().resolved["a.*"].topics == {"a1", "a2"}
    assert world.consumers().epoch == 2
    second = world.beat(epoch=1, owned={})
    assert (second.member_epoch, world.held(second)) == (2, {"a1": [0], "a2": [0]})


def test_a_new_topic_that_matches_is_found() -> None:
    world = ConsumerWorld(topics=(("a1", 1),))
    one = world.consumer("m1", regex="a.*")
    world.settle(one)
    world.controller.create_topics([NewTopic("a2", 2)])
    assert not one.beat()  # the last look is too young
    world.advance(10_001)
    one.beat()  # the look comes after it
    world.settle(one)
    assert one.owned == {"a1": [0], "a2": [0, 1]}


def test_an_old_look_is_renewed() -> None:
    world = ConsumerWorld({"group.consumer.regex.refresh.interval.ms": "20000"}, (("a1", 1),))
    one = world.consumer("m1", regex="a.*")
    before = world.consumers().resolved["a.*"].timestamp_ms
    world.advance(20_001)
    one.beat()
    assert world.consumers().resolved["a.*"].timestamp_ms == before + 20_001


def test_an_expression_that_is_known_counts_at_once() -> None:
    world = ConsumerWorld(topics=(("a1", 2),))
    one = world.consumer("m1", regex="a.*")
    world.settle(one)
    two = world.consumer("m2", regex="a.*")
    world.settle(one, two)
    assert one.owned == {"a1": [0]}
    assert two.owned == {"a1": [1]}


def test_an_expression_that_nobody_uses_is_forgotten() -> None:
    world = ConsumerWorld(topics=(("a1", 1), ("t", 1)))
    one = world.consumer("m1", regex="a.*")
    world.settle(one)
    one.beat(regex="", topics=["t"])
    world.settle(one)
    assert world.consumers().resolved == {}
    assert one.owned == {"t": [0]}
    two = world.consumer("m2", regex="b.*")
    two.leave()
    assert world.consumers().resolved == {}


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_bad_expression_is_refused_and_changes_nothing(epoch: int) -> None:
    world = ConsumerWorld()
    if epoch:
        world.beat(regex="")
    count = len(world.records())
    answer = world.beat(epoch=epoch, regex="[")
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "`[` is not a valid regular expression" in (answer.error_message or "")
    assert len(world.records()) == count


def test_names_and_an_expression_add_up() -> None:
    world = ConsumerWorld(topics=(("a1", 1), ("t", 1)))
    one = world.consumer("m1", regex="a.*", topics=["t"])
    world.settle(one)
    assert one.owned == {"a1": [0], "t": [0]}


def test_partitions_that_are_added_bump_the_epoch_at_the_next_heartbeat() -> None:
    world = ConsumerWorld()
    one = world.consumer("m1")
    world.grow("t", 4)
    assert world.consumers().epoch == 2
    assert one.beat()
    assert one.owned == {"t": [0, 1, 2, 3]}
    assert world.consumers().epoch == 3


def test_a_topic_that_is_deleted_is_dropped() -> None:
    world = ConsumerWorld(topics=(("t", 1), ("u", 1)))
    one = world.consumer("m1", topics=["t", "u"])
    world.delete("u")
    one.owned.pop("u")
    world.settle(one)
    assert one.owned == {"t": [0]}
