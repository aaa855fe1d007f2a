"""Groups that are divided without their members' knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop.extension import extension_of
from mockbroker.coop.transparent import ranges_in
from mockbroker.coordinator.group.consumer.classic_bytes import whole_assignment
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core
from tests.support.keyed_log import HIGH, LOW, spans
from tests.support.plain_members import PlainGroup, plain_fetch, put
from tests.support.range_group import ON

if TYPE_CHECKING:
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

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
    assert transparent.owners("g")["one"].member == group.members[0]


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


def test_who_leads_asks_who_coordinates() -> None:
    alone = {"default.replication.factor": "1", "offsets.topic.replication.factor": "1"}
    core = ClusterCore(brokers=2, topics={"t": 1}, config={**DIVIDED, **alone})
    core.controls.coordinator("g")
    core.controls.reassign("t", 0, [2])
    core.controls.reassign(GROUP_METADATA_TOPIC, 0, [1])
    core.advance(1000)
    group = PlainGroup(core, "one", "two")
    leader = core.client("writer", node=2)
    put(leader, "a", "foobar", "b", "21")
    given = {name: offsets_of(plain_fetch(core.client(name, node=2), 0)) for name in ("one", "two")}
    assert sorted(given.values()) == [[0, 2], [1, 3]]
    high = [given["one"], given["two"]].index([1, 3])
    while group.commit(high, 4).error_code:  # the topic of ranges is made
        core.advance(100)
    fetches = [plain_fetch(core.client(name, node=2), 0) for name in ("one", "two")]
    # What is committed is given to nobody, what is before it is still to do.
    assert offsets_of(fetches[high]) == []
    assert offsets_of(fetches[1 - high]) == [0, 2]
    core.controls.cut_link(1, 2)
    assert offsets_of(plain_fetch(core.client("one", node=2), 0)) == [0, 1, 2, 3]


def offsets_of(part: FetchResponsePartition) -> list[int]:
    assert not part.error_code
    records = part.records
    assert isinstance(records, bytes | bytearray | memoryview)
    return [offset for _, _, offsets in spans([records]) for offset in offsets]
