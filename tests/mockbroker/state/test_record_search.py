"""What fits a search, and where a page of it ends."""

from __future__ import annotations

import pytest

from mockbroker.state import record_search
from mockbroker.state.reading import Record
from mockbroker.state.record_search import Wanted, search
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.requests import produce

RECORD = Record("orders", 0, 5, 1000, b"k", b"\xff<b>", [("trace", b"abc"), ("none", None)])


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (Wanted(), True), (Wanted(key=b"k"), True), (Wanted(key=b"K"), False),
        (Wanted(contains=b"<b>"), True), (Wanted(contains=b"trac"), True),
        (Wanted(contains=b"bc"), True), (Wanted(contains=b"x"), False),
        (Wanted(since_ms=1000), True), (Wanted(since_ms=1001), False),
    ],
)  # fmt: skip
def test_what_fits(wanted: Wanted, fits: bool) -> None:
    assert wanted.fits(RECORD) is fits


def test_an_empty_key_is_looked_for_as_any_other() -> None:
    assert not Wanted(key=b"").fits(RECORD)
    assert not Wanted(key=b"").fits(RECORD._replace(key=None))
    assert Wanted(key=b"").fits(RECORD._replace(key=b""))


def test_a_search_ends_when_it_has_looked_at_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_search, "MAX_LOOKED_AT", 2)
    monkeypatch.setattr(record_search, "_AT_ONCE", 1)
    core = Core(topics={"orders": 1})
    client = core.client("writer")
    for _ in range(4):
        client.call(produce("orders"), 9, ProduceResponse)
    first = search(core.cluster, "orders", Wanted(), 0, 0, limit=10)
    assert (len(first.records), first.next_partition, first.next_offset) == (2, 0, 2)
    second = search(core.cluster, "orders", Wanted(), 0, 2, limit=10)
    assert [record.offset for record in second.records] == [2, 3]
