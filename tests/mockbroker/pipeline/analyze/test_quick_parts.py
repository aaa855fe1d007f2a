"""What requests list, a row each: the relations are as of lists that an engine takes apart."""

from __future__ import annotations

from contextlib import closing
from itertools import product
from typing import TYPE_CHECKING

from mockbroker.pipeline.analyze import quick_parts
from mockbroker.pipeline.analyze.dialect import DUCKDB
from mockbroker.pipeline.analyze.embedded import EmbeddedEngine
from mockbroker.pipeline.analyze.journals import Source
from mockbroker.pipeline.analyze.quick_lines import pieces, read_all
from mockbroker.pipeline.analyze.relations import line_cells, relations
from tests.support.journal_lines import Journal, Line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Every way in which a partition may be passed over while it has data, or not.
PARTS: dict[str, tuple[object, ...]] = {
    "position": (None, 0),
    "error": (None, 0, 6),
    "bytes": (None, 0, 7),
    "fetch_offset": (None, 4, 5),
    "high_watermark": (None, 5),
    "last_stable_offset": (None, -1, 0, 5),
}
FETCHES: dict[str, tuple[object, ...]] = {
    "records_bytes": (None, 0, 70),
    "isolation_level": (None, 0, 1),
}
ERRORS: tuple[list[int], ...] = ([], [6], [70], [71], [106], [6, 70], [70, 71])


def mixes(values: dict[str, tuple[object, ...]]) -> list[Line]:
    return [dict(zip(values, mix, strict=True)) for mix in product(*values.values())]


def rows(engine: EmbeddedEngine, sql: str) -> list[str]:
    return sorted(repr(row) for row in engine.query(sql).to_pylist())


def compare(journal: Journal, folder: Path) -> set[str]:
    """Have both, and return which views the parts have made."""
    sources = [Source("base", [str(journal.write(folder / "journals"))])]
    assert read_all(pieces(sources), str(folder / "lines"))["value"].to_pylist() == [
        journal.text().partition("\n")[0]
    ]
    with closing(EmbeddedEngine()) as engine:
        engine.read(sources, str(folder / "all"))
        parted = set()
        for view in quick_parts.OF_APIS.values():
            files = quick_parts.folder_of(str(folder / "lines")) / view
            if files.is_dir():
                engine.define(view, f"SELECT * FROM read_parquet('{files}/*.parquet')")
                parted.add(view)
        found = []
        for views in (frozenset[str](), frozenset(parted)):
            for name, sql in relations(DUCKDB, views).items():
                engine.define(name, sql)
            names = ("fetched", "produced", "read_slots")
            texts = [line_cells(DUCKDB, views), *(f"SELECT * FROM {name}" for name in names)]
            found.append([rows(engine, sql) for sql in texts])
        assert found[0] == found[1]
    return parted


def test_a_partition_is_starved_and_a_fetch_limited_as_in_the_relation(tmp_path: Path) -> None:
    journal = Journal()
    for number, (fetch, part) in enumerate(product(mixes(FETCHES), mixes(PARTS))):
        # Beside one that was served, in either order.
        parts: list[Line] = [part, {"bytes": 70}]
        fetches(journal, parts[:: 1 if number % 2 else -1], fetch=fetch)
    assert compare(journal, tmp_path) == {quick_parts.FETCHED}


def test_what_a_line_says_is_said_of_each_of_its_parts(tmp_path: Path) -> None:
    journal = Journal()
    for errors in ERRORS:
        fetches(journal, [{}, {"topic": None, "slots": [[0, 7], [9, 9]], "next_offset": 3}], errors)
        fetches(journal, [], errors)
    journal.request("Fetch", 1.0)
    journal.request("Produce", 2.0)
    for error in (0, 6, 20):
        journal.produce(3.0, 5, 3, error=error, crc=1, keys=3, top_key="k", top_key_records=2)
    assert compare(journal, tmp_path) == {quick_parts.FETCHED, quick_parts.PRODUCED}


def test_journals_in_which_nothing_is_listed_have_no_parts(tmp_path: Path) -> None:
    journal = Journal()
    fetches(journal, [])
    assert compare(journal, tmp_path) == set()


def fetches(
    journal: Journal, parts: list[Line], errors: Sequence[int] = (), fetch: Line | None = None
) -> None:
    """A fetch whose line says all that is given of it, and of its parts."""
    journal.fetch(1.0, partitions=tuple({} for _ in parts), fetch=fetch)
    line = journal.lines[-1]
    line["errors"] = list(errors)
    for told, part in zip(line["fetch"]["partitions"], parts, strict=True):
        told.update(part)
