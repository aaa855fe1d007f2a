"""The list of tables: each has a schema, is written, and is explained in the document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze.facts import FACTS
from mockbroker.pipeline.analyze.table import arrow_schema
from mockbroker.pipeline.analyze.tables import TABLES

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis

KEPT = [table for table in TABLES.values() if table.kept]
DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "analyze.md"


def test_tables_are_written_with_their_schemas(analysis: Analysis) -> None:
    for table in KEPT:
        written = parquet.read_table(analysis.out / "tables" / table.name)
        names = [column.name for column in table.columns]
        assert written.schema.names == names, table.name
        assert written.schema.types == arrow_schema(table).types, table.name


@pytest.mark.parametrize("name", [table.name for table in KEPT])
def test_each_table_is_in_the_document(name: str) -> None:
    assert f"`{name}`" in DOCUMENT.read_text("utf-8")


def test_a_table_made_of_another_comes_after_it() -> None:
    seen = {"line_cells"}
    for table in TABLES.values():
        assert set(table.of) <= seen, table.name
        seen.add(table.name)


def test_what_a_table_needs_is_counted() -> None:
    assert {table.needs for table in TABLES.values()} - {""} <= set(FACTS)
    of_parts = {name for table in TABLES.values() for part in table.parts for name in part.needs}
    assert of_parts <= set(FACTS)
    assert all(part.needs for table in TABLES.values() for part in table.parts)
