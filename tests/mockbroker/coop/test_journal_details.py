"""What the journal's lines tell of fetches and commits with the extension's fields."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.coop import tags
from mockbroker.coop.journal_details import of_commit, of_partition
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.messages.fetch import FetchResponse
from tests.mockbroker.coop.test_cooperative_fetch import LEASE_MS, Reader, core_of
from tests.mockbroker.coop.test_fetch import HALF, ON, asking, fill
from tests.support.coop_groups import SharingGroup
from tests.support.core import Core
from tests.support.keyed_log import LOW
from tests.support.range_group import RangeGroup


def line(core: Core, api: str) -> dict[str, Any]:
    """The last request's of an API."""
    *_, last = [one for one in core.cluster.journal.requests() if one.api_name == api]
    return last.line(lambda _: None)


def test_a_filtered_fetch_says_what_it_cost() -> None:
    core = Core(topics={"t": 1}, config=ON)
    group = SharingGroup(core, 3)
    group.sync({"t": {0: (LOW,)}})
    client = group.clients[0]
    fill(client)
    client.call(asking(("t", 0, HALF), own_tags=group.identity(0)), 12, FetchResponse)
    told = line(core, "Fetch")["fetch"]
    assert (told["group"], told["member"], told["generation"]) == ("g", group.members[0], 1)
    (part,) = told["partitions"]
    assert (part["slots"], part["next_offset"]) == ([list(LOW)], 10)
    assert (part["scanned_records"], part["matched_records"], part["cache_hits"]) == (10, 5, 0)
    assert part["scanned_bytes"] > part["bytes"] > 0


def test_a_cooperative_fetch_says_what_it_was_handed_out() -> None:
    core = core_of()
    reader = Reader(core, "A")
    reader.take()
    core.advance(LEASE_MS)
    reader.take()
    told = line(core, "Fetch")["fetch"]
    assert told["member"] == "A"
    assert told["partitions"][0]["acquired"] == [[0, 9, 2]]


def test_a_commit_of_ranges_says_how_the_group_stands() -> None:
    core = core_of()
    group = RangeGroup(core.client())
    group.commit((0, 3), (7, 8), (10, 10))
    (told,) = line(core, "OffsetCommit")["group"]["offsets"]
    assert told["ranges"] == [[0, 3], [7, 8], [10, 10]]
    assert (told["stable"], told["held"], told["error"]) == (4, 2, 0)


def test_an_ordinary_request_says_nothing_of_it() -> None:
    core = core_of()
    client = core.client()
    client.call(asking(("t", 0, None)), 12, FetchResponse)
    told = line(core, "Fetch")["fetch"]
    assert "group" not in told
    assert "slots" not in told["partitions"][0]
    RangeGroup(client).plain(3)
    assert set(line(core, "OffsetCommit")["group"]["offsets"][0]) == {
        "topic",
        "partition",
        "offset",
        "error",
    }


@pytest.mark.parametrize(
    ("asked", "told", "line"),
    [
        ({Tag.KEYS: b"\x03\x02a\x00"}, {}, {"keys": 2}),
        ({Tag.KEY_RANGES: b"\x02cut"}, {}, {"slots": None}),
        ({}, {Tag.NEXT_FETCH_OFFSET: tags.offset(7)}, {"next_offset": 7}),
    ],
)
def test_fields_that_are_cut_say_nothing(
    asked: dict[int, bytes], told: dict[int, bytes], line: dict[str, object]
) -> None:
    assert of_partition(asked, told) == line
    assert of_commit({Tag.COMMIT_RANGES: b"\x02"}, {}) == {"ranges": None}
