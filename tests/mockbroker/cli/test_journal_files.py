"""A journal's files are read by the filters of a running broker's, and told as a timeline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockBroker
from mockbroker.cli.main import main
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path


def group(generation: int | None, **fields: object) -> dict[str, object]:
    return {"group": "g", "member": "m", "generation": generation, "error": 0, **fields}


@pytest.fixture
def journal() -> Journal:
    """A member joins, beats three times, commits and is told to join again."""
    journal = Journal()
    joined = group(None, answered_generation=1, leader="m", protocol="range")
    journal.request("JoinGroup", 0.0, 3000.0, group=joined, cause="peer", topics=[])
    for at_ms in (4000.0, 5000.0, 6000.0):
        journal.request("Fetch", at_ms)
    offsets = [{"topic": "orders", "partition": 0, "offset": 7, "error": 0}]
    journal.request("OffsetCommit", 7000.0, group=group(1, offsets=offsets), error=27)
    journal.request("Metadata", 8000.0, topics=["payments"], fault="f1", client_id="other")
    txn = {"transactional_id": "tx", "outcome": "commit"}
    journal.request("EndTxn", 9000.0, txn=txn, topics=[])
    journal.add("high_watermark", 9500.0, broker=1, topic="orders", partition=0, to=8)
    return journal


def write(journal: Journal, path: Path) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in journal.lines), "utf-8")
    return str(path)


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["journal", *words, "--json"]) == 0
    lines: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return lines


@pytest.mark.parametrize(
    ("words", "apis"),
    [
        (["--api", "Fetch"], ["Fetch"] * 3),
        (["--api", "1", "--limit", "2"], ["Fetch"] * 2),
        (["--group", "g"], ["JoinGroup", "OffsetCommit"]),
        (["--topic", "payments"], ["Metadata"]),
        (["--topic", "orders", "--kinds", "high_watermark"], [None]),
        (["--client", "oth*"], ["Metadata"]),
        (["--transactional-id", "tx"], ["EndTxn"]),
        (["--error", "REBALANCE_IN_PROGRESS"], ["OffsetCommit"]),
        (["--error", "27"], ["OffsetCommit"]),
        (["--error", "true"], ["OffsetCommit"]),
        (["--error", "0", "--api", "EndTxn"], ["EndTxn"]),
        (["--error", "false", "--group", "g"], ["JoinGroup"]),
        (["--fault", "f1"], ["Metadata"]),
        (["--fault", "true"], ["Metadata"]),
        (["--since", "7", "--kinds", "request"], ["EndTxn"]),
    ],
)
def test_filters_are_those_of_a_running_broker(
    journal: Journal,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    apis: list[str | None],
) -> None:
    lines = found(capsys, write(journal, tmp_path / "j.jsonl"), *words)
    assert [line.get("api") for line in lines] == apis


def test_a_timeline_tells_when_and_folds_what_repeats(
    journal: Journal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(journal, tmp_path / "j.jsonl")
    assert main(["journal", path, "--timeline", "--kinds", "request,high_watermark"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "    +0.000 s  c#1 JoinGroup v1 [g] member m -> 1 leader m range ok waited 3000 ms (peer)",
        "    +1.000 s  Fetch x 3 of c#1 until +3.000 s",
        (
            "    +4.000 s  c#1 OffsetCommit v1 [g] member m generation 1 orders-0@7"
            " REBALANCE_IN_PROGRESS"
        ),
        "    +5.000 s  other#1 Metadata v1 [payments] ok fault f1",
        "    +6.000 s  c#1 EndTxn v1 commit ok",
        '    +6.500 s  high_watermark {"broker": 1, "topic": "orders", "partition": 0, "to": 8}',
    ]
    assert main(["journal", path, "--timeline", "--api", "Produce"]) == 0
    assert capsys.readouterr().out == ""


def test_files_and_folders_are_one_story(
    journal: Journal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockBroker(journal=tmp_path / "dir", topics=["orders"]) as broker:
        broker.group("g").commit({("orders", 0): 0})
        with pytest.raises(AssertionError):
            broker.journal.expect(api="Fetch").within(0)
    old = write(journal, tmp_path / "old.jsonl")
    lines = found(capsys, str(tmp_path / "dir"), old)
    assert lines[0]["wall_ms"] == journal.lines[0]["wall_ms"]
    assert len({line["run"] for line in lines}) == 2
    assert main(["journal", "read", str(tmp_path / "dir")]) == 0
    assert capsys.readouterr().out.startswith("run ")


def test_a_last_line_that_was_cut_is_left_out(
    journal: Journal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "j.jsonl"
    write(journal, path)
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"schema": 1, "kind": "req')
    assert len(found(capsys, str(path))) == len(journal.lines)


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("", ["--error", "nonsense"], "--error: 'nonsense'; allowed: true, false, a code"),
        ("[1]\n", [], "j.jsonl: line 1 is no line of a journal"),
        ("no\n", [], "j.jsonl: line 1 is no line of a journal"),
        (None, [], "j.jsonl: no such file or directory"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str | None,
    words: list[str],
    message: str,
) -> None:
    if text is not None:
        (tmp_path / "j.jsonl").write_text(text)
    assert main(["journal", str(tmp_path / "j.jsonl"), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
