"""Tables whose every row is made of the lines of one broker: a task makes those of some brokers.

Called by `spark_engine`. Such a text sorts all fetches several times, which Spark does row by row:
the embedded engine, which reads the same texts, does it in a tenth of the time, and the brokers of
a journal need nothing of each other. It runs in Spark's tasks, on the lines that these have read.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze import relations
from mockbroker.pipeline.analyze.dialect import DUCKDB
from mockbroker.pipeline.analyze.embedded import EmbeddedEngine, put_locally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, object]

KEYS: Final = "side, run, broker"
_MEMORY: Final = "1GB"
"""Of a task; what is more goes to files."""


@dataclass(frozen=True, slots=True)
class Share:
    """What tasks make: rows of `sql`, in files of `path`; `starts` are the rows of `run_starts`."""

    sql: str
    lines_path: str
    path: str
    starts: Sequence[Row]


def shares(brokers: Sequence[Row], count: int) -> list[list[Row]]:
    """The brokers of each task, a row of `KEYS` each; each task reads all files."""
    count = min(count, len(brokers))
    return [list(brokers[number::count]) for number in range(count)]


def make(share: Share, brokers: Sequence[Row], number: int) -> int:
    """Write what is of these brokers, as the file of this number; how many rows it has."""
    import pyarrow as pa

    with TemporaryDirectory() as spilled, closing(EmbeddedEngine()) as engine:
        engine.limit(_MEMORY, spilled)
        engine.register("brokers", pa.Table.from_pylist(list(brokers)))
        files = DUCKDB.text(f"{share.lines_path}/*.parquet")
        engine.define(
            "every",
            f"SELECT l.* FROM read_parquet({files}) AS l SEMI JOIN brokers AS b ON l.side = b.side"
            " AND l.run = b.run AND l.broker IS NOT DISTINCT FROM b.broker",
        )
        if share.starts:
            engine.register("run_starts", pa.Table.from_pylist(list(share.starts)))
        for name, sql in relations.relations(DUCKDB, moved=bool(share.starts)).items():
            engine.define(name, sql)
        rows = engine.query(share.sql)
    put_locally(rows, share.path, number)
    return int(rows.num_rows)
