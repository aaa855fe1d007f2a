"""The whole job: what it leaves, real journals beside the broker's metrics, and a cluster."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker import MockBroker
from mockbroker.pipeline.analyze import maker
from mockbroker.pipeline.analyze.job import MAX_BINS, bin_width_ms
from mockbroker.pipeline.command import run
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from tests.mockbroker.pipeline.analyze.conftest import CORRUPT
from tests.support.at_rest import DEADLINE_SECONDS, until_a_fetch_waits, until_clients_have_gone
from tests.support.blocking import BlockingConnection
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mockbroker.pipeline.analyze.conftest import Analysis

RECORDS = 40
METRIC = "mockbroker:type=FetchMetrics,name="
EXPIRED = "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType=consumer"
IDLE_POLLS = 3
EMBEDDED = ("--engine", "embedded")


def test_steps_of_the_time_axis_are_round_and_few() -> None:
    for length_ms, width in ((0.0, 1.0), (160.0, 1.0), (161.0, 2.0), (60_000.0, 500.0)):
        assert bin_width_ms(length_ms) == width
        assert length_ms / bin_width_ms(length_ms) <= MAX_BINS


def test_lines_tables_and_a_page_are_left(analysis: Analysis) -> None:
    assert analysis.status == 0
    page = (analysis.out / "report.html").read_text("utf-8")
    assert "4 lines could not be read" in page
    assert "other − base" in page
    lines = parquet.read_table(analysis.out / "lines", columns=["raw"])["raw"]
    assert lines.null_count == len(analysis.base.lines) + len(analysis.other.lines)
    assert sorted(row["line"] for row in analysis.rows("corrupt")) == sorted(CORRUPT)


def drive(broker: MockBroker) -> None:
    """A producer and a consumer with a fetch session: records, then an idle while.

    The consumer may leave with a fetch that waits at the broker, or with one on its way.
    """
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    servers = broker.bootstrap_servers
    broker.topic("orders").create(20)
    reader = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest",
                           client_id="reader", group_id=None, fetch_max_wait_ms=100)  # fmt: skip
    with closing(KafkaProducer(bootstrap_servers=servers)) as producer, closing(reader) as consumer:
        consumer.assign([TopicPartition("orders", number) for number in range(20)])
        read = 0
        for number in range(RECORDS):
            producer.send("orders", b"x" * 100, partition=number % 20).get(DEADLINE_SECONDS)
            read += sum(map(len, consumer.poll(50).values()))
        deadline = time.monotonic() + DEADLINE_SECONDS
        while read < RECORDS or broker.metrics()[EXPIRED] < IDLE_POLLS:
            assert time.monotonic() < deadline
            read += sum(map(len, consumer.poll(200).values()))
        assert read == RECORDS


def leave_while_a_fetch_waits(broker: MockBroker) -> None:
    """A session whose second fetch is parked when its client goes: nobody is answered."""
    asked = [
        FetchRequestTopic(
            "orders", partitions=[FetchRequestPartition(0, fetch_offset=RECORDS // 20)]
        )
    ]
    opening = FetchRequest(max_wait_ms=0, session_epoch=0, topics=asked)
    with BlockingConnection(broker.bootstrap_servers) as client:
        answer = client.call(opening, 12, FetchResponse)
        polling = FetchRequest(
            max_wait_ms=600_000, min_bytes=1, session_id=answer.session_id, session_epoch=1
        )
        client.send(polling, 12, "gone")
        until_a_fetch_waits(broker)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_tables_agree_with_the_brokers_own_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockBroker(journal=str(tmp_path / "journal")) as broker:
        drive(broker)
        leave_while_a_fetch_waits(broker)
        until_clients_have_gone(broker)
        metrics = broker.metrics()
    out = tmp_path / "out"
    words = [str(tmp_path / "journal"), "--out", str(out), "--json", "--engine", "embedded"]
    assert run(["analyze", *words]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["corrupt"], summary["status"]) == (0, 0)
    rows = parquet.read_table(out / "tables" / "fetch_clients").to_pylist()
    by_class: Counter[str] = Counter()
    for row in rows:
        by_class[row["class"]] += row["fetches"]
    for name in ("FULL", "INCREMENTAL", "SESSIONLESS"):
        assert by_class[name] == metrics[f"{METRIC}FetchesAnswered,fetchClass={name}"]
    assert by_class["INCREMENTAL"] > by_class["FULL"]
    (gone,) = (row for row in rows if row["client_id"] == "gone")
    assert (gone["class"], gone["fetches"], gone["response_bytes"]) == ("UNANSWERED", 1, 0)
    for side in ("Request", "Response"):
        column = f"{side.lower()}_bytes"
        saved = sum(row[f"{column}_in_full"] - row[column] for row in rows)
        assert saved == metrics[f"{METRIC}{side}BytesSaved"] != 0
    figures = {
        row["figure"]: row["value"]
        for row in parquet.read_table(out / "tables" / "key_figures").to_pylist()
    }
    requests = "mockbroker:type=RequestMetrics,name=Requests,request="
    assert figures["fetches"] == metrics[f"{requests}Fetch"]
    expired = metrics[EXPIRED]
    assert figures["fetches that waited to max_wait"] == pytest.approx(
        100 * expired / figures["fetches"]
    )
    assert expired >= IDLE_POLLS


def test_a_line_of_another_version_ends_it_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal()
    journal.add("clock", 5.0, schema=3)
    file = journal.write(tmp_path / "j")
    out = tmp_path / "out"
    told = "mockbroker: JOURNALS: a line has journal schema 3: this version reads 1\n"
    assert run(["analyze", str(file), "--out", str(out), *EMBEDDED]) == 2
    assert capsys.readouterr().err == told
    assert list(out.iterdir()) == []
    earlier = [out / name for name in ("lines/part", "tables/runs/part", "report.html")]
    for path in earlier:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of an earlier run")
    assert run(["analyze", str(file), "--out", str(out), "--overwrite", *EMBEDDED]) == 2
    assert capsys.readouterr().err == told
    assert sorted(path for path in out.rglob("*") if path.is_file()) == sorted(earlier)
    assert {path.read_text() for path in earlier} == {"of an earlier run"}


def test_headlines_count_all_rows_and_not_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maker, "PAGE_ROWS", 2)
    journal = Journal()
    for generation in range(1, 6):
        heard: dict[str, Any] = {
            "member": "m",
            "generation": generation,
            "answered_generation": generation,
        }
        journal.group("ConsumerGroupHeartbeat", 10.0 * generation, group="g", **heard)
    file = journal.write(tmp_path / "j")
    assert run(["analyze", str(file), "--out", str(tmp_path / "out"), *EMBEDDED]) == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "5 rebalances, the longest" in page
    assert "3 more in <code>tables/rebalances</code>" in page


def test_a_line_that_is_being_written_is_no_corrupt_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Journal().write(tmp_path / "j")
    file.write_text(file.read_text() + "{broken\n" + '{"schema":1,"kind":"re')
    words = [str(file), "--out", str(tmp_path / "out"), "--json", *EMBEDDED]
    assert run(["analyze", *words]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["corrupt"]) == (2, 1)
    (corrupt,) = parquet.read_table(tmp_path / "out" / "tables" / "corrupt").to_pylist()
    assert corrupt["line"] == "{broken"


def test_journals_without_a_line_yet_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("")
    assert run(["analyze", str(tmp_path), "--out", str(tmp_path / "out"), *EMBEDDED]) == 2
    assert capsys.readouterr().err == "mockbroker: JOURNALS: no line in these files yet\n"
