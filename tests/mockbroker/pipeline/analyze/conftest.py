"""One analysis of a journal whose answers are known by construction, for these tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.support.journal_lines import Journal, partition

CORRUPT = ("{broken", "[1, 2]", '{"schema":1,"kind":"request"}', '{"schema":1,"kind":"req')


def polls(journal: Journal) -> None:
    """A session from its opening to its end, and errors 70 and 71 for each cause."""
    journal.add("connection_opened", 1.0, broker=1, connection=1, peer="/p", listener="PLAINTEXT")
    journal.session(10.0, "opened")
    full = {"class": "FULL", "session_id": 0, "session_epoch": 0}
    journal.fetch(10.0, fetch=full, partitions=({},), request_bytes=1000, response_bytes=500)
    spared = {"request_bytes_saved": 940, "response_bytes_saved": 460}
    journal.fetch(
        20.0, 500.0, fetch=spared, cause="timeout", request_bytes=60, response_bytes=40
    )  # fmt: skip
    journal.high_watermark(530.0, 1)
    news = {"bytes": 100, "high_watermark": 1}
    journal.fetch(525.0, 6.0, fetch={"session_epoch": 2}, partitions=(news,), cause="data")
    journal.fetch(540.0, 10.0, fetch={"session_epoch": 3}, cause="data")
    journal.high_watermark(560.0, 2)
    journal.fetch(
        556.0, 12.0, fetch={"session_epoch": 4}, partitions=({"high_watermark": 2},),
        cause="high_watermark",
    )  # fmt: skip
    journal.session(570.0, "wrong_epoch", why="ahead", epoch=9, expected_epoch=5)
    journal.fetch(570.0, fetch={"session_epoch": 9}, error=71)
    journal.session(575.0, "evicted", rule="idle", age_ms=565.0, idle_ms=5.0)
    journal.session(580.0, "not_found", why="evicted", epoch=5)
    journal.fetch(580.0, fetch={"session_epoch": 5}, error=70)
    journal.fetch(581.0, fetch={"session_epoch": 6}, error=70, fault="f1")
    journal.session(585.0, "closed", 8, age_ms=1.0, idle_ms=0.0)
    journal.session(590.0, "not_found", 8, why="closed", epoch=2)
    journal.fetch(590.0, fetch={"session_id": 8, "session_epoch": 2}, error=70)
    journal.fetch(
        591.0, 4.0, fetch={"session_id": 10, "request_bytes_saved": 30}, cause="disconnect",
        answered=False, response_bytes=0, client_id="gone", connection=4,
    )  # fmt: skip


def services(journal: Journal) -> None:
    """Client k: two answers with room for one of three partitions, and one beyond its limit."""
    mine: dict[str, Any] = {"client_id": "k", "connection": 2, "topics": ["wide"]}
    for served in (0, 1):
        rows = tuple(
            {"topic": "wide", "partition": n, "high_watermark": 10, "bytes": 1000 * (n == served)}
            for n in range(3)
        )
        journal.fetch(600.0 + served, fetch={"session_id": 9}, partitions=rows, **mine)
    large = {"topic": "wide", "bytes": 1500, "high_watermark": 10}
    journal.fetch(
        603.0, fetch={"session_id": 9, "first_batch_overrun_bytes": 500}, partitions=(large,),
        **mine,
    )  # fmt: skip


def producers(journal: Journal) -> None:
    journal.produce(690.0, 0, 10)
    journal.produce(691.0, 30, 10, error=45)
    journal.produce(700.0, 10, 10, error=6)
    journal.produce(705.0, 10, 10)
    for at_ms, error in ((800.0, 5), (805.0, 5), (1000.0, 0)):
        journal.request("Metadata", at_ms, error=error, connection=3, client_id="hasty")


def groups(journal: Journal) -> None:
    joined: dict[str, Any] = {
        "answered_generation": 1,
        "leader": "m",
        "protocol": "range",
        "members": 1,
    }
    journal.group("JoinGroup", 900.0, 100.0, **joined)
    journal.group("SyncGroup", 1001.0, 4.0, generation=1)
    journal.group("OffsetCommit", 1010.0, generation=1)
    journal.group("OffsetCommit", 1020.0, generation=0, error=22)
    for at_ms, member in ((1030.0, "m1"), (1033.0, "m2"), (1040.0, "m1")):
        heard: dict[str, Any] = {
            "group": "g2",
            "member": member,
            "generation": 2,
            "answered_generation": 3,
        }
        journal.group("ConsumerGroupHeartbeat", at_ms, **heard)


def transactions(journal: Journal) -> None:
    for at_ms, api, outcome in (
        (1099.0, "FindCoordinator", None),
        (1100.0, "InitProducerId", None),
        (1101.0, "AddPartitionsToTxn", None),
        (1105.0, "EndTxn", "commit"),
        (1110.0, "AddPartitionsToTxn", None),
        (1111.0, "EndTxn", "abort"),
        (1120.0, "AddPartitionsToTxn", None),
        (1150.0, "InitProducerId", None),
        (1160.0, "AddPartitionsToTxn", None),
    ):
        journal.txn(api, at_ms, "t1", outcome=outcome)
    journal.txn("AddPartitionsToTxn", 1200.0, "t2")
    journal.txn("EndTxn", 1201.0, "t2", outcome="commit", error=90)


def known() -> Journal:
    """The journal that all figures in these tests are about."""
    journal = Journal()
    for part in (polls, services, producers, groups, transactions):
        part(journal)
    journal.lose(5, 1300.0)
    return journal


def other() -> Journal:
    """A run to compare with: a client without sessions that tells its high watermarks."""
    journal = Journal("00000000000000bb")
    alone = {"class": "SESSIONLESS", "session_id": 0, "session_epoch": -1}
    telling = {**alone, "high_watermarks_known": 1}
    journal.high_watermark(15.0, 1)
    journal.fetch(10.0, 7.0, fetch=telling, partitions=(partition(high_watermark=1),), cause="data")
    journal.fetch(20.0, 500.0, fetch=alone, cause="timeout")
    return journal


@dataclass(frozen=True)
class Analysis:
    """What a run of the job left. `base` and `other` are the journals that it was made of."""

    out: Path
    status: int
    base: Journal
    other: Journal

    def rows(self, table: str, side: str = "base") -> list[dict[str, Any]]:
        rows = parquet.read_table(self.out / "tables" / table).to_pylist()
        return [
            {k: v for k, v in row.items() if k != "side"} for row in rows if row["side"] == side
        ]

    def one(self, table: str, **keys: object) -> dict[str, Any]:
        """The only row with these values."""
        found = [
            row
            for row in self.rows(table)
            if all(row[name] == value for name, value in keys.items())
        ]
        assert len(found) == 1, (keys, found)
        return found[0]

    def figures(self, side: str = "base") -> dict[str, float]:
        return {row["figure"]: row["value"] for row in self.rows("key_figures", side)}


def written(folder: Path) -> tuple[Journal, Journal, list[str]]:
    """The known journals as files below `folder`, and the words that analyze them."""
    base, beside = known(), other()
    file = base.write(folder / "base")
    file.write_text(file.read_text() + "\n" + "".join(f"{line}\n" for line in CORRUPT))
    beside.write(folder / "other")
    return base, beside, [str(folder / "base"), "--compare", str(folder / "other")]


@pytest.fixture(scope="session")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    from mockbroker.pipeline.command import run

    folder = tmp_path_factory.mktemp("analysis")
    base, beside, words = written(folder)
    status = run(["analyze", *words, "--out", str(folder / "out"), "--engine", "embedded"])
    return Analysis(folder / "out", status, base, beside)


def analyze(journal: Journal, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All tables of a journal that is as good as done: name to rows, without side and run."""
    from mockbroker.pipeline.command import run

    journal.write(folder / "journal")
    words = [str(folder / "journal"), "--out", str(folder / "out"), "--engine", "embedded"]
    assert run(["analyze", *words]) == 0
    return {
        path.name: [
            {k: v for k, v in row.items() if k not in {"side", "run"}}
            for row in parquet.read_table(path).to_pylist()
        ]
        for path in (folder / "out" / "tables").iterdir()
    }
