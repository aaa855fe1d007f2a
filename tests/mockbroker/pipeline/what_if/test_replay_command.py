"""what-if on the command line, without Spark."""

from __future__ import annotations

import gzip
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker import MockBroker
from mockbroker.pipeline.command import build_parser, run
from mockbroker.what_if.consumer import Session
from tests.support.fetch_wire import Wire, WireConsumer

if TYPE_CHECKING:
    from pathlib import Path

    Row = dict[str, Any]

pytest.importorskip("plotly")
HERE = ["--engine=embedded", "--workers=1"]
POLLS = 6


def record(folder: Path, *, replay: bool = True) -> Path:
    """A journal of a consumer that reads two topics, one of which grows."""
    started = MockBroker(
        topics={"orders": 3, "idle": 40}, journal=folder, journal_replay=replay, freeze_clock=True
    )
    with started as broker:
        assert broker._bridge is not None
        topics = broker._bridge.call(lambda it: dict(it.metadata.topics))
        keys = [
            (topic.id, index) for topic in topics.values() for index in range(len(topic.partitions))
        ]
        wire = Wire(broker.bootstrap_servers)
        consumer = WireConsumer("reader", wire, Session(keys, 1 << 20))
        consumer.poll()
        for number in range(POLLS):
            broker.clock.advance(10)
            broker.topic("orders").put("v" * 100, partition=number % 3)
            consumer.take()
        wire.socket.close()
    return folder


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("journal"))


def changes(out: str) -> dict[str, Row]:
    return {row["figure"]: row for row in json.loads(out)["changes"]}


def test_a_journal_becomes_figures_beside_those_that_were(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["what-if", str(journal), "--sessions=off", "--out", str(out), "--json"]
    assert run([*words, *HERE]) == 0
    told = changes(capsys.readouterr().out)
    assert told["polls"]["recorded"] == told["polls"]["as_it_was"] == told["polls"]["what_if"]
    assert told["response_bytes"]["recorded"] == told["response_bytes"]["as_it_was"]
    assert told["sessions_opened"]["recorded"] == 1
    assert told["sessions_opened"]["what_if"] == 0
    assert told["named"]["change_percent"] > 200
    assert told["looked_at"]["recorded"] is None
    assert 0 < told["looked_at"]["as_it_was"] < told["looked_at"]["what_if"]
    clients = parquet.read_table(out / "tables" / "clients").to_pylist()
    assert {row["client"] for row in clients} == {"reader"}
    assert "fetch sessions: off" in (out / "report.html").read_text("utf-8")


def test_files_may_be_packed(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = journal.iterdir()
    packed = tmp_path / "journal.jsonl.gz"
    with file.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    words = ["what-if", str(packed), "--max-bytes=1024", "--out", str(tmp_path / "out"), "--json"]
    assert run([*words, *HERE]) == 0
    assert changes(capsys.readouterr().out)["polls"]["recorded"] == POLLS + 1


def test_an_older_journal_is_refused_with_the_option_s_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = record(tmp_path / "old", replay=False)
    assert run(["what-if", str(old), "--slots=1", "--out", str(tmp_path / "out"), *HERE]) == 2
    told = capsys.readouterr().err
    assert told.startswith("mockbroker: JOURNALS: ")
    assert "record it with --journal-replay" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing is to be other than it was: give some of --slots, --min-eviction-ms"),
        (["--sessions=off", "--slots=5"], "--slots: there are none with --sessions off"),
    ],
)
def test_mistakes_are_one_line(
    journal: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    assert run(["what-if", str(journal), *words, "--out", str(tmp_path / "out"), *HERE]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--slots=-1"], ["--max-bytes=0"], ["--kip-1166=maybe"]])
def test_values_are_checked(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["what-if", "journal", "--out", "out", *words])
    assert words[0].partition("=")[0] in capsys.readouterr().err


def test_its_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["what-if", "--help"])
    assert "mockbroker pipeline what-if journals/ --slots 200" in capsys.readouterr().out


def test_a_journal_without_fetches_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockBroker(journal=tmp_path / "journal", journal_replay=True):
        pass
    words = ["what-if", str(tmp_path / "journal"), "--slots=1", "--out", str(tmp_path / "out")]
    assert run([*words, *HERE]) == 2
    assert "JOURNALS: there are no fetches in them" in capsys.readouterr().err
