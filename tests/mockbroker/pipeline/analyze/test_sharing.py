"""Filters, order within a key, and commits of single records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mockbroker.pipeline.analyze.conftest import analyze
from tests.support.journal_lines import Journal

LOW, HIGH, ALL = [0, 1073741823], [1073741824, 2147483647], [0, 2147483647]


def read(journal: Journal, at_ms: float, member: str, slots: list[int], **told: object) -> None:
    """A filtered fetch of a member of `g`; `next_offset` minus 10 is where it begins."""
    generation = told.pop("generation", 1)
    end: Any = told.pop("next_offset")
    part = {
        "topic": "shared", "fetch_offset": end - 10, "next_offset": end, "slots": [slots],
        "bytes": 400, "scanned_bytes": 1000, "scanned_records": 10, "matched_records": 4,
        "cache_hits": 0, **told,
    }  # fmt: skip
    body = {"group": "g", "member": member, "generation": generation}
    journal.fetch(at_ms, fetch=body, partitions=(part,), client_id=f"client-{member}")


def shared() -> Journal:
    journal = Journal()
    read(journal, 10.0, "a", LOW, next_offset=10)
    read(
        journal, 11.0, "b", HIGH, next_offset=10, cache_hits=1, scanned_bytes=300, scanned_records=0
    )
    read(journal, 12.0, "a", LOW, next_offset=20, matched_records=0, bytes=61)
    read(journal, 20.0, "a", ALL, next_offset=20, generation=2)
    read(journal, 21.0, "b", HIGH, next_offset=20, generation=2)
    read(journal, 22.0, "b", HIGH, next_offset=15, generation=2)
    read(journal, 23.0, "a", LOW, next_offset=5, generation=2, error=6)
    journal.fetch(30.0, partitions=({"topic": "plain", "bytes": 100},))
    for ranges, error, held in (([[5, 6], [8, 8]], 0, 2), ([[7, 7]], 0, 1), ([[1, 1]], 28, 1)):
        offset = {"topic": "shared", "partition": 0, "offset": -1, "error": error}
        journal.group(
            "OffsetCommit", 40.0, group="g",
            offsets=[{**offset, "ranges": ranges, "stable": 4, "held": held}],
        )  # fmt: skip
    journal.group("OffsetCommit", 41.0, group="g", offsets=[{"topic": "shared", "partition": 0}])
    return journal


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    return analyze(shared(), tmp_path_factory.mktemp("sharing"))


def test_filters_are_told_by_client(found: dict[str, list[dict[str, Any]]]) -> None:
    by_client = {row.pop("client_id"): row for row in found["filtering"]}
    assert set(by_client) == {"client-a", "client-b"}
    assert by_client["client-a"] == {
        "topic": "shared", "fetches": 4, "scanned_bytes": 4000, "sent_bytes": 1261,
        "spared_bytes": 2739, "scanned_records": 40, "matched_records": 12, "cache_hits": 0,
        "in_vain": 1,
    }  # fmt: skip
    assert by_client["client-b"]["cache_hits"] == 1
    assert by_client["client-b"]["spared_bytes"] == 1200


def test_order_is_kept_or_not_by_generation(found: dict[str, list[dict[str, Any]]]) -> None:
    by_generation = {row.pop("generation"): row for row in found["key_order"]}
    place = {"group": "g", "topic": "shared", "partition": 0, "members": 2, "fetches": 3}
    assert by_generation == {
        1: {**place, "overlaps": 0, "went_back": 0, "kept": True},
        2: {**place, "overlaps": 1, "went_back": 1, "kept": False},
    }


def test_commits_of_ranges(found: dict[str, list[dict[str, Any]]]) -> None:
    assert found["range_commits"] == [
        {
            "group": "g", "topic": "shared", "partition": 0, "commits": 3, "ranges": 4,
            "refused": 1, "stable": 4, "most_held": 2,
        }
    ]  # fmt: skip
