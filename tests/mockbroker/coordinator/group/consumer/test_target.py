"""The target of a group's epoch."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.group_records import member_record, target_record
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.group.consumer.target import Candidate, compute_target, may_compute
from mockbroker.coordinator.group.consumer.topic_view import TopicView
from mockbroker_protocol.messages.consumer_group_records import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from tests.support.groups import Groups


def made() -> tuple[ConsumerGroup, TopicView, bytes]:
    world = Groups(topics=(("t", 4),))
    view = TopicView(world.metadata)
    topic_id = world.metadata.topics["t"].id
    group = ConsumerGroup("g")
    first = ConsumerMember("a", topic_names=frozenset(["t"]), instance_id="i")
    for record in (member_record("g", first), target_record("g", "a", {topic_id: (0, 1, 2, 3)})):
        group.replay(record.key, record.value)
    return group, view, topic_id


def test_only_what_changes_is_recorded() -> None:
    group, view, topic_id = made()
    newcomer = ConsumerMember("b", topic_names=frozenset(["t"]))
    mine, records = compute_target(Candidate(group, None, newcomer, 3), view, "uniform", 99)
    assert mine == {topic_id: (2, 3)}
    values = [record.value for record in records]
    assert [type(one).__name__ for one in values] == [
        "ConsumerGroupTargetAssignmentMemberValue",
        "ConsumerGroupTargetAssignmentMemberValue",
        "ConsumerGroupTargetAssignmentMetadataValue",
    ]
    again, records = compute_target(
        Candidate(group, group.members["a"], group.members["a"], 4), view, "uniform", 99
    )
    assert again == {topic_id: (0, 1, 2, 3)}
    assert len(records) == 1


def test_a_static_member_inherits_under_its_new_id() -> None:
    group, view, topic_id = made()
    old = group.members["a"]
    new = ConsumerMember("z", topic_names=old.topic_names, instance_id="i")
    mine, _ = compute_target(Candidate(group, old, new, 3), view, "uniform", 99)
    assert mine == {topic_id: (0, 1, 2, 3)}


def test_the_assignor_that_most_ask_for_computes() -> None:
    group, view, topic_id = made()
    newcomer = ConsumerMember("b", topic_names=frozenset(["t"]), server_assignor="range")
    mine, records = compute_target(Candidate(group, None, newcomer, 3), view, "uniform", 99)
    assert mine == {topic_id: (2, 3)}
    first = records[0].value
    assert isinstance(first, ConsumerGroupTargetAssignmentMemberValue)


def test_between_two_computations_lies_an_interval() -> None:
    group = ConsumerGroup("g")
    assert may_compute(group, 1000, 5)
    group.assignment_timestamp_ms = 100
    assert not may_compute(group, 1000, 1099)
    assert may_compute(group, 1000, 1100)
    assert may_compute(group, 0, 100)
