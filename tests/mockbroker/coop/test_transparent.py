"""Groups that are divided without their members' knowledge."""

from __future__ import annotations

from mockbroker.coop.extension import extension_of
from mockbroker.coop.transparent import ranges_in
from mockbroker.coordinator.group.consumer.classic_bytes import whole_assignment
from tests.support.core import Core
from tests.support.keyed_log import HIGH, LOW
from tests.support.plain_members import PlainGroup
from tests.support.range_group import ON

DIVIDED = {**ON, "coop.transparent.groups": "other,g"}


def partitions(group: PlainGroup) -> list[list[tuple[str, list[int]]]]:
    return [
        [(one.topic, one.partitions) for one in whole_assignment(data).assigned_partitions]
        for data in group.assigned
    ]


def has_ranges(group: PlainGroup) -> bool:
    transparent = extension_of(group.core.broker.services).transparent
    return any(ranges_in(owner, "t", 0) for owner in transparent.owners("g").values())


def test_each_member_has_its_part() -> None:
    group = PlainGroup(Core(topics={"t": 1}, config=DIVIDED), "one", "two")
    assert partitions(group) == [[("t", [0])], [("t", [0])]]
    transparent = extension_of(group.core.broker.services).transparent
    found = {client: ranges_in(owner, "t", 0) for client, owner in transparent.owners("g").items()}
    assert sorted(found) == ["one", "two"]
    assert sorted(found.values()) == [(LOW,), (HIGH,)]
    assert transparent.owner("one")[0].member == group.members[0]
    assert transparent.owner("nobody") == []


def test_with_partitions_enough_the_leader_has_its_way() -> None:
    group = PlainGroup(Core(topics={"t": 2}, config=DIVIDED), "one", "two")
    assert partitions(group) == [[("t", [0])], []]
    assert not has_ranges(group)


def test_who_cannot_be_told_apart_is_left_alone() -> None:
    group = PlainGroup(Core(topics={"t": 1}, config=DIVIDED), "same", "same")
    assert partitions(group) == [[("t", [0])], []]


def test_kafka_go_is_left_alone() -> None:
    name = "app@host (github.com/segmentio/kafka-go)"
    group = PlainGroup(Core(topics={"t": 1}, config=DIVIDED), "one", name)
    assert partitions(group) == [[("t", [0])], []]


def test_assignors_with_a_memory_are_left_alone() -> None:
    group = PlainGroup(
        Core(topics={"t": 1}, config=DIVIDED), "one", "two", assignor="cooperative-sticky"
    )
    assert partitions(group) == [[("t", [0])], []]


def test_a_group_that_is_not_named_is_left_alone() -> None:
    group = PlainGroup(Core(topics={"t": 1}, config=ON), "one", "two")
    assert partitions(group) == [[("t", [0])], []]


def test_a_topic_that_may_not_be_shared_is_left_alone() -> None:
    config = {**DIVIDED, "accept.individual.commit": "false"}
    group = PlainGroup(Core(topics={"t": 1}, config=config), "one", "two")
    assert partitions(group) == [[("t", [0])], []]


def test_a_reset_forgets_what_is_in_no_record() -> None:
    group = PlainGroup(Core(topics={"t": 1}, config=DIVIDED), "one", "two")
    group.fetch(0, 0)
    transparent = extension_of(group.core.broker.services).transparent
    assert transparent.begun == {("g", "t", 0): 0}
    group.core.act(extension_of(group.core.broker.services).forget)
    assert transparent.begun == {}
    assert has_ranges(group)
