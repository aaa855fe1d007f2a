"""The page's parts: unique ids, and views of tables and columns that exist."""

from __future__ import annotations

from mockbroker.pipeline.analyze.sections import SECTIONS


def test_ids_are_unique() -> None:
    assert len({section.id for section in SECTIONS}) == len(SECTIONS)


def test_views_are_of_tables_that_exist() -> None:
    from mockbroker.pipeline.analyze.tables import TABLES

    viewed = {view.table for section in SECTIONS for view in section.views}
    drawn = {"fetch_series", "session_series", "wait_histogram", "high_watermark_histogram",
             "response_fill", "key_figures", "rotation_series", "turn_histogram",
             "servings"}  # fmt: skip
    assert (
        viewed - {"corrupt", "evidence"}
        == {name for name, table in TABLES.items() if table.kept} - drawn
    )
