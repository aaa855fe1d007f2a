"""analyze: the edge around the tables. Journals in; lines, tables and a page out; one summary.

Called by `pipeline.command`. Lines are parsed once and written as Parquet; every table is made of
that file, so a table costs the columns that it needs. DIR/lines has all lines with types,
DIR/tables/NAME the tables, DIR/tables/corrupt what could not be read, DIR/report.html the page.
What an earlier run left there is replaced when all of that is written (`destination`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze import journals
from mockbroker.pipeline.analyze.conformance import EVIDENCE, evidence
from mockbroker.pipeline.analyze.destination import Destination
from mockbroker.pipeline.analyze.frames import Options, Table, timed
from mockbroker.pipeline.analyze.page import Facts, render
from mockbroker.pipeline.analyze.tables import PAGE_ROWS, TABLES
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

MAX_BINS: Final = 160
TABLES_AT_A_TIME: Final = 4
_STEPS: Final = (1, 2, 5)
_ROW_GROUP_BYTES: Final = 32 << 20
"""A row group is built in memory: small ones, small heap."""

_CORRUPT: Final = Table(
    "corrupt",
    "side STRING, journal STRING, line STRING",
    lambda lines, _: lines.where("raw IS NOT NULL").withColumn("line", F.col("raw")),
    "side, journal, line",
    source="all",
)
_EVIDENCE_ORDER: Final = "side, rule, finding, seq"


@dataclass(frozen=True, slots=True)
class AnalyzeSpec:
    """What is asked for. `files` and `others` are journal files; `page` a path on this machine."""

    files: Sequence[str]
    out: str
    page: str
    others: Sequence[str] = ()
    overwrite: bool = False
    options: Options = field(default_factory=Options)


def bin_width_ms(length_ms: float) -> float:
    """The least width of 1, 2 or 5 times a power of ten that needs no more than MAX_BINS steps."""
    width = 1.0
    while True:
        for step in _STEPS:
            if length_ms / (width * step) <= MAX_BINS:
                return width * step
        width *= 10


def run_analyze(spark: SparkSession, spec: AnalyzeSpec) -> Summary:
    """Read, make the tables, write the page. Raises PipelineError when there is nothing to read."""
    destination = Destination(spec.out)
    destination.begin()
    try:
        summary = _run(spark, spec, destination)
    except BaseException:
        destination.drop()
        raise
    return summary


def _run(spark: SparkSession, spec: AnalyzeSpec, destination: Destination) -> Summary:
    facts, schema = _write_lines(spark, spec, destination)
    every = spark.read.schema(schema).parquet(f"{destination.root}/lines")
    found = _Tables(spark, destination.root, spec.overwrite)
    found.write(_CORRUPT, every, spec.options)
    untimed = every.where("raw IS NULL")
    found.write(TABLES["runs"], untimed, spec.options)
    runs = found.read("runs")
    length = runs.agg(F.max(F.col("starts_s") + F.col("lasted_s"))).first()
    length_ms = 1000 * float(length[0] or 0) if length is not None else 0.0
    options = replace(spec.options, bin_ms=bin_width_ms(length_ms))
    lines = timed(untimed, runs)
    first, then = _waves()
    found.write_all([(table, lines) for table in first], options)
    proof = Table("evidence", EVIDENCE, lambda rows, _: evidence(rows, lines), _EVIDENCE_ORDER)
    derived = [(table, found.read(table.source)) for table in then]
    found.write_all([*derived, (proof, found.read("conformance"))], options)
    page = render(found.page_rows, replace(facts, bin_s=options.bin_ms / 1000, totals=found.counts))
    try:
        Path(spec.page).write_text(page, encoding="utf-8")
    except OSError as error:
        raise PipelineError(f"{spec.page}: {(error.strerror or str(error)).lower()}") from None
    destination.keep()
    return _summary(spec, facts, found.counts)


def _waves() -> tuple[list[Table], list[Table]]:
    """The tables that are made of lines, and those that are made of these."""
    tables = [table for table in TABLES.values() if table.source != "untimed"]
    return (
        [table for table in tables if table.source == "lines"],
        [table for table in tables if table.source != "lines"],
    )


def _write_lines(
    spark: SparkSession, spec: AnalyzeSpec, destination: Destination
) -> tuple[Facts, StructType]:
    lines = journals.read(spark, spec.files, journals.BASE)
    if spec.others:
        lines = lines.unionByName(journals.read(spark, spec.others, journals.OTHER))
    figures = (
        F.count(F.lit(1)).alias("lines"),
        F.sum("size").alias("bytes"),
        F.count("raw").alias("corrupt"),
        F.min("schema").alias("lowest"),
        F.max("schema").alias("highest"),
    )
    if spec.overwrite and not destination.is_local:
        # What is there is replaced at once: look through the journals before that.
        for row in lines.agg(*figures).collect():
            _checked(spec, row.asDict())
    seen = Observation()
    _write(lines.observe(seen, *figures), f"{destination.root}/lines", overwrite=spec.overwrite)
    return _checked(spec, seen.get), lines.schema


def _checked(spec: AnalyzeSpec, told: Mapping[str, Any]) -> Facts:
    """What was counted of the lines. Raises PipelineError when they are no journal's."""
    journals.check_versions(told["lowest"], told["highest"])
    facts = Facts(
        sources=tuple(spec.files),
        others=tuple(spec.others),
        lines=int(told["lines"]),
        bytes=int(told["bytes"] or 0),
        corrupt=int(told["corrupt"]),
    )
    if facts.lines == facts.corrupt:
        raise PipelineError(f"JOURNALS: {facts.lines} lines, and none can be read")
    return facts


def _write(rows: DataFrame, path: str, *, overwrite: bool) -> None:
    mode = "overwrite" if overwrite else "error"
    rows.write.mode(mode).option("parquet.block.size", _ROW_GROUP_BYTES).parquet(path)


class _Tables:
    """Writes tables, and keeps of each a bounded part for the page and its number of rows."""

    def __init__(self, spark: SparkSession, out: str, overwrite: bool) -> None:
        self._spark = spark
        self._out = out
        self._overwrite = overwrite
        self.page_rows: dict[str, list[dict[str, object]]] = {}
        self.counts: dict[str, int] = {}
        self._schemas: dict[str, str] = {}

    def write_all(self, tables: Sequence[tuple[Table, DataFrame]], options: Options) -> None:
        """Write these, a few at a time: most of a small table's time is its planning."""
        with ThreadPoolExecutor(max_workers=TABLES_AT_A_TIME) as pool:
            for done in [pool.submit(self.write, *each, options) for each in tables]:
                done.result()

    def write(self, table: Table, source: DataFrame, options: Options) -> None:
        rows = table.of(source, options)
        _write(rows, f"{self._out}/tables/{table.name}", overwrite=self._overwrite)
        self._schemas[table.name] = table.schema
        written = self.read(table.name)
        first = written.orderBy(*_ordering(table.order)).limit(PAGE_ROWS).collect()
        self.page_rows[table.name] = [row.asDict(recursive=True) for row in first]
        # Not observed: what an observed plan that turns out empty has counted is never told.
        self.counts[table.name] = len(first) if len(first) < PAGE_ROWS else written.count()

    def read(self, name: str) -> DataFrame:
        """A table that was written; its schema is known, so no file is looked into for it."""
        return self._spark.read.schema(self._schemas[name]).parquet(f"{self._out}/tables/{name}")


def _ordering(order: str) -> list[Column]:
    columns = []
    for part in order.split(", "):
        name, _, direction = part.partition(" ")
        columns.append(F.desc(name) if direction == "DESC" else F.asc(name))
    return columns


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
