"""Slots of many keys, some of which came by before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coop import slots as module
from mockbroker.coop.batch_index import NO_SLOT
from mockbroker.coop.key_filter import record_slot
from mockbroker.coop.slots import Slots

KEYS = st.none() | st.sampled_from([b"", b"a", b"foobar", b"user-1", b"k" * 64, b"k" * 65])


@given(st.lists(st.lists(KEYS), max_size=4), st.sampled_from(["spread", "first", "exclude"]))
def test_what_is_remembered_changes_nothing(batches: list[list[bytes | None]], null: str) -> None:
    slots = Slots()
    for base, keys in enumerate(batches):
        deltas = range(0, 2 * len(keys), 2)
        one_by_one = [
            record_slot(key, base + at, null) for key, at in zip(keys, deltas, strict=True)
        ]
        expected = [NO_SLOT if slot is None else slot for slot in one_by_one]
        assert slots.of(keys, base, deltas, null) == expected
        assert slots.of(keys, base, deltas, null) == expected


def test_long_keys_are_not_remembered() -> None:
    slots = Slots()
    slots.of([b"k" * 64, b"k" * 65, b"a"], 0, range(3), "spread")
    assert len(slots) == 2


def test_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEYS", 4)
    slots = Slots()
    slots.of([b"a", b"b", b"c"], 0, range(3), "spread")
    slots.of([b"c", b"d"], 0, range(2), "spread")
    assert len(slots) == 4
    slots.of([b"e", b"f", b"a"], 0, range(3), "spread")
    assert len(slots) == 2
    slots.of([b"v", b"w", b"x", b"y", b"z"], 0, range(5), "spread")
    assert len(slots) == 0
    slots.of([b"a"], 0, range(1), "spread")
    slots.clear()
    assert len(slots) == 0
