"""Makes the tables: on the engine what reads lines, where they are what reads other tables.

Called by `job`. The tables that are made of lines are asked of the engine, at once; the
others are small, and made by the embedded engine on the driver when it is there. Nothing that is
here is read back. What can have a row for each line stays on the engine when journals are large.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze.embedded import EmbeddedEngine
from mockbroker.pipeline.analyze.engine import Ask, has_embedded
from mockbroker.pipeline.analyze.table import in_order, projection, shaped, table_of
from mockbroker.pipeline.analyze.tables import PAGE_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from mockbroker.pipeline.analyze.engine import Engine
    from mockbroker.pipeline.analyze.table import Options, Table

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LARGE_LINES: Final = 400_000
"""From so many lines on, a table that can have a row a line is the engine's to write."""


class Maker:
    """The tables of one analysis: `rows` in Arrow, `counts`, and the page's part of each."""

    def __init__(self, engine: Engine, root: str, options: Options, *, large: bool) -> None:
        self._engine = engine
        self._root = root
        self._large = large
        self.options = options
        self._finisher: Engine = engine
        if engine.name != EmbeddedEngine.name and has_embedded():
            self._finisher = EmbeddedEngine()
        self._on_engine: set[str] = set()
        self.facts: dict[str, int] = {}
        self.rows: dict[str, pa.Table] = {}
        self.counts: dict[str, int] = {}

    def make(self, *tables: Table) -> None:
        """All of these, each once all that it reads is there, and written if it is kept."""
        left = list(tables)
        while left:
            ready = [table for table in left if self.counts.keys() >= set(table.of)]
            assert ready, left
            left = [table for table in left if table not in ready]
            self._make_ready(ready)

    def _make_ready(self, tables: Sequence[Table]) -> None:
        """What reads lines at once, and the longest text first: begun last, it would end alone."""
        asked: list[tuple[Table, Ask]] = []
        for table in tables:
            text = table.text(self.facts)
            sql = self.options.fill(projection(table, text))
            if not text:
                self.keep(table, table_of(table, []))
            elif table.of and all(name in self.rows for name in table.of):
                self.keep(table, shaped(self._finisher.query(sql), table))
            elif table.large and self._large:
                asked.append((table, Ask(sql, table.name, self._path(table))))
            else:
                asked.append((table, Ask(sql)))
        if asked:
            asked.sort(key=lambda one: -len(one[1].sql))
            self._ask(asked)

    def _ask(self, asked: Sequence[tuple[Table, Ask]]) -> None:
        for name in dict.fromkeys(name for table, _ in asked for name in table.of):
            if name in self.rows and name not in self._on_engine:
                self._engine.register(name, self.rows[name])
                self._on_engine.add(name)
        answers = self._engine.answer([ask for _, ask in asked])
        for (table, _), found in zip(asked, answers, strict=True):
            if isinstance(found, int):
                self.counts[table.name] = found
            else:
                self.keep(table, shaped(found, table))

    def keep(self, table: Table, rows: pa.Table) -> None:
        """Rows that are here: sorted, there for other tables, and written."""
        rows = in_order(rows, table)
        self.rows[table.name] = rows
        self.counts[table.name] = rows.num_rows
        self._finisher.register(table.name, rows)
        if table.kept:
            names = [column.name for column in table.columns]
            self._engine.put(rows.rename_columns(names), self._path(table))

    def all_rows(self, table: Table) -> list[dict[str, Any]]:
        """Every row of a table that is here whole; of another the first ones."""
        if table.name not in self.rows:
            return self.page_rows(table)
        return _named(self.rows[table.name], table)

    def page_rows(self, table: Table) -> list[dict[str, Any]]:
        """The first rows, as the page shows them."""
        rows = self.rows.get(table.name)
        if rows is None:
            by = ", ".join(
                f"{name}{' DESC' if down else ''} NULLS LAST" for name, down in table.ordering()
            )
            text = f"SELECT * FROM {table.name} ORDER BY {by} LIMIT {PAGE_ROWS}"
            rows = in_order(shaped(self._engine.query(text), table), table)
        return _named(rows.slice(0, PAGE_ROWS), table)

    def close(self) -> None:
        """Give back the driver's engine; the other is the caller's."""
        if self._finisher is not self._engine:
            self._finisher.close()

    def _path(self, table: Table) -> str:
        return f"{self._root}/tables/{table.name}"


def _named(rows: pa.Table, table: Table) -> list[dict[str, Any]]:
    import pyarrow as pa

    names = [column.name for column in table.columns]
    times = [column.name for column in table.columns if column.type == "TIMESTAMP"]
    plain = [
        found.cast(pa.int64()) if column.type == "TIMESTAMP" else found
        for column, found in zip(table.columns, rows.columns, strict=True)
    ]
    told: list[dict[str, Any]] = pa.table(plain, names=names).to_pylist()
    # PyArrow would import pandas to make times of them.
    for row in told if times else ():
        row |= {name: _time(row[name]) for name in times}
    return told


def _time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
