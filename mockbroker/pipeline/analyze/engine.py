"""What an engine does: parse journals once, and answer the tables' texts with Arrow.

Called by `job`; `spark_engine`, `task_engine` and `embedded` are those there are. A text reads
views by name: `every` (all lines), the relations of `relations`, and tables that were made before.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from mockbroker.pipeline.analyze.dialect import Dialect
    from mockbroker.pipeline.analyze.journals import Source


SMALL_BYTES: Final = 64 << 20
"""Journals up to this size are read by one task, and run without compiled stages."""


class Ask(NamedTuple):
    """A text. With a `path` its rows are written there as Parquet, and are the view `name`."""

    sql: str
    name: str = ""
    path: str = ""


class Engine(Protocol):
    """One engine with the lines of one analysis."""

    name: str
    dialect: Dialect

    def read(self, sources: Sequence[Source], lines_path: str) -> None:
        """Parse the files, write all lines as Parquet, and define `every`."""

    def define(self, name: str, sql: str) -> None:
        """A view."""

    def register(self, name: str, rows: pa.Table) -> None:
        """Rows that are here as a view."""

    def query(self, sql: str) -> pa.Table:
        """All rows of a text."""

    def answer(self, asks: Sequence[Ask]) -> list[pa.Table | int]:
        """All rows of each, or how many were written; what takes longest is asked first."""

    def put(self, rows: pa.Table, path: str) -> None:
        """Write rows that are here as Parquet."""

    def close(self) -> None:
        """Give back what is held; the session of the user stays."""


def has_embedded() -> bool:
    """Whether the embedded engine is installed."""
    return find_spec("duckdb") is not None and find_spec("pyarrow") is not None
