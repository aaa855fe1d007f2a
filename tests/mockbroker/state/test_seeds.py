"""Records out of files."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mockbroker.state.seeds import RowFields, SeedError, read_records, record_of
from mockbroker.state.writing import NewRecord

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = [{"id": 1, "name": "ä"}, {"id": 2, "name": None}]
WHOLE = [NewRecord('{"id": 1, "name": "ä"}'.encode()), NewRecord(b'{"id": 2, "name": null}')]


def write_avro(path: Path) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]
    schema = fastavro.parse_schema({"type": "record", "name": "Order", "fields": fields})
    with path.open("wb") as stream:
        fastavro.writer(stream, schema, ROWS)


def write_parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "json": lambda path: path.write_text('[{"id": 1, "name": "ä"}, {"id": 2, "name": null}]'),
    "jsonl": lambda path: path.write_text('{"id": 1, "name": "ä"}\n\n{"id": 2, "name": null}\n'),
    "ndjson": lambda path: path.write_text('{"id": 1, "name": "ä"}\n{"id": 2, "name": null}'),
    "avro": write_avro,
    "parquet": write_parquet,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_rows_are_values(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"orders.{suffix}"
    WRITERS[suffix](path)
    assert read_records(str(path)) == WHOLE
    other = path.rename(tmp_path / "orders.data")
    assert read_records(str(other), None, suffix) == WHOLE


def test_rows_of_csv_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("id,at,where\n7,2024-01-02T03:04:05Z,1\n8,5,\n")
    fields = RowFields(key="id", value="at", timestamp="at", partition="where")
    assert read_records(str(path), fields) == [
        NewRecord(b"2024-01-02T03:04:05Z", b"7", [], 1704164645000, 1),
        NewRecord(b"5", b"8", [], 5, None),
    ]


@pytest.mark.parametrize(
    ("row", "fields", "record"),
    [
        ({"id": 7, "x": 1}, RowFields(key="id"), NewRecord(b'{"id": 7, "x": 1}', b"7", [])),
        ({"id": None, "v": "t"}, RowFields(key="id", value="v"), NewRecord(b"t", None, [])),
        ({"v": b"\xff"}, RowFields(value="v"), NewRecord(b"\xff", None, [])),
        ({"v": [1, b"\xff"]}, RowFields(value="v"), NewRecord(b'[1, "\\\\xff"]', None, [])),
        (
            {"v": {"at": datetime(2024, 1, 2)}},
            RowFields(value="v"),
            NewRecord(b'{"at": "2024-01-02T00:00:00"}', None, []),
        ),
        (
            {"at": datetime(2024, 1, 2, tzinfo=UTC), "v": ""},
            RowFields(timestamp="at", value="v"),
            NewRecord(b"", None, [], 1704153600000),
        ),
        ({"value": None}, RowFields(envelope=True), NewRecord(None, None, [])),
        (
            {"value": {"id": 7}, "key": "7", "headers": {"a": "1", "b": None}, "partition": 2},
            RowFields(envelope=True),
            NewRecord(b'{"id": 7}', b"7", [("a", b"1"), ("b", None)], None, 2),
        ),
        (
            {"h": '{"a": 1}', "v": ""},
            RowFields(headers="h", value="v"),
            NewRecord(b"", None, [("a", b"1")]),
        ),
        ("text", RowFields(), NewRecord(b"text")),
    ],
)
def test_fields_of_a_row(row: object, fields: RowFields, record: NewRecord) -> None:
    assert record_of(row, fields, "row 1") == record


@pytest.mark.parametrize(
    ("row", "fields", "problem"),
    [
        (7, RowFields(key="id"), "row 1: not an object"),
        ({"id": 1}, RowFields(key="ident"), "row 1: there is no field 'ident' for the key"),
        ({"at": "noon"}, RowFields(timestamp="at"), "timestamp 'noon' is no time"),
        ({"at": 1.5}, RowFields(timestamp="at"), "timestamp 1.5 is no time; allowed: epoch ms"),
        ({"p": "x"}, RowFields(partition="p"), "partition 'x' is no number"),
        ({"p": True}, RowFields(partition="p"), "partition True is no number"),
        ({"h": "x"}, RowFields(headers="h"), "headers are neither an object nor a list"),
        ({"h": [1]}, RowFields(headers="h"), "1 is no header; allowed: name and value"),
    ],
)
def test_rows_that_are_no_records(row: object, fields: RowFields, problem: str) -> None:
    with pytest.raises(SeedError, match=problem):
        record_of(row, fields, "row 1")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.json", b"[1,", r"a\.json: Expecting value"),
        ("a.jsonl", b"1\n{\n", r"a\.jsonl: line 2: "),
        ("a.csv", b"id,name\n1\n", "a row has not as many fields"),
        ("a.csv", b"id,name\n1,2,3\n", "a row has not as many fields"),
        ("a.csv", b'id\n"1\n', r"a\.csv: "),
        ("a.avro", b"not avro", r"a\.avro: "),
        ("a.avro", b"", r"a\.avro: "),
        ("a.parquet", b"not parquet", r"a\.parquet: "),
        ("a.xml", b"", "format 'xml' is unknown; allowed: json, jsonl, ndjson, csv, avro, parquet"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SeedError, match=problem):
        read_records(str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match=r"a\.json: No such file"):
        read_records(str(tmp_path / "a.json"))


@pytest.mark.parametrize(("suffix", "library"), [("avro", "fastavro"), ("parquet", "pyarrow")])
def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, library: str
) -> None:
    modules: dict[str, Any] = sys.modules
    monkeypatch.setitem(modules, library, None)
    (tmp_path / f"a.{suffix}").touch()
    with pytest.raises(SeedError, match=rf"needs {library}: pip install 'mockbroker\[{suffix}\]'"):
        read_records(str(tmp_path / f"a.{suffix}"))


def test_headers_are_an_object_or_a_list_as_over_http() -> None:
    fields = RowFields(headers="h")
    listed = record_of({"h": [{"name": "a", "value": "b"}, {"name": "n"}]}, fields, "x")
    assert listed.headers == [("a", b"b"), ("n", None)]
    with pytest.raises(SeedError, match=r"x: \{'nam': 'a'\} is no header; allowed: name and value"):
        record_of({"h": [{"nam": "a"}]}, fields, "x")
