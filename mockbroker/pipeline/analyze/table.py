"""A table: one SQL text that Spark and the embedded engine both speak, and the columns it returns.

How a table is added
--------------------
1. In the module of its subject write a `Table` and put it into that module's `TABLES`:

       Table(
           "busy_clients",                                   # its name, and that of its Parquet
           "side STRING, client_id STRING, requests BIGINT",  # its columns, as docs/analyze.md says
           "SELECT side, client_id, count(*) AS requests FROM requests GROUP BY side, client_id",
           order="requests DESC, side, client_id",           # what the page shows first
       )

2. A module that is new is listed in `tables`, a view of it on the page in `sections`.
3. docs/analyze.md names the table; a test holds its cells, and `test_engines` that both engines
   return the same.

What its text may read
----------------------
- The relations of `relations`: flat rows of the lines (`lines`, `requests`, `fetched`, `produced`,
  `failures`, `commits`), without arrays or structures, so that nothing in the text depends on the
  engine. `t_ms` is a line's place on the time axis.
- Other tables, named in `of`. Such a table is made where they are: of small ones on the driver.
  A table with `kept=False` is a step: written nowhere, and there for others. Aggregate once, in a
  step that many read (`request_cells`); a quantile is counted by `fragments.with_quantiles`.
- `:bin_ms`, `:backoff_ms` and `:slowest` stand for the options.

What both engines speak: CTEs, window functions, `count(*) FILTER (WHERE …)`, `CASE`, `min_by` of
values that are never null, `||` with CAST(… AS STRING), `1e3` for a double. Columns whose names are
words of SQL end in `_` within the texts (`group_`, `from_`), and lose it in the table. Nothing may
depend on the order of rows: break ties, sum integers.

How results come back: an engine (`engine.Engine`) answers a text with a `pyarrow.Table` of the
schema's types. One that can have a row for each line (`large`) is written by the engine itself
where the journals are large, and the driver gets the first rows and the count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Options:
    """What the tables depend on beside the lines.

    `bin_ms` is the width of a step of the time axis, `backoff_ms` the least pause before a retry,
    `slowest` how many requests are listed.
    """

    bin_ms: float = 1000.0
    backoff_ms: float = 20.0
    slowest: int = 100

    def fill(self, sql: str) -> str:
        """The text with these values for their names."""
        for name, value in (
            (":bin_ms", f"{self.bin_ms:.6e}"),
            (":backoff_ms", f"{self.backoff_ms:.6e}"),
            (":slowest", str(self.slowest)),
        ):
            sql = sql.replace(name, value)
        return sql


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its name in the texts, and its type in SQL."""

    sql_name: str
    type: str

    @property
    def name(self) -> str:
        """Its name in the table: without the `_` of a word of SQL."""
        return self.sql_name.removesuffix("_")


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a table: their text, and what journals must have for there to be any.

    `needs` names facts (`facts.FACTS`), each with the least number of lines of it.
    """

    sql: str
    needs: Mapping[str, int]

    def possible(self, facts: Mapping[str, int]) -> bool:
        """Whether journals with so many lines of each fact can have such rows."""
        return all(facts.get(name, 0) >= least for name, least in self.needs.items())


@dataclass(frozen=True, slots=True)
class Table:
    """One table; the module's docstring says how one is added.

    `needs` names a fact of `facts.FACTS` without which the table is empty, so that nothing is
    asked of journals in which there can be no row. A table of `parts` has the rows of those that
    are possible, and no `sql` of its own: what nobody did costs no plan and no pass.
    """

    name: str
    schema: str
    sql: str
    order: str = ""
    of: tuple[str, ...] = ()
    kept: bool = True
    large: bool = False
    needs: str = ""
    parts: tuple[Part, ...] = ()

    def text(self, facts: Mapping[str, int]) -> str:
        """What is asked of journals with these facts; empty when there can be no row."""
        if self.needs and not facts.get(self.needs):
            return ""
        if not self.parts:
            return self.sql
        return "\nUNION ALL\n".join(part.sql for part in self.parts if part.possible(facts))

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns in order."""
        return columns_of(self.schema)

    def ordering(self) -> list[tuple[str, bool]]:
        """Columns with whether they descend; those that `order` does not name break ties."""
        named = [part.strip().partition(" ") for part in self.order.split(",") if part.strip()]
        found = [(name, direction == "DESC") for name, _, direction in named]
        have = {name for name, _ in found}
        return [*found, *((c.sql_name, False) for c in self.columns if c.sql_name not in have)]


def columns_of(schema: str) -> tuple[Column, ...]:
    """The columns of a schema that is flat: `name TYPE, name TYPE`."""
    pairs = [part.split() for part in schema.split(",")]
    return tuple(Column(name, kind) for name, kind in pairs)


def arrow_type(sql_type: str) -> pa.DataType:
    """The type of a column in Arrow. A text returns a TIMESTAMP as milliseconds since 1970."""
    import pyarrow as pa

    return {
        "STRING": pa.string(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    }[sql_type]


def arrow_schema(table: Table) -> pa.Schema:
    """The table's columns in Arrow, under their names in the texts."""
    import pyarrow as pa

    return pa.schema([(column.sql_name, arrow_type(column.type)) for column in table.columns])


def table_of(table: Table, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Some rows in the table's types, by the names in the texts.

    By way of JSON: to take lists of Python's, PyArrow imports pandas wherever there is one, and
    that takes a fifth of a small analysis.
    """
    import pyarrow as pa
    from pyarrow import json as reader

    schema = arrow_schema(table)
    if not rows:
        return pa.table([pa.nulls(0, field.type) for field in schema], schema=schema)
    text = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return reader.read_json(
        pa.BufferReader(text),
        reader.ReadOptions(use_threads=False, block_size=len(text)),
        reader.ParseOptions(explicit_schema=schema),
    )


def projection(table: Table, sql: str) -> str:
    """The table's text (`Table.text`), its columns cast to their types."""
    wanted = ", ".join(
        f"CAST({c.sql_name} AS {'BIGINT' if c.type == 'TIMESTAMP' else c.type}) AS {c.sql_name}"
        for c in table.columns
    )
    return f"SELECT {wanted} FROM (\n{sql}\n) AS made"


def in_order(rows: pa.Table, table: Table) -> pa.Table:
    """The rows sorted as the table says; the same on every engine."""
    return rows.sort_by(
        [(name, "descending" if down else "ascending") for name, down in table.ordering()]
    )


def shaped(rows: pa.Table, table: Table) -> pa.Table:
    """Rows as an engine returned them, in the table's types."""
    import pyarrow as pa

    arrays = []
    for column in table.columns:
        found = rows.column(column.sql_name)
        if column.type == "TIMESTAMP" and pa.types.is_integer(found.type):
            found = found.cast(pa.timestamp("ms", tz="UTC"))
        arrays.append(found.cast(arrow_type(column.type)))
    return pa.table(arrays, schema=arrow_schema(table))
