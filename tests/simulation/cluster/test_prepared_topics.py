"""Each form of a record is that record; what makes no sense is refused by its key."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.state import preparation, seeds
from simulation.cluster import prepared_topics
from simulation.cluster.prepared_topics import WRONG_RECORDS, wrong_rows, wrong_tables


def test_tables_and_rows_by_the_rules_are_in_order() -> None:
    assert [*wrong_tables(Random(1), len(WRONG_RECORDS)), *wrong_rows()] == []


def test_tables_that_are_taken_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation.Preparation, "add_record", lambda *_: None)
    monkeypatch.setattr(preparation, "_count", lambda *_: None)
    found = [*wrong_tables(Random(1), len(WRONG_RECORDS))]
    assert len([one for one in found if one.endswith("is taken")]) >= len(WRONG_RECORDS) + 3


def test_rows_that_are_read_otherwise_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    record_of = seeds.record_of
    monkeypatch.setattr(
        prepared_topics,
        "record_of",
        lambda row, fields, where: record_of(row, fields._replace(key=None), where),
    )
    assert len([*wrong_rows()]) >= 3
