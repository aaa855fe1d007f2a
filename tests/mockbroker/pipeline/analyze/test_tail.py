"""What was added to a growing journal: whole lines, each once, under the journal's name."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.analyze import tail as tail_module
from mockbroker.pipeline.analyze.journals import Source
from mockbroker.pipeline.analyze.tail import Tail

if TYPE_CHECKING:
    from pathlib import Path


def segments(tail: Tail) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(tail.folder.glob("*/[0-9]*/*"))]


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_a_line_is_taken_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(tail_module, "_PIECE_BYTES", piece)
    file = tmp_path / "j.jsonl"
    tail = Tail(tmp_path / "tail")
    source = Source("base", [str(file)])
    file.write_bytes(b"one")
    assert tail.cut([source]) == 0
    file.write_bytes(b"one\ntwo\nthr")
    assert tail.cut([source]) == 1
    assert segments(tail) == [("j.jsonl", b"one\ntwo\n")]
    tail.forget()
    file.write_bytes(b"one\ntwo\nthree\n")
    assert tail.cut([source]) == 1
    assert segments(tail) == [("j.jsonl", b"three\n")]
    assert tail.cut([source]) == 0


def test_a_compressed_journal_is_taken_whole(tmp_path: Path) -> None:
    file = tmp_path / "j.jsonl.gz"
    file.write_bytes(gzip.compress(b"one"))
    tail = Tail(tmp_path / "tail")
    assert tail.cut([Source("base", [str(file)]), Source("other", [str(file)])]) == 2
    assert {data for _, data in segments(tail)} == {file.read_bytes()}
    assert tail.cut([Source("base", [str(file)])]) == 0
