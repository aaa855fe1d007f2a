"""A page that follows its journals: a round for each change, and the last one's summary."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.analyze.follow import follow
from mockbroker.pipeline.command import run
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.summary import Summary
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def until(rounds: int) -> Callable[[float], None]:
    """A sleep that ends as Ctrl-C does."""
    left = iter(range(rounds - 1))

    def sleep(_: float) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return sleep


def test_it_works_when_the_journals_have_changed() -> None:
    sizes: Iterator[dict[str, int]] = iter([{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2, "b": 1}])
    worked: list[int] = []
    told: list[str] = []

    def analyze() -> Summary:
        worked.append(1)
        return Summary("analyze", len(worked), 0, "", notes=["page p"])

    summary = follow(analyze, lambda: next(sizes), told.append, until(4))
    assert (summary.rows, len(worked)) == (3, 3)
    assert told[0] == "1 lines; page p; Ctrl-C ends it"


def test_before_the_first_line_it_waits() -> None:
    def analyze() -> Summary:
        raise PipelineError("JOURNALS: no line in these files yet")

    told: list[str] = []
    with pytest.raises(PipelineError, match="stopped before there was a line"):
        follow(analyze, dict, told.append, until(2))
    assert told == ["waiting for the first line"]


def test_sigterm_ends_it_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    found = Summary("analyze", 1, 0, "", notes=["page p"])
    told = follow(lambda: found, dict, print, lambda _: signal.raise_signal(signal.SIGTERM))
    assert told is found
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_mistakes_end_it() -> None:
    def analyze() -> Summary:
        raise PipelineError("--out: no space left")

    with pytest.raises(PipelineError, match="no space"):
        follow(analyze, dict, print, until(2))


def test_the_page_is_made_anew_and_loads_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal()
    file = journal.write(tmp_path / "j")

    def grow(_: float) -> None:
        if len(journal.lines) > 2:
            raise KeyboardInterrupt
        journal.fetch(10.0)
        journal.fetch(20.0)
        journal.write(tmp_path / "j")

    monkeypatch.setattr(follow, "__defaults__", (grow,))
    words = [str(file), "--out", str(tmp_path / "out"), "--engine", "embedded", "--follow"]
    assert run(["analyze", *words]) == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert '<meta http-equiv="refresh" content="5">' in page
    assert "3 lines" in page
    assert "1 lines; page" in capsys.readouterr().err
