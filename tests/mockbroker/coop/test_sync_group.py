"""SyncGroup of a transparent group, as its members see it."""

from __future__ import annotations

from mockbroker.coop.user_data import read_assignment
from mockbroker.coordinator.group.consumer.classic_bytes import version_of, whole_assignment
from tests.support.core import Core
from tests.support.keyed_log import HIGH, LOW
from tests.support.plain_members import PlainGroup
from tests.support.range_group import ON


def test_what_the_leader_assigned_is_divided() -> None:
    core = Core(topics={"t": 1}, config={**ON, "coop.transparent.groups": "g"})
    group = PlainGroup(core, "one", "two")
    told = [whole_assignment(data) for data in group.assigned]
    assert {version_of(data) for data in group.assigned} == {1}
    ranges = [read_assignment(one.user_data) for one in told]
    assert sorted(str(one) for one in ranges) == sorted(
        str({"t": {0: (each,)}}) for each in (LOW, HIGH)
    )


def test_a_group_that_is_not_named_goes_as_always() -> None:
    group = PlainGroup(Core(topics={"t": 1}, config=ON), "one", "two")
    first, second = (whole_assignment(data) for data in group.assigned)
    assert (first.user_data, second.assigned_partitions) == (None, [])
