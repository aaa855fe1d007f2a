"""The command's words: one line and status 2 for each mistake, before Spark starts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.analyze import command
from mockbroker.pipeline.analyze.command import SHORT_JVM, java
from mockbroker.pipeline.analyze.engine import SMALL_BYTES
from mockbroker.pipeline.command import run
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("plotly")


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["analyze", *words]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


def test_paths_are_checked_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, out = str(Journal().write(tmp_path / "j")), str(tmp_path / "out")
    missing = str(tmp_path / "nope")
    assert "JOURNALS: no such file or folder" in refused(capsys, missing, "--out", out)
    told = refused(capsys, good, "--compare", missing, "--out", out)
    assert "--compare: no such file or folder" in told
    (tmp_path / "empty").mkdir()
    told = refused(capsys, str(tmp_path / "empty"), "--out", out)
    assert "JOURNALS: no journal file" in told


def test_what_is_there_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = str(Journal().write(tmp_path / "j"))
    assert "is not empty: --overwrite" in refused(capsys, good, "--out", str(tmp_path))
    assert "is no folder" in refused(capsys, good, "--out", good)


def test_a_page_is_a_file_of_this_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = str(Journal().write(tmp_path / "j"))
    assert "--page: name a file" in refused(capsys, good, "--out", "s3a://bucket/out")


@pytest.mark.parametrize("embedded", [True, False])
@pytest.mark.parametrize("size", [0, SMALL_BYTES + 1, None])
def test_a_jvm_that_has_much_to_do_is_one_as_it_comes(
    size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, embedded: bool
) -> None:
    monkeypatch.setattr(command, "has_embedded", lambda: embedded)
    file = Journal().write(tmp_path)
    if size:
        with file.open("r+b") as opened:
            opened.truncate(size)
    named = "s3a://bucket/j" if size is None else str(file)
    options = java(argparse.Namespace(journals=[named], compare=[]))
    little = size is not None and (embedded or size <= SMALL_BYTES)
    assert options == (SHORT_JVM if little else "")
