"""Stored positions, and those that a transaction has pending."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.offset_store import (
    OffsetStore,
    offset_commit_record,
    offset_tombstone,
)
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue

KEY = OffsetCommitKey("g", "t", 0)


def put(store: OffsetStore, record_offset: int, producer_id: int, offset: int) -> None:
    store.put(record_offset, producer_id, KEY, OffsetCommitValue(offset, 1, "", 0))


def position(store: OffsetStore) -> int | None:
    stored = store.get("g", "t", 0)
    return None if stored is None else stored.offset


def test_the_last_commit_counts() -> None:
    store = OffsetStore()
    put(store, 0, -1, 5)
    put(store, 1, -1, 3)
    assert position(store) == 3


def test_a_pending_commit_is_not_seen_until_its_transaction_ends() -> None:
    store = OffsetStore()
    put(store, 0, -1, 5)
    put(store, 1, 42, 9)
    assert position(store) == 5
    assert store.is_pending("g", "t", 0)
    assert store.has_open_transaction("g")
    store.end_transaction(42, commit=True)
    assert position(store) == 9
    assert not store.is_pending("g", "t", 0)
    assert not store.has_open_transaction("g")


def test_an_aborted_transaction_leaves_nothing() -> None:
    store = OffsetStore()
    put(store, 0, 42, 9)
    store.end_transaction(42, commit=False)
    store.end_transaction(42, commit=True)
    assert position(store) is None


def test_a_later_plain_commit_wins_over_a_pending_one() -> None:
    store = OffsetStore()
    put(store, 0, 42, 9)
    put(store, 1, -1, 5)
    store.end_transaction(42, commit=True)
    assert position(store) == 5


def test_transactions_of_one_group_end_one_by_one() -> None:
    store = OffsetStore()
    put(store, 0, 42, 9)
    put(store, 1, 43, 10)
    store.end_transaction(42, commit=True)
    assert store.is_pending("g", "t", 0)
    store.end_transaction(43, commit=True)
    assert position(store) == 10


def test_a_tombstone_takes_pending_ones_too() -> None:
    store = OffsetStore()
    put(store, 0, -1, 5)
    put(store, 1, 42, 9)
    store.remove("g", "t", 0)
    assert store.of_group("g") == {}
    store.end_transaction(42, commit=True)
    assert position(store) is None


def test_offsets_are_found_by_group_and_by_topic() -> None:
    store = OffsetStore()
    put(store, 0, -1, 5)
    put(store, 1, 42, 9)
    store.put(2, 42, OffsetCommitKey("g", "u", 1), OffsetCommitValue(1, 1, "", 0))
    store.put(3, -1, OffsetCommitKey("h", "t", 2), OffsetCommitValue(1, 1, "", 0))
    assert store.partitions_of_group("g") == [("t", 0), ("u", 1)]
    assert list(store.of_topic("t")) == [("g", 0), ("h", 2)]
    assert store.partitions_of_group("none") == []


@pytest.mark.parametrize(("expires_ms", "version"), [(-1, 4), (1_000, 1)])
def test_only_version_1_has_a_time_of_expiry(expires_ms: int, version: int) -> None:
    record = offset_commit_record("g", "t", 0, OffsetCommitValue(1, 1, "", 0, expires_ms))
    assert (record.key, record.value_version) == (KEY, version)
    assert offset_tombstone("g", "t", 0).value is None
