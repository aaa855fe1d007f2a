"""analyze: the edge around the tables. Journals in; lines, tables and a page out; one summary.

Called by `pipeline.command`. The lines are parsed once and written as Parquet (DIR/lines); each
table is one text upon them or upon other tables (`table`), asked of an engine (`engine`), and
comes back as Arrow. DIR/tables/NAME has the tables, DIR/tables/corrupt what could not be read,
DIR/report.html the page. What an earlier run left there is replaced when all of that is written
(`destination`).
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze import journals, relations
from mockbroker.pipeline.analyze.destination import PARTS, Destination
from mockbroker.pipeline.analyze.facts import FACTS
from mockbroker.pipeline.analyze.headlines import HEADLINE_TABLES
from mockbroker.pipeline.analyze.maker import LARGE_LINES, Maker
from mockbroker.pipeline.analyze.overview import RUNS
from mockbroker.pipeline.analyze.page import Facts, render
from mockbroker.pipeline.analyze.table import Options, Table, shaped, table_of
from mockbroker.pipeline.analyze.tables import OF_CLIENTS, TABLES
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from mockbroker.pipeline.analyze.engine import Engine

MAX_BINS: Final = 160
_STEPS: Final = (1, 2, 5)

LINE_CELLS: Final = Table("line_cells", relations.LINE_CELLS_DDL, "", kept=False)
EVIDENCE: Final = Table(
    "evidence",
    "side STRING, rule STRING, finding INT, run STRING, seq BIGINT, journal STRING, line STRING",
    "",
    "side, rule, finding, seq",
)
_OF_NO_LINE: Final = frozenset({"side", "journal", "raw"})


@dataclass(frozen=True, slots=True)
class AnalyzeSpec:
    """What is asked for. `files` and `others` are journal files; `page` a path on this machine.

    `conf` names the settings of Spark that the user made; with `follows` the page loads itself.
    """

    files: Sequence[str]
    out: str
    page: str
    others: Sequence[str] = ()
    overwrite: bool = False
    options: Options = field(default_factory=Options)
    conf: Sequence[str] = ()
    follows: bool = False

    def sources(self) -> list[journals.Source]:
        """The sides with their files."""
        named = ((journals.BASE, self.files), (journals.OTHER, self.others))
        return [journals.Source(side, files) for side, files in named if files]


def bin_width_ms(length_ms: float) -> float:
    """The least width of 1, 2 or 5 times a power of ten that needs no more than MAX_BINS steps."""
    width = 1.0
    while True:
        for step in _STEPS:
            if length_ms / (width * step) <= MAX_BINS:
                return width * step
        width *= 10


def open_engine(spark: SparkSession | None, spec: AnalyzeSpec) -> Engine:
    """Spark where there is a session, else the embedded engine."""
    if spark is None:
        from mockbroker.pipeline.analyze.embedded import EmbeddedEngine

        return EmbeddedEngine()
    from mockbroker.pipeline.analyze import task_engine

    size = journals.size_bytes([*spec.files, *spec.others])
    return task_engine.open_engine(
        spark, size, spec.out, overwrite=spec.overwrite, users_conf=spec.conf
    )


def run_analyze(
    spark: SparkSession | None, spec: AnalyzeSpec, streamed: Engine | None = None
) -> Summary:
    """Read, make the tables, write the page. Raises PipelineError when there is nothing to read.

    `streamed` is an engine whose lines are in DIR already (`line_stream`).
    """
    destination = Destination(spec.out, PARTS if streamed is None else ("tables",))
    destination.begin()
    try:
        with closing(streamed or open_engine(spark, spec)) as engine:
            summary = _run(engine, spec, destination)
    except BaseException:
        destination.drop()
        raise
    return summary


def _run(engine: Engine, spec: AnalyzeSpec, destination: Destination) -> Summary:
    growing = journals.Growing([*spec.files, *spec.others])
    engine.read(spec.sources(), f"{destination.root}/lines")
    cells = shaped(engine.query(relations.line_cells(engine.dialect)), LINE_CELLS)
    facts = _checked(spec, _counted(cells))
    with closing(
        Maker(engine, destination.root, spec.options, large=facts.lines > LARGE_LINES)
    ) as maker:
        corrupt = corrupt_table(engine, growing, facts)
        if facts.corrupt:
            maker.facts["corrupt"] = facts.corrupt
        maker.make(corrupt)
        unfinished = facts.corrupt - maker.counts["corrupt"]
        facts = replace(facts, corrupt=maker.counts["corrupt"], lines=facts.lines - unfinished)
        _place(engine, maker, cells)
        maker.make(*(table for table in TABLES.values() if table is not RUNS))
        maker.keep(EVIDENCE, evidence(engine, maker.rows["wanted_evidence"]))
        kept = [corrupt, EVIDENCE, *(table for table in TABLES.values() if table.kept)]
        totals = {table.name: maker.counts[table.name] for table in kept}
        shown = {table.name: maker.page_rows(table) for table in kept}
        shown |= {name: maker.all_rows(TABLES[name]) for name in OF_CLIENTS}
        told = {name: maker.all_rows(TABLES[name]) for name in HEADLINE_TABLES}
        page = render(shown, replace(facts, bin_s=maker.options.bin_ms / 1000, totals=totals), told)
    try:
        Path(spec.page).write_text(page, encoding="utf-8")
    except OSError as error:
        raise PipelineError(f"{spec.page}: {(error.strerror or str(error)).lower()}") from None
    destination.keep()
    return _summary(spec, facts, totals)


def _counted(cells: pa.Table) -> dict[str, Any]:
    from pyarrow import compute

    sums = {name: compute.sum(cells[name]).as_py() for name in ("lines_", "corrupt")}
    bounds = {
        "lowest": compute.min(cells["lowest"]).as_py(),
        "highest": compute.max(cells["highest"]).as_py(),
    }
    return {**sums, **bounds}


def _checked(spec: AnalyzeSpec, told: Mapping[str, Any]) -> Facts:
    """What was counted of the lines. Raises PipelineError when they are no journal's."""
    journals.check_versions(told["lowest"], told["highest"])
    facts = Facts(
        sources=tuple(spec.files),
        others=tuple(spec.others),
        lines=int(told["lines_"] or 0),
        bytes=journals.size_bytes([*spec.files, *spec.others]) or 0,
        corrupt=int(told["corrupt"] or 0),
        follows=spec.follows,
    )
    if not facts.lines:
        raise PipelineError(journals.NO_LINE)
    if facts.lines == facts.corrupt:
        raise PipelineError(f"JOURNALS: {facts.lines} lines, and none can be read")
    return facts


def _place(engine: Engine, maker: Maker, cells: pa.Table) -> None:
    """The runs on the time axis, and with them the relations that the tables read."""
    from pyarrow import compute

    read = cells.filter(compute.is_valid(cells["run"]))
    maker.facts |= {name: compute.sum(read[f"has_{name}"]).as_py() or 0 for name in FACTS}
    maker.keep(LINE_CELLS, read)
    maker.make(RUNS)
    runs = maker.rows[RUNS.name]
    ends = compute.add(runs["starts_s"], runs["lasted_s"])
    length_ms = 1000 * float(compute.max(ends).as_py() or 0)
    maker.options = replace(maker.options, bin_ms=bin_width_ms(length_ms))
    moved = (compute.max(runs["starts_s"]).as_py() or 0) > 0
    if moved:
        engine.register("run_starts", runs.select(["side", "run", "starts_s"]))
    engine.define("placed", relations.placed(engine.dialect, moved=moved))
    for name, sql in relations.relations(engine.dialect).items():
        engine.define(name, sql)


def corrupt_table(engine: Engine, growing: journals.Growing, facts: Facts) -> Table:
    """Lines that could not be read, without those that a broker was just writing."""
    where = "raw IS NOT NULL"
    names = growing.names() if facts.corrupt else []
    if names:
        listed = ", ".join(engine.dialect.text(name) for name in names)
        found = engine.query(
            f"SELECT DISTINCT journal, raw FROM every WHERE {where} AND journal IN ({listed})"
        )
        quoted = engine.dialect.text
        for name, raw in sorted(growing.cut_off(found.to_pylist())):
            where += f" AND NOT (journal = {quoted(name)} AND raw = {quoted(raw)})"
    return Table(
        "corrupt",
        "side STRING, journal STRING, line STRING",
        f"SELECT side, journal, raw AS line FROM every WHERE {where}",
        "side, journal, line",
        large=True,
        needs="corrupt",
    )


def evidence(engine: Engine, wanted: pa.Table) -> pa.Table:
    """The journal lines of the first findings of each rule, as JSON of what was read."""
    rows = wanted.to_pylist()
    places = {
        (row["side"], row["run"], seq): None
        for row in rows
        for seq in (row["before_seq"], row["seq"])
        if seq is not None
    }
    if not places:
        return table_of(EVIDENCE, [])
    numbers = ", ".join(str(seq) for seq in sorted({seq for _, _, seq in places}))
    found = engine.query(
        f"SELECT * FROM every WHERE kind IN ('request', 'session') AND seq IN ({numbers})"
    )
    texts = {}
    for line in found.to_pylist():
        told = {key: value for key, value in line.items() if key not in _OF_NO_LINE}
        text = json.dumps(_without_nulls(told), ensure_ascii=False)
        texts[line["side"], line["run"], line["seq"]] = (line["journal"], text)
    proofs = []
    for row in rows:
        for seq in (row["before_seq"], row["seq"]):
            proof = texts.get((row["side"], row["run"], seq))
            if proof is not None:
                kept = {name: row[name] for name in ("side", "rule", "finding", "run")}
                proofs.append({**kept, "seq": seq, "journal": proof[0], "line": proof[1]})
    return table_of(EVIDENCE, proofs)


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def _summary(spec: AnalyzeSpec, facts: Facts, counts: Mapping[str, int]) -> Summary:
    notes = [f"page {spec.page}"]
    if counts["conformance"]:
        notes.append(f"{counts['conformance']:,} findings of conformance")
    if facts.corrupt:
        notes.append(f"{facts.corrupt:,} corrupt lines are kept in {spec.out}/tables/corrupt")
    return Summary(
        "analyze",
        facts.lines,
        facts.bytes,
        f"into {spec.out}",
        notes=notes,
        figures={"corrupt": facts.corrupt, "tables": dict(counts), "page": spec.page},
    )
