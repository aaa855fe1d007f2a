"""The command's words: one line and status 2 for each mistake, before Spark starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
