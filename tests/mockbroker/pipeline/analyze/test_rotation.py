"""Turns of partitions: served, passed over while they had data, and never served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.mockbroker.pipeline.analyze.conftest import analyze
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_a_limited_answer_passes_over_what_it_starves(analysis: Analysis) -> None:
    found = {
        (row["partition"], row["served_seq"] is None, row["passed_over"])
        for row in analysis.rows("servings")
        if row["client_id"] == "k"
    }
    # Three fetches: partition 0, partition 1, partition 0 again; 2 had data all the time.
    assert found == {(0, False, 0), (0, False, 1), (1, False, 1), (2, True, 3)}


def test_partitions_by_how_often_they_were_passed_over(analysis: Analysis) -> None:
    never = analysis.one("rotation", client_id="k", partition=2)
    assert (never["servings"], never["passed_over_unserved"]) == (0, 3)
    twice = analysis.one("rotation", client_id="k", partition=0)
    assert (twice["servings"], twice["passed_over"], twice["max_passed_over"]) == (2, 1, 1)
    assert twice["session"] == 9
    turns = {
        row["up_to"]: row["turns"]
        for row in analysis.rows("turn_histogram")
        if row["client_id"] == "k"
    }
    assert turns == {0: 1, 1: 2}


def test_who_was_passed_over_most_is_followed_over_time(analysis: Analysis) -> None:
    rows = [row for row in analysis.rows("rotation_series") if row["client_id"] == "k"]
    assert sum(row["servings"] for row in rows) == 3
    assert {row["partition"]: row["place"] for row in rows} == {2: 1, 0: 3, 1: 4}


class Reader:
    """A session of client r with three partitions; each answer has room for one."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.at_ms = 0.0

    def moves(self, partition: int, before: int, after: int) -> None:
        self.journal.add(
            "high_watermark", self.at_ms, broker=1, topic="t", partition=partition,
            **{"from": before, "to": after}, log_end_offset=after,
        )  # fmt: skip

    def fetches(self, *parts: dict[str, Any], opens: bool = False) -> None:
        self.at_ms += 10.0
        of_session = {"class": "INCREMENTAL", "session_id": 5, "answered_session_id": 5}
        if opens:
            of_session |= {"class": "FULL", "session_id": 0}
        rows = tuple({"topic": "t", **part} for part in parts)
        self.journal.fetch(self.at_ms, fetch=of_session, partitions=rows, client_id="r")


def asked(partition: int, offset: int) -> dict[str, Any]:
    """Named in the request, and not told of in the answer."""
    return {"partition": partition, "fetch_offset": offset, "position": None,
            "high_watermark": None}  # fmt: skip


def served(partition: int) -> dict[str, Any]:
    """Answered with records, from where the session stood."""
    return {"partition": partition, "fetch_offset": None, "bytes": 100}


def test_positions_are_carried_on_and_data_comes_with_the_watermark(tmp_path: Path) -> None:
    reader = Reader()
    for partition in range(3):
        reader.moves(partition, 0, 5)
    reader.fetches({**served(0), "fetch_offset": 0}, asked(1, 0), asked(2, 0), opens=True)
    reader.fetches(served(1), asked(0, 5))
    reader.fetches(served(2), asked(1, 5))
    reader.moves(0, 5, 6)
    reader.fetches(served(0), asked(2, 5))
    reader.moves(1, 5, 9)
    # Told of a high watermark, before the reader asks again from elsewhere: no turn.
    reader.fetches({"partition": 0, "fetch_offset": None, "high_watermark": 6})
    reader.fetches(asked(0, 6))
    rows = analyze(reader.journal, tmp_path)["servings"]
    assert {
        (row["partition"], row["fetch_offset"], row["served_seq"], row["passed_over"])
        for row in rows
    } == {(0, 0, 4, 0), (1, 0, 5, 1), (2, 0, 6, 2), (0, 5, 8, 0), (1, 5, None, 2)}
    waited = {(row["partition"], row["fetch_offset"]): row["waited_ms"] for row in rows}
    assert waited == {(0, 0): 0.0, (1, 0): 10.0, (2, 0): 20.0, (0, 5): 10.0, (1, 5): None}


def test_without_a_session_a_fetch_passes_over_what_it_names(tmp_path: Path) -> None:
    journal = Journal()
    alone = {"class": "SESSIONLESS", "session_id": 0, "session_epoch": -1, "answered_session_id": 0}
    asked_for = {"topic": "t", "partition": 0, "fetch_offset": 3, "high_watermark": 5}
    other = {"topic": "t", "partition": 1, "bytes": 10, "high_watermark": 5}
    for parts in ((other, asked_for), (other,), (other,), ({**asked_for, "bytes": 10}, other)):
        journal.fetch(10.0, fetch=alone, partitions=parts)
    rows = [row for row in analyze(journal, tmp_path)["servings"] if row["partition"] == 0]
    # Two fetches between, while the client had no use for more of it, name it not.
    assert [(row["fetch_offset"], row["passed_over"]) for row in rows] == [(3, 1)]
    assert rows[0]["connection"] == 1


def test_an_empty_partition_waits_for_nothing(tmp_path: Path) -> None:
    reader = Reader()
    reader.fetches({"partition": 0}, opens=True)
    reader.fetches()
    assert analyze(reader.journal, tmp_path)["servings"] == []
