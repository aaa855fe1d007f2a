"""What is told of ranges, and to whom."""

from __future__ import annotations

import pytest

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import read_offset_ranges
from mockbroker.coop.numbers import Tag
from mockbroker.node.large_requests import PART_ELEMENTS
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.support.core import Core
from tests.support.range_group import ON, RangeGroup, fill


@pytest.fixture
def group() -> RangeGroup:
    """IC-01's."""
    made = RangeGroup(Core(topics={"t": 1}, config=ON).client())
    fill(made.client, 100)
    made.commit((45, 47), (50, 50), initial=43)
    made.commit((48, 49))
    return made


def ask(group: RangeGroup, version: int, want: dict[int, bytes]) -> OffsetFetchResponse:
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    tags.tag(request, want)
    return group.client.call(request, version, OffsetFetchResponse)


def test_ranges_are_told_with_what_they_stand_on(group: RangeGroup) -> None:
    """IC-20."""
    (one,) = ask(group, 7, {Tag.WANT_RANGES: b"\x01"}).topics[0].partitions
    assert one.committed_offset == 43
    fields = tags.tagged_fields(one)
    assert read_offset_ranges(fields[Tag.COMMITTED_RANGES]) == [(45, 50)]
    assert fields[Tag.STABLE_OFFSET] == (43).to_bytes(8, "big")
    assert fields[Tag.RANGE_COUNT] == (1).to_bytes(4, "big")
    assert Tag.PENDING_RANGES not in fields
    assert group.fetch(2) == (43, [(45, 50)], [], 0)


@pytest.mark.parametrize("version", [5, 7])
def test_who_does_not_ask_is_told_the_stable_offset_alone(group: RangeGroup, version: int) -> None:
    """IC-19."""
    group.commit((43, 44))
    (one,) = ask(group, version, {}).topics[0].partitions
    assert (one.committed_offset, tags.tagged_fields(one)) == (51, {})


def test_of_a_group_without_ranges_there_is_nothing_to_tell() -> None:
    group = RangeGroup(Core(topics={"t": 1}, config=ON).client())
    assert group.fetch(1) == (-1, [], [], 0)
    group.plain(0)
    assert group.fetch(1) == (0, [], [], 0)


@pytest.mark.parametrize("version", [7, 8])
def test_who_asks_for_very_much_at_once_is_told_ranges_too(group: RangeGroup, version: int) -> None:
    served = group.client.core.broker.registry.get(ApiKey.OFFSET_FETCH)
    assert served is not None
    served.large_bytes = 1024
    indexes = list(range(2 * PART_ELEMENTS))
    asked: OffsetFetchRequestTopic | OffsetFetchRequestTopics
    if version < 8:
        asked = OffsetFetchRequestTopic("t", indexes)
        request = OffsetFetchRequest("g", [asked])
        tags.tag(request, {Tag.WANT_RANGES: b"\x01"})
    else:
        named = OffsetFetchRequestGroup(
            "g", topics=[OffsetFetchRequestTopics("t", partition_indexes=indexes)]
        )
        request = OffsetFetchRequest(groups=[named])
        tags.tag(named, {Tag.WANT_RANGES: b"\x01"})
    answer = group.client.call(request, version, OffsetFetchResponse)
    one = (answer.topics or answer.groups[0].topics)[0].partitions[0]
    assert read_offset_ranges(tags.tagged_fields(one)[Tag.COMMITTED_RANGES]) == [(45, 50)]
