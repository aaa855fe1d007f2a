"""Lines that PyArrow reads for Spark: a broker's, each as it is; no other is judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

from mockbroker.pipeline.analyze import quick_lines
from mockbroker.pipeline.analyze.journals import Source
from mockbroker.pipeline.analyze.quick_lines import Piece, pieces, read_all, read_piece
from tests.mockbroker.pipeline.analyze.test_embedded import BAD, hostile
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = '{"schema":1,"kind":"request","run":"r","seq":5,"at_ms":1'
SESSION = '{"schema":1,"kind":"session","run":"r","seq":5,"at_ms":1'
MOVE = '{"schema":1,"kind":"high_watermark","run":"r","seq":5,"at_ms":1'
ODD = (
    f'{REQUEST},"body":{{"a":1}}}}', f'{REQUEST},"error":1.0}}', f'{REQUEST},"error":2147483648}}',
    f'{REQUEST},"error":1,"error":2}}', f'{REQUEST},"fetch":{{"class":1}}}}', f"{REQUEST}}} ",
    f'{REQUEST},"api":"\t"}}', f'{REQUEST},"api":"\\ud800"}}', f'{REQUEST},"waited_ms":NaN}}',
    f'{REQUEST},"waited_ms":-Infinity}}',
    f'{REQUEST},"api":7}}', f'{REQUEST},"from":7}}', f'{REQUEST},"of a later version":7}}',
    f'{REQUEST},"errors":[1,"2"]}}', f"{REQUEST}}}{REQUEST}}}", f"{REQUEST}", f'{REQUEST},"api":"a',
    f"{{{REQUEST}}}}}", f'{REQUEST},"answered":1}}', f'{REQUEST},"fetch":[]}}',
    f'{SESSION},"rule":{{"id":"f1"}}}}', f'{SESSION},"partitions":"7"}}', f'{MOVE},"to":"7"}}',
    '{"schema":1,"kind":"request","run":"r","at_ms":1}',
    '{"schema":1,"kind":"request","run":null,"seq":5,"at_ms":1}',
    '{"schema":2,"kind":"request","run":"r","seq":5,"at_ms":1}',
    '{"kind":"request","schema":1,"run":"r","seq":5,"at_ms":1}',
    '{"schema":1,"kind":"run","run":"r","seq":0,"at_ms":0,"settings":{"a":"b"}}',
)  # fmt: skip
"""Each is no line, or is read by the engine alone."""


def read(folder: Path, *lines: bytes, cut: int | None = None) -> tuple[list[dict[str, Any]], Any]:
    """The lines that were read, without what they lack, and the texts of those that were not."""
    file = folder / "journal-r-000000.jsonl"
    folder.mkdir(exist_ok=True)
    file.write_bytes(b"".join(lines))
    found = pieces([Source("base", [str(file)])])
    if cut is not None:
        size = file.stat().st_size
        found = [Piece("base", str(file), 0, cut), Piece("base", str(file), cut, size)]
    others = read_all(found, str(folder / "lines")).to_pylist()
    assert {(line["side"], line["journal"]) for line in others} <= {("base", file.name)}
    texts = [line["value"] for line in others]
    if not (folder / "lines").exists():
        return [], texts
    rows = parquet.read_table(folder / "lines").to_pylist()
    kept = [{key: value for key, value in row.items() if value is not None} for row in rows]
    return sorted(kept, key=lambda row: row["seq"]), texts


def of_a_broker() -> Journal:
    journal = Journal()
    journal.fetch(5.0, partitions=({"bytes": 7},), client_id="Übermut ☃")
    journal.produce(6.0, 0, 10)
    journal.high_watermark(7.0, 10)
    journal.session(8.0, "evicted", rule="idle", age_ms=5.0, idle_ms=1.0)
    journal.group("OffsetCommit", 9.0, offsets=[{"topic": "t", "partition": 0, "offset": 4}])
    return journal


def test_the_lines_of_a_broker_are_read_as_they_are(tmp_path: Path) -> None:
    journal = of_a_broker()
    rows, others = read(tmp_path, journal.text().encode())
    assert [json.loads(text) for text in others] == journal.lines[:1]
    told = journal.lines[1:]
    told[3]["partitions"] = "1"
    place = {"side": "base", "journal": "journal-r-000000.jsonl"}
    assert without_nulls(rows) == without_nulls([{**place, **line} for line in told])


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("text", [*ODD, *BAD])
def test_a_line_that_is_odd_keeps_its_text(text: str, tmp_path: Path) -> None:
    rows, others = read(tmp_path, f"{MOVE}}}\n{text}\n \n".encode())
    assert text in others
    assert [row["kind"] for row in rows] in (["high_watermark"], [])


def test_a_line_that_is_odd_leaves_those_of_its_kind_to_the_engine(tmp_path: Path) -> None:
    rows, others = read(tmp_path, f'{REQUEST}}}\n{REQUEST},"api":7}}\n{MOVE}}}\n'.encode())
    assert ([row["kind"] for row in rows], len(others)) == (["high_watermark"], 2)


def test_bytes_that_are_no_text_are_not_read(tmp_path: Path) -> None:
    rows, others = read(tmp_path, f'{REQUEST},"api":"'.encode(), b'\xff"}\n')
    assert (rows, others) == ([], [f'{REQUEST},"api":"\N{REPLACEMENT CHARACTER}"}}'])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_texts_of_sparks_do(end: str, tmp_path: Path) -> None:
    rows, others = read(tmp_path, end.join([f"{REQUEST}}}", "x", "", f"{MOVE}}}"]).encode())
    assert ([row["kind"] for row in rows], others) == (["request", "high_watermark"], ["x"])


@given(st.integers(0, 400), st.integers(60, 100))
@example(60, 60)
@example(61, 60)
def test_every_line_is_in_one_piece(
    tmp_path_factory: pytest.TempPathFactory, cut: int, long: int
) -> None:
    lines = [f'{MOVE},"topic":"{n:0{long}}"}}\n'.replace(":5,", f":{n},") for n in range(3)]
    text = "".join(lines).encode()
    rows, others = read(tmp_path_factory.mktemp("j"), text, cut=min(cut, len(text)))
    assert ([row["seq"] for row in rows], others) == ([0, 1, 2], [])


def test_long_files_are_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_lines, "_CHUNK_BYTES", 100)
    monkeypatch.setattr(quick_lines, "PIECE_BYTES", 250)
    rows, others = read(tmp_path, *(f'{MOVE},"to":{n}}}\n'.encode() for n in range(50)), b"x")
    assert (sorted(row["to"] for row in rows), others) == (list(range(50)), ["x"])
    assert len(list((tmp_path / "lines").iterdir())) > 5


def test_what_a_task_returns_has_the_columns_of_texts(tmp_path: Path) -> None:
    found = pieces([Source("other", [str(hostile(tmp_path / "j"))])])
    (batch,) = read_piece(found, 0, str(tmp_path / "lines"))
    assert batch.schema.names == ["side", "journal", "value"]
    assert set(batch.column("side").to_pylist()) == {"other"}
    assert set(BAD) <= set(batch.column("value").to_pylist())


@pytest.mark.parametrize("name", ["s3a://b/j.jsonl", "j.jsonl.gz"])
def test_other_files_are_the_engines(name: str, tmp_path: Path) -> None:
    file = str(Journal().write(tmp_path))
    assert pieces([Source("base", [file, name])]) == []
    assert len(pieces([Source("base", [file])])) == 1
