"""A consumer group as the replay of its records."""

from __future__ import annotations

from collections import Counter

from mockbroker.coordinator.group.consumer.group import ConsumerGroup, preferred
from mockbroker.coordinator.group.consumer.group_records import (
    assignment_record,
    epoch_record,
    group_tombstones,
    member_record,
    member_tombstones,
    partition_metadata_tombstone,
    target_epoch_record,
    target_record,
)
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.records import CoordinatorRecord
from mockbroker_protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)

ONE = bytes([1]) * 16


def replay(group: ConsumerGroup, *records: CoordinatorRecord) -> None:
    for record in records:
        group.replay(record.key, record.value)


def test_its_state_follows_from_its_epochs_and_members() -> None:
    group = ConsumerGroup("g")
    assert (group.state_name, group.epoch, group.assignment_epoch) == ("Empty", 1, -1)
    member = ConsumerMember("m", topic_names=frozenset(["t"]))
    replay(group, member_record("g", member), epoch_record("g", 2, 77))
    assert (group.state_name, group.metadata_hash) == ("Assigning", 77)
    replay(group, target_record("g", "m", {ONE: (0,)}), target_epoch_record("g", 2, 5))
    assert group.state_name == "Reconciling"
    done = ConsumerMember("m", epoch=2, assigned={ONE: {0: 2}})
    replay(group, assignment_record("g", done))
    assert group.state_name == "Stable"
    assert group.partition_epochs == {(ONE, 0): 2}
    replay(group, *member_tombstones("g", "m"))
    assert (group.state_name, group.partition_epochs, group.target_owners) == ("Empty", {}, {})


def test_counts_follow_the_members() -> None:
    group = ConsumerGroup("g")
    member = ConsumerMember(
        "m",
        instance_id="i",
        topic_names=frozenset(["t"]),
        topic_regex="a.*",
        server_assignor="range",
        classic=ClassicMemberMetadata(1, [ClassicProtocol("range", b"")]),
    )
    replay(group, member_record("g", member))
    assert (group.name_counts, group.regex_counts) == (Counter(t=1), Counter({"a.*": 1}))
    assert (group.preferred_assignor(), group.classic_count) == ("range", 1)
    assert group.supports_protocols("consumer", {"range", "x"})
    assert not group.supports_protocols("consumer", {"x"})
    assert not group.supports_protocols("connect", {"range"})
    assert group.static_member("i") is group.members["m"]
    replay(group, *group_tombstones(group))
    assert (group.name_counts, group.regex_counts, group.assignors) == ({}, {}, {})
    assert group.static_member("i") is None
    assert (group.assignment_epoch, group.classic_count) == (-1, 0)


def test_a_partition_that_moved_stays_with_its_new_owner() -> None:
    group = ConsumerGroup("g")
    replay(group, target_record("g", "a", {ONE: (0,)}), target_record("g", "b", {ONE: (0,)}))
    replay(group, target_record("g", "a", {}))
    assert group.target_owners == {(ONE, 0): "b"}


def test_what_kafka_4_0_wrote_is_noticed() -> None:
    group = ConsumerGroup("g")
    value = ConsumerGroupPartitionMetadataValue()
    replay(group, CoordinatorRecord(ConsumerGroupPartitionMetadataKey("g"), value))
    assert group.has_partition_metadata
    replay(group, partition_metadata_tombstone("g"))
    assert not group.has_partition_metadata


def test_of_equally_many_votes_the_first_in_the_map_wins() -> None:
    assert preferred(Counter()) is None
    assert preferred(Counter(uniform=1, range=2)) == "range"
    assert preferred(Counter(b=1, a=1)) == "a"


def test_the_metadata_is_looked_at_once_and_when_asked() -> None:
    group = ConsumerGroup("g")
    assert group.has_metadata_expired(0)
    group.metadata_deadline_ms = 10
    assert not group.has_metadata_expired(9)
    group.metadata_seen_epoch = 5  # an epoch that was never written
    assert group.has_metadata_expired(9)
    group.metadata_seen_epoch = 0
    group.request_metadata_refresh()
    assert group.has_metadata_expired(0)


def test_what_a_member_had_at_an_older_epoch_is_not_taken_from_the_next_owner() -> None:
    group = ConsumerGroup("g")
    for name, epoch in (("a", 2), ("b", 3)):
        owner = ConsumerMember(name, epoch=epoch, assigned={ONE: {0: epoch}})
        replay(group, assignment_record("g", owner))
    replay(group, assignment_record("g", ConsumerMember("a", epoch=3)))
    assert group.partition_epochs == {(ONE, 0): 3}
