"""Which files are journals, and lines that are none: counted and kept, never skipped in silence."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.analyze.journals import Growing, check_versions, find
from mockbroker.pipeline.errors import PipelineError
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path


def test_folders_are_searched_and_files_taken(tmp_path: Path) -> None:
    one = Journal("a").write(tmp_path / "x")
    two = Journal("b").write(tmp_path / "x" / "deep")
    packed = tmp_path / "x" / "c.jsonl.gz"
    packed.write_bytes(gzip.compress(Journal("c").text().encode()))
    (tmp_path / "x" / "notes.txt").write_text("no journal")
    assert sorted(find([str(tmp_path / "x")])) == sorted(map(str, (one, two, packed)))
    assert find([str(one)]) == [str(one)]
    assert find(["s3a://bucket/journals"]) == ["s3a://bucket/journals"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", b'{"schema":2,"kind":"run"}\n', "a.jsonl has journal schema 2: this version"),
        ("a.jsonl", b'{"id": 1}\n', "a.jsonl is no journal: its first line is none"),
        ("a.jsonl", b"hello\n", "a.jsonl is no journal"),
        ("a.jsonl.gz", b"hello\n", "a.jsonl.gz cannot be read: not a gzipped"),
        ("a.jsonl.gz", gzip.compress(b"x" * 100, mtime=0)[:-9], "a.jsonl.gz cannot be read"),
        ("a.txt", b"", "no journal file"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PipelineError, match=re.escape(told)):
        find([str(tmp_path)])


def test_a_missing_path_is_named_with_its_option(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"--compare: no such file or folder: .*nope"):
        find([str(tmp_path / "nope")], "--compare")


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    with pytest.raises(PipelineError, match="no journal file"):
        find([str(tmp_path)])


@pytest.mark.parametrize(("lowest", "highest"), [(1, 2), (0, 1)])
def test_another_version_further_down_is_refused(lowest: int, highest: int) -> None:
    check_versions(1, 1)
    with pytest.raises(PipelineError, match="a line has journal schema"):
        check_versions(lowest, highest)


def test_the_line_that_is_being_written_is_known(tmp_path: Path) -> None:
    file = Journal().write(tmp_path)
    whole = file.read_text()
    file.write_text(whole + '{"schema":1,"ki')
    growing = Growing([str(file)])
    assert growing.names() == [file.name]
    cut = {"journal": file.name, "raw": '{"schema":1,"ki'}
    assert growing.cut_off([cut, {**cut, "raw": "{broken"}]) == {(file.name, cut["raw"])}
    # What was written since, the engine may have read to anywhere.
    file.write_text(whole + '{"schema":1,"kind":"clock"}\n{"sch')
    longer = {**cut, "raw": '{"schema":1,"kind":"cl'}
    assert growing.cut_off([cut, longer, {**cut, "raw": '{"sch'}]) == {
        (file.name, raw) for raw in (cut["raw"], longer["raw"], '{"sch')
    }
    assert growing.cut_off([{**cut, "raw": '{"schema":1,"kind":"clock"}'}]) == set()


def test_a_file_of_whole_lines_has_none(tmp_path: Path) -> None:
    assert Growing([str(Journal().write(tmp_path))]).names() == []
    (tmp_path / "long.jsonl").write_text("x" * 200_000)
    assert Growing([str(tmp_path / "long.jsonl")]).names() == ["long.jsonl"]
