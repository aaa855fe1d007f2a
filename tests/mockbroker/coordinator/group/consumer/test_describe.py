"""ConsumerGroupDescribe."""

from __future__ import annotations

from tests.support.consumer_groups import ConsumerWorld


def test_a_member_has_what_it_still_has_to_give_up() -> None:
    world = ConsumerWorld()
    one = world.consumer("m1", rack="r", instance="i", assignor="range")
    world.consumer("m2", regex="t")
    world.beat("m1", one.epoch, instance="i")
    group = world.describe()
    assert (group.assignor_name, group.group_state) == ("range", "Reconciling")
    first, second = group.members
    assert (first.rack_id, first.instance_id, first.client_host) == ("r", "i", "/127.0.0.1")
    assert first.subscribed_topic_names == ["t"]
    assert second.subscribed_topic_regex == "t"
    assert [one.partitions for one in first.assignment.topic_partitions] == [[0, 1]]
    assert [one.topic_name for one in first.target_assignment.topic_partitions] == ["t"]
    assert first.member_type == 1


def test_topics_that_are_gone_are_not_shown() -> None:
    world = ConsumerWorld()
    world.beat()
    world.delete("t")
    (member,) = world.describe().members
    assert member.assignment.topic_partitions == member.target_assignment.topic_partitions == []
