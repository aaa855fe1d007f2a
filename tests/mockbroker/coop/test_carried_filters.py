"""Filters by client id: batches that any client reads, and no tagged field."""

from __future__ import annotations

import pytest

from mockbroker.coop.carried_filters import NotDone, read_filter
from mockbroker.coop.errors import Refusal
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.key_filter import KeyFilter, KeyRange
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchResponsePartition
from tests.support.core import Core
from tests.support.keyed_log import LOW, spans
from tests.support.plain_members import PlainGroup, plain_fetch, put
from tests.support.range_group import ON

LOW_ONLY = f"half=t-0:{LOW.lo}-{LOW.hi}"


def given(part: FetchResponsePartition) -> list[int]:
    """The offsets of the records in an answer."""
    assert part.error_code == 0
    assert part.unknown_tags is None
    records = part.records or b""
    chunks = records if isinstance(records, list) else [records]
    return [offset for _, _, offsets in spans(chunks) for offset in offsets]


def test_an_entry_of_the_config() -> None:
    entry = read_filter("me=t-x-3:0-9+20-29")
    assert entry[:3] == ("me", "t-x", 3)
    assert isinstance(entry.wanted, KeyFilter)
    assert entry.wanted.ranges == [KeyRange(0, 9), KeyRange(20, 29)]
    keys = read_filter("me=t-0:key=a+key=").wanted
    assert isinstance(keys, KeyFilter)
    assert [keys.matches(key, 0) for key in (b"a", b"", b"b", None)] == [True, True, False, False]


@pytest.mark.parametrize("text", ["me=t-0:9", "me=t-0:9-1", "me=t-0:a-b", "me=t-x:0-9", "me=t-0:"])
def test_an_entry_that_cannot_be_read_refuses(text: str) -> None:
    entry = read_filter(text)
    assert entry.client_id == "me"
    assert isinstance(entry.wanted, Refusal)


@pytest.mark.parametrize("version", [4, 11, 12])
def test_a_client_is_given_its_part(version: int) -> None:
    core = Core(topics={"t": 1}, config={**ON, "coop.client.filters": LOW_ONLY})
    half, other = core.client("half"), core.client("other")
    put(half, "a", "foobar", "b", "21")
    put(half, "foobar", "21")
    put(half, "c")
    assert given(plain_fetch(half, 0, version=version)) == [0, 2, 6]
    assert given(plain_fetch(half, 4, version=version)) == [6]
    assert given(plain_fetch(other, 0, version=version)) == list(range(7))


def test_a_filter_that_cannot_be_read_is_no_filter() -> None:
    core = Core(topics={"t": 1}, config={**ON, "coop.client.filters": "half=t-0:oops"})
    part = plain_fetch(core.client("half"), 0)
    assert part.error_code == ErrorCode.INVALID_REQUEST


def test_what_is_committed_is_left_out_too() -> None:
    wanted = NotDone((LOW,), IntervalSet([(2, 3)]))
    assert [wanted.matches(b"a", offset) for offset in range(5)] == [True, True, False, False, True]
    assert not wanted.matches(b"foobar", 0)
    assert (wanted.reach, wanted.is_exact) == ([LOW], False)
    assert [wanted.confirms(b"a", offset) for offset in (1, 2)] == [True, False]
    assert NotDone((), IntervalSet([(2, 3)])).reach is None


def test_members_of_a_transparent_group_have_theirs() -> None:
    core = Core(topics={"t": 1}, config={**ON, "coop.transparent.groups": "g"})
    group = PlainGroup(core, "one", "two")
    for _ in range(3):
        put(group.clients[0], "a", "foobar")
    parts = [given(group.fetch(at, 0)) for at in (0, 1)]
    assert sorted(parts) == [[0, 2, 4], [1, 3, 5]]
    assert given(plain_fetch(core.client("stranger"), 0)) == list(range(6))
    group.commit(0, 6)
    _, other = parts
    group.rejoin()  # whoever has them now is not given what is committed
    assert sorted(given(group.fetch(0, 1)) + given(group.fetch(1, 1))) == other
