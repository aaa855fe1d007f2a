"""topology on the command line, without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker.pipeline.command import run

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker import MockBroker

pytest.importorskip("plotly")
SMALL = [
    "topology",
    "--brokers=3",
    "--partitions=12",
    "--consumers=2",
    "--seconds=2",
    "--engine=embedded",
    "--workers=1",
]


def test_a_topology_becomes_tables_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run([*SMALL, "--change-rate=2", "--sizes=0.5,1", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["scenario"] for row in told["totals"]] == [
        "none", "kip-74", "kip-227", "kip-1166",
    ] * 2  # fmt: skip
    brokers = parquet.read_table(out / "tables" / "brokers").to_pylist()
    totals = parquet.read_table(out / "tables" / "totals").to_pylist()
    assert sum(row["followers_polls"] + row["readers_polls"] for row in brokers) == sum(
        row["polls"] for row in totals
    )
    assert "without any" in (out / "report.html").read_text("utf-8")


def test_a_spec_gives_what_options_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"replicas": [["a", 0, [1, 2]], ["b", 0, [2, 1]]], "seconds": 9}))
    words = ["topology", "--spec", str(spec), "--seconds=1", "--engine=embedded", "--workers=1"]
    assert run([*words, "--sizes=1", "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"][0]["size_partitions"] == 2


def test_a_cluster_that_runs_is_taken_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broker: MockBroker
) -> None:
    broker.topic("placed").create(partitions=3)
    words = ["topology", "--bootstrap", broker.bootstrap_servers, "--seconds=1", "--workers=1"]
    assert run([*words, "--engine=embedded", "--out", str(tmp_path / "out"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["totals"]
    assert max(row["size_partitions"] for row in rows) >= 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--brokers=2"], "--replication: 3, of 2 brokers"),
        (["--batch-bytes=5"], "--batch-bytes: must be from 70 to 1000000"),
        (["--change-rate=-1"], "--change-rate: must not be negative"),
        (["--spec", "missing.json"], "--spec: missing.json: no such file or directory"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert run([*SMALL, *words, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"mockbroker: {told}\n"


@pytest.mark.parametrize("words", [["--scenarios=kip-1"], ["--sizes=2"], ["--sizes=a"]])
def test_lists_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit):
        run([*SMALL, *words, "--out", str(tmp_path / "out")])
    assert words[0].partition("=")[0] in capsys.readouterr().err


def test_a_folder_that_is_not_empty_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("")
    assert run([*SMALL, "--out", str(tmp_path)]) == 2
    assert "--overwrite replaces an earlier run" in capsys.readouterr().err
