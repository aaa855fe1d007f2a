"""A table's declaration: columns, order, options; and the shape in which its rows come back."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from mockbroker.pipeline.analyze.table import Options, Table, in_order, projection, shaped, table_of

TABLE = Table(
    "t", "group_ STRING, at TIMESTAMP, n BIGINT", "SELECT 1 AS n", "n DESC, group_", needs=""
)


def test_options_stand_for_their_names() -> None:
    text = Options(bin_ms=50.0, backoff_ms=20.0, slowest=7).fill(":bin_ms :backoff_ms :slowest")
    assert text == "5.000000e+01 2.000000e+01 7"


def test_columns_are_cast_to_their_types() -> None:
    assert projection(TABLE, TABLE.text({})).startswith(
        "SELECT CAST(group_ AS STRING) AS group_, CAST(at AS BIGINT) AS at, CAST(n AS BIGINT) AS n"
    )
    assert [column.name for column in TABLE.columns] == ["group", "at", "n"]


def test_rows_come_in_the_order_of_the_table_with_nulls_last() -> None:
    rows = pa.table({"n": [1, 2, 2, None], "group_": ["a", "c", "b", "d"], "at": [0, 1, 2, 3]})
    found = in_order(shaped(rows, TABLE), TABLE)
    assert found["group_"].to_pylist() == ["b", "c", "a", "d"]
    assert found["at"].to_pylist()[2] == datetime.fromtimestamp(0, UTC)


def test_what_the_order_does_not_name_breaks_ties() -> None:
    assert TABLE.ordering() == [("n", True), ("group_", False), ("at", False)]


def test_rows_of_python_s_are_in_the_types_of_the_table() -> None:
    table = Table("t", "name STRING, n INT, at BIGINT, share DOUBLE", "")
    rows: list[dict[str, object]] = [
        {"name": 'é\n"', "n": 1, "at": 1 << 62, "share": 0.5},
        {"name": None, "n": None, "at": None, "share": None},
    ]
    made = table_of(table, rows)
    assert made.to_pylist() == rows
    assert made.schema == table_of(table, []).schema
    assert made.schema.types == [pa.string(), pa.int32(), pa.int64(), pa.float64()]
    assert table_of(table, []).num_rows == 0


def test_a_long_row_is_read_whole() -> None:
    text = "x" * (3 << 20)
    assert table_of(Table("t", "line STRING", ""), [{"line": text}]).to_pylist() == [{"line": text}]
