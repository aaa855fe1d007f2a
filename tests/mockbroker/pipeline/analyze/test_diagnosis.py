"""Each planted mistake is named, with the lines that show it, and nobody else is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze.diagnosis import DOCUMENT, RULES
from mockbroker.pipeline.analyze.job import AnalyzeSpec, run_analyze
from tests.support.journal_lines import Journal
from tests.support.misbehaving import PLANTED, plant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),  # by kafka-python
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROOT = Path(__file__).resolve().parents[4]


@dataclass(frozen=True)
class Diagnosis:
    journals: Path
    out: Path
    rows: list[dict[str, Any]]

    def sentence(self, subject: str, word: str = "") -> str:
        (found,) = (r for r in self.rows if r["subject"] == subject and word in r["detail"])
        return str(found["detail"])


def diagnosed(journals: Path, out: Path, spark: SparkSession | None = None) -> Diagnosis:
    files = [str(file) for file in sorted(journals.glob("*.jsonl"))]
    run_analyze(spark, AnalyzeSpec(files, str(out), str(out / "report.html")))
    rows = parquet.read_table(out / "tables" / "diagnosis").to_pylist()
    return Diagnosis(journals, out, rows)


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    folder = tmp_path_factory.mktemp("planted")
    plant(folder / "journals")
    return diagnosed(folder / "journals", folder / "out")


def test_all_that_is_wrong_is_named_and_nothing_else(diagnosis: Diagnosis) -> None:
    assert {(row["rule"], row["subject"]) for row in diagnosis.rows} == PLANTED
    assert {rule for rule, _ in PLANTED} == set(RULES)


@pytest.mark.parametrize(
    ("subject", "word", "told"),
    [
        ("broker 1", "and 0 fetches came back", "which 16 slots hold (8 shards of 2)"),
        (
            "broker 1",
            " 0 sessions were",
            "12 connections wanted one at a time, which 16 slots hold",
        ),
        ("late-poller", "", "max.poll.interval.ms"),
        ("seldom-poller", "", "max.poll.interval.ms"),
        ("silent", "", "its session was over"),
        ("behind", "", "its limit of bytes holds it up"),
        ("slow-tx", "", "s: committed could not read the 6 records from offset 0 on"),
        ("replicated-0", "", " holds up acks=all of replicated-0: 12 requests"),
        ("skewed", "", "at least 70 % of 300 records"),
        ("doubler", "", "2 batches (2 records)"),
        ("meticulous-group", "", "59 commits of meticulous for 59 records"),
        ("chaser", "", "4 requests went to a broker"),
        ("stalled", "", "s: it went on sending heartbeats to group stalled-group"),
    ],
)
def test_a_sentence_says_how_much_and_why(
    diagnosis: Diagnosis, subject: str, word: str, told: str
) -> None:
    assert told in diagnosis.sentence(subject, word)


def test_each_finding_has_its_line_and_its_place_in_the_document(diagnosis: Diagnosis) -> None:
    lines: dict[tuple[str, int], dict[str, Any]] = {
        (line["run"], line["seq"]): line
        for file in diagnosis.journals.glob("*.jsonl")
        for line in map(json.loads, file.read_text().splitlines())
    }
    headings = {
        line.removeprefix("## ")
        for line in (ROOT / DOCUMENT).read_text().splitlines()
        if line.startswith("## ")
    }
    for row in diagnosis.rows:
        assert (row["run"], row["seq"]) in lines
        assert row["more"] == f"{DOCUMENT}#{row['rule']}"
        assert row["rule"] in headings
    assert headings == set(RULES)
    (chase,) = (found for found in diagnosis.rows if found["subject"] == "chaser")
    for name in ("before_seq", "seq"):
        line = lines[chase["run"], chase[name]]
        assert (line["client_id"], line["error"]) == ("chaser", 6)
    evidence = parquet.read_table(diagnosis.out / "tables" / "evidence").to_pylist()
    told = {
        json.loads(row["line"])["client_id"] for row in evidence if row["rule"] == chase["rule"]
    }
    assert told == {"chaser"}


def test_the_page_opens_with_them(diagnosis: Diagnosis) -> None:
    page = (diagnosis.out / "report.html").read_text()
    assert page.index("chases leaders with stale metadata") < page.index('id="fetches"')
    assert f"{DOCUMENT}#slow-replica" in page


def test_both_engines_say_the_same(
    diagnosis: Diagnosis, spark: SparkSession, tmp_path: Path
) -> None:
    assert diagnosed(diagnosis.journals, tmp_path / "out", spark).rows == diagnosis.rows


@pytest.mark.parametrize(("max_wait_ms", "rules"), [(1, ["busy-polling"]), (500, [])])
def test_who_waits_for_a_moment_does_not_wait(
    tmp_path: Path, max_wait_ms: int, rules: list[str]
) -> None:
    journal = Journal()
    for number in range(60):
        fetch = {"session_epoch": number + 1, "max_wait_ms": max_wait_ms}
        waited_ms = float(max_wait_ms)
        journal.fetch((waited_ms + 1.0) * number, waited_ms, cause="timeout", fetch=fetch)
    journal.write(tmp_path / "journals")
    found = diagnosed(tmp_path / "journals", tmp_path / "out").rows
    assert [row["rule"] for row in found] == rules


def test_a_reader_that_is_busy_with_records_is_said_to_be(tmp_path: Path) -> None:
    journal = Journal()
    for number in range(12):
        row = {
            "fetch_offset": 10 * number,
            "high_watermark": 10 * number + 40 * (number + 1) ** 2,
            "bytes": 100,
            "max_bytes": 1 << 20,
        }
        fetch = {"session_epoch": number + 1, "max_bytes": 50 << 20}
        journal.fetch(1000.0 * number, 5.0, partitions=(row,), fetch=fetch)
    journal.write(tmp_path / "journals")
    (found,) = diagnosed(tmp_path / "journals", tmp_path / "out").rows
    assert (found["rule"], found["subject"]) == ("lag-grows", "c")
    assert "it is busy with records, and asks for more only every 995 ms" in found["detail"]
