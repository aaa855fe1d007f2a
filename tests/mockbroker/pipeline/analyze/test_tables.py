"""The list of tables: each has a schema, is written, and is explained in the document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.analyze.frames import fields_of
from mockbroker.pipeline.analyze.tables import TABLES

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "analyze.md"


@pytest.mark.spark
def test_tables_are_written_with_their_schemas(analysis: Analysis) -> None:
    for name, table in TABLES.items():
        written = analysis.spark.read.parquet(str(analysis.out / "tables" / name))
        assert [(f.name, f.dataType) for f in written.schema] == [
            (f.name, f.dataType) for f in fields_of(table.schema)
        ], name


@pytest.mark.parametrize("name", TABLES)
def test_each_table_is_in_the_document(name: str) -> None:
    assert f"`{name}`" in DOCUMENT.read_text("utf-8")


def test_a_table_made_of_another_comes_after_it() -> None:
    seen = {"lines", "untimed"}
    for table in TABLES.values():
        assert table.source in seen
        seen.add(table.name)
