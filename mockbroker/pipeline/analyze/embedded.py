"""The embedded engine: DuckDB in this process, for machines without a JVM and for small tables.

Called by `job`. Lines are read with the fields of `line_schema`. Where one is none (no JSON object,
a field of another type), all are read once more as texts, and that one is kept as text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze.dialect import DUCKDB
from mockbroker.pipeline.analyze.line_schema import duckdb_types, json_paths, json_structure
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from mockbroker.pipeline.analyze.engine import Ask
    from mockbroker.pipeline.analyze.journals import Source

_LONGEST_LINE: Final = 64 << 20
_PARQUET: Final = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 60000"


class EmbeddedEngine:
    """DuckDB with one analysis."""

    name = "embedded"
    dialect = DUCKDB

    def __init__(self) -> None:
        import duckdb

        self._connection: Any = duckdb.connect()
        self._registered: list[object] = []
        for setting in ("preserve_insertion_order = false", "enable_progress_bar = false"):
            self._connection.execute(f"SET {setting}")
        self._error = duckdb.Error

    def limit(self, memory_bytes: int, folder: str, threads: int) -> None:
        """Hold no more than that, and the rest in files there."""
        self._run(f"SET memory_limit = '{memory_bytes >> 20}MiB'")
        self._run(f"SET temp_directory = {DUCKDB.text(folder)}")
        self._run(f"SET threads = {threads}")

    def read(self, sources: Sequence[Source], lines_path: str, number: int = 0) -> None:
        """Parse the files into a table, and write it as the file of that number."""
        beyond = [file for source in sources for file in source.files if "://" in file]
        if beyond:
            raise PipelineError(f"JOURNALS: {beyond[0]}: the embedded engine reads local files")
        if not self._read_whole(sources):
            parts = map(_careful, sources)
            self._run(f"CREATE OR REPLACE TABLE every AS {' UNION ALL '.join(parts)}")
        Path(lines_path).mkdir(parents=True, exist_ok=True)
        file = DUCKDB.text(str(Path(lines_path, f"part-{number:05}.parquet")))
        self._run(f"COPY every TO {file} ({_PARQUET})")

    def _read_whole(self, sources: Sequence[Source]) -> bool:
        """Read at full speed what has no line that is none; whether that was so."""
        parts = " UNION ALL ".join(map(_quick, sources))
        try:
            self._connection.execute(f"CREATE OR REPLACE TABLE every AS {parts}")
        except self._error:
            return False
        lacking = " OR ".join(f"{name} IS NULL" for name in _NEEDED)
        return not self.query(f"SELECT 1 FROM every WHERE {lacking} LIMIT 1").num_rows

    def define(self, name: str, sql: str) -> None:
        """A view."""
        self._run(f"CREATE OR REPLACE VIEW {name} AS {sql}")

    def register(self, name: str, rows: pa.Table) -> None:
        """Arrow's rows in place."""
        self._registered.append(rows)
        self._connection.register(name, rows)

    def query(self, sql: str) -> pa.Table:
        """All rows."""
        try:
            return self._connection.sql(sql).to_arrow_table()
        except self._error as error:
            raise PipelineError(f"the embedded engine: {_first_line(error)}") from error

    def answer(self, asks: Sequence[Ask]) -> list[pa.Table | int]:
        """One after the other: each uses all cores."""
        return [self._store(ask) if ask.path else self.query(ask.sql) for ask in asks]

    def _store(self, ask: Ask) -> int:
        """Here everything is at hand: write it, and keep it."""
        rows = self.query(ask.sql)
        self.put(rows, ask.path)
        self.register(ask.name, rows)
        return int(rows.num_rows)

    def put(self, rows: pa.Table, path: str) -> None:
        """One file in a folder, as Spark's writers leave it."""
        put_locally(rows, path)

    def close(self) -> None:
        """Forget all of it."""
        self._connection.close()

    def _run(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except self._error as error:
            raise PipelineError(f"the embedded engine: {_first_line(error)}") from error


def put_locally(rows: pa.Table, path: str) -> None:
    """Write one Parquet file into a folder of this machine; it is there when it is whole.

    Spark takes no look at hidden files; a task that runs again writes the same one.
    """
    from pyarrow import parquet

    file = Path(path, "part-00000.parquet")
    hidden = file.with_name(f".{file.name}")
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(rows, hidden)
    hidden.replace(file)


_NEEDED: Final = ('"schema"', "kind", "run", "seq", "at_ms")


def _quick(source: Source) -> str:
    """Lines by DuckDB's own reader: it ends at the first that is none."""
    files = ", ".join(map(DUCKDB.text, source.files))
    types = ", ".join(f"{DUCKDB.text(name)}: {DUCKDB.text(kind)}" for name, kind in duckdb_types())
    fields = ", ".join(DUCKDB.q(name) for name, _ in duckdb_types())
    return f"""
SELECT {DUCKDB.text(source.side)} AS side, parse_filename(filename) AS journal,
  CAST(NULL AS VARCHAR) AS raw, {fields}
FROM read_json([{files}], columns = {{{types}}}, format = 'newline_delimited', filename = true,
  maximum_object_size = {_LONGEST_LINE})"""


def _careful(source: Source) -> str:
    """Lines as texts, each judged: its JSON, the types of its fields, what every line has."""
    files = ", ".join(map(DUCKDB.text, source.files))
    fields = ", ".join(f"line.{DUCKDB.q(name)}" for name in json_structure())
    structure = DUCKDB.text(json.dumps(json_structure()))
    types = ", ".join(DUCKDB.text(path) for path, _ in json_paths())
    wrong = " OR ".join(
        f"found[{n}] NOT IN {kinds}" for n, (_, kinds) in enumerate(json_paths(), 1)
    )
    lacking = " OR ".join(f"line.{name} IS NULL" for name in _NEEDED)
    return f"""
SELECT {DUCKDB.text(source.side)} AS side, journal, CASE WHEN bad THEN value END AS raw, {fields}
FROM (
  SELECT value, journal, bad, CASE WHEN NOT bad THEN line END AS line
  FROM (
    SELECT value, journal, line,
      line IS NULL OR {lacking} OR coalesce({wrong}, false) AS bad
    FROM (
      SELECT value, parse_filename(filename) AS journal,
        CASE WHEN json_valid(value) THEN json_transform(value, {structure}) END AS line,
        CASE WHEN json_valid(value) THEN json_type(value, [{types}]) END AS found
      FROM read_csv([{files}], columns = {{'value': 'VARCHAR'}}, delim = '\\0', quote = '',
        escape = '', header = false, auto_detect = false, filename = true, strict_mode = false,
        max_line_size = {_LONGEST_LINE})
      WHERE trim(value) <> ''
    ) AS parsed
  ) AS judged
) AS kept"""


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
