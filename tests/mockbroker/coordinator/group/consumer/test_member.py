"""A member and its records."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.member import (
    ConsumerMember,
    MemberState,
    assigned_of,
    assignment_value,
    metadata_value,
    state_of,
)
from mockbroker_protocol.messages.consumer_group_records import TopicPartitions

ONE = bytes([1]) * 16


def test_what_it_has_goes_into_its_record_and_back() -> None:
    member = ConsumerMember("m", epoch=4, assigned={ONE: {0: 3, 2: 4}})
    value = assignment_value(member)
    assert value.assigned_partitions == [TopicPartitions(ONE, [0, 2], [3, 4])]
    assert assigned_of(value.assigned_partitions, 4) == member.assigned


def test_partitions_without_epochs_count_from_the_members() -> None:
    assert assigned_of([TopicPartitions(ONE, [1], None)], 5) == {ONE: {1: 5}}
    assert assigned_of([TopicPartitions(ONE, [1], [1, 2])], -2) == {ONE: {1: 0}}


def test_it_is_reconciled_when_it_is_stable_at_the_targets_epoch() -> None:
    assert ConsumerMember("m", epoch=3).is_reconciled_to(3)
    assert not ConsumerMember("m", epoch=3).is_reconciled_to(4)
    waiting = ConsumerMember("m", epoch=3, state=MemberState.UNRELEASED_PARTITIONS)
    assert not waiting.is_reconciled_to(3)


def test_what_it_has_to_give_up_it_has() -> None:
    member = ConsumerMember("m", assigned={ONE: {0: 3}}, pending_revocation={ONE: {1: 2}})
    assert [member.assignment_epoch(ONE, index) for index in range(3)] == [3, 2, None]


def test_names_are_sorted_in_the_record() -> None:
    assert metadata_value(
        ConsumerMember("m", topic_names=frozenset("ba"))
    ).subscribed_topic_names == ["a", "b"]


def test_a_state_of_a_later_kafka_is_unknown() -> None:
    assert state_of(2) is MemberState.UNRELEASED_PARTITIONS
    assert state_of(9) is MemberState.UNKNOWN
