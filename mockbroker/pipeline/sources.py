"""Datasets in files, on any path that Spark knows: read strictly, written once.

Called by the jobs. A reader demands what it is told: schemas of several files are merged or
refused, a malformed record is an error, a corrupt file is an error. None is skipped in silence.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.errors import BrokenInputError, PipelineError, explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

_CORRUPT: Final = "_corrupt_line"
FORMATS: Final = ("parquet", "json", "csv", "avro", "orc", "delta", "iceberg")
TABLE: Final = "iceberg"
"""The format whose place is a table of a catalog, not a folder."""
_SUFFIXES: Final = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".avro": "avro",
    ".orc": "orc",
}
_PACKED: Final = (".gz", ".bz2", ".zst", ".zstd", ".snappy", ".lz4", ".xz", ".deflate")
_READ_OPTIONS: Final[dict[str, dict[str, str]]] = {
    "parquet": {"mergeSchema": "true"},
    "orc": {"mergeSchema": "true"},
    "json": {"mode": "FAILFAST"},
    # With enforceSchema off, a file whose header differs is an error.
    "csv": {"header": "true", "mode": "FAILFAST", "enforceSchema": "false"},
    "avro": {"mode": "FAILFAST"},
}


def format_of(paths: Sequence[str]) -> str:
    """The format that the names tell. Raises PipelineError when they tell none, or several."""
    found = {_format_of_path(path) for path in paths}
    if None in found or not found:
        unclear = next((path for path in paths if _format_of_path(path) is None), "")
        raise PipelineError(f"{unclear}: its name tells no format: name it by --format")
    if len(found) > 1:
        raise PipelineError(f"files of several formats ({', '.join(map(str, found))}): load each")
    return str(found.pop())


def _format_of_path(path: str) -> str | None:
    name = path.rstrip("/").rpartition("/")[2].lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    named = _SUFFIXES.get(Path(name).suffix)
    if named or "://" in path or not Path(path).is_dir():
        return named
    inside = {
        _format_of_path(entry.name)
        for entry in sorted(Path(path).iterdir())
        if entry.is_file() and not entry.name.startswith(("_", "."))
    }
    return inside.pop() if len(inside) == 1 else None


def read_dataset(
    spark: SparkSession,
    paths: Sequence[str],
    format_name: str | None = None,
    schema: str | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The rows of these files or folders. `schema` is DDL, such as `id BIGINT, name STRING`.

    Raises PipelineError for an unknown format, BrokenInputError for JSON of which no schema can be
    inferred; Spark's own errors for what else is in the files.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    chosen = format_name or format_of(paths)
    if chosen not in FORMATS:
        raise PipelineError(f"--format: {chosen!r} is none of {', '.join(FORMATS)}")
    reader = spark.read.format(chosen).options(
        **{**_READ_OPTIONS.get(chosen, {}), **(options or {})}
    )
    if schema:
        reader = reader.schema(schema)
    try:
        return reader.load(list(paths))
    except (PySparkException, Py4JError) as error:
        # While it infers a schema, Spark tells neither file nor line.
        broken = chosen == "json" and not schema and "MALFORMED" in str(error).upper()
        where = _where_it_is_broken(spark, paths, options or {}) if broken else ""
        if not where:
            raise
        raise BrokenInputError(f"{explain(error)}; it stopped at {where}") from None


def _where_it_is_broken(
    spark: SparkSession, paths: Sequence[str], options: Mapping[str, str]
) -> str:
    """The first file, by name, that holds something else than JSON, and the line; empty: none."""
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    whole = {key.lower(): value for key, value in options.items()}.get("multiline", "false")
    texts = spark.read.option("wholetext", whole).text(list(paths))
    refused = _refused(F.col("value"), [], "json", options)
    row = texts.where(refused).agg(F.min("_metadata.file_path").alias("file")).first()
    if row is None or row["file"] is None:
        return ""
    line = line_of(spark.range(0).select(), row["file"], "json", options)
    return f"{row['file']}, line {line:,}" if line else str(row["file"])


def line_of(
    rows: DataFrame, path: str, format_name: str, options: Mapping[str, str] | None = None
) -> int | None:
    """The first line of a text file that cannot be read as these rows; None where there is none.

    Also None for what has no lines: binary formats, and records over several lines.
    """
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    given = {**_READ_OPTIONS.get(format_name, {}), **(options or {})}
    lowered = {key.lower(): value.lower() for key, value in given.items()}
    if format_name not in {"json", "csv"} or lowered.get("multiline") == "true":
        return None
    columns = [(field.name, field.dataType.simpleString()) for field in rows.schema]
    number = F.monotonically_increasing_id() + F.lit(1)
    lines = rows.sparkSession.read.text(path).coalesce(1).select("value", number.alias("line"))
    header = format_name == "csv" and lowered.get("header") == "true"
    refused = lines.where(F.col("line") > int(header)).where(
        _refused(F.col("value"), columns, format_name, given)
    )
    row = refused.agg(F.min("line").alias("line")).first()
    return None if row is None or row["line"] is None else int(row["line"])


def _refused(
    text: Column, columns: list[tuple[str, str]], format_name: str, options: Mapping[str, str]
) -> Column:
    """Whether a text that is not blank is no JSON or CSV of columns with these names and types."""
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    given = {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in (*columns, (_CORRUPT, "string")))
    parse = F.from_json if format_name == "json" else F.from_csv
    return (F.trim(text) != "") & parse(text, ddl, given)[_CORRUPT].isNotNull()


def write_dataset(
    rows: DataFrame,
    path: str,
    format_name: str,
    *,
    overwrite: bool,
    partition_by: Sequence[str] = (),
) -> None:
    """Write a folder of files, committed as a whole: a killed run leaves no `_SUCCESS`.

    Of Iceberg the path is the name of a table.
    """
    if format_name == TABLE:
        table = rows.writeTo(path).using(format_name)
        if partition_by:
            table = table.partitionedBy(*(rows[name] for name in partition_by))
        if overwrite:
            table.createOrReplace()
        else:
            table.create()
        return
    writer = fitting(rows, format_name).write.format(format_name)
    if format_name == "csv":
        writer = writer.options(**CSV_OPTIONS)
    mode = "overwrite" if overwrite else "error"
    writer.mode(mode).partitionBy(*partition_by).save(path)


CSV_OPTIONS: Final = {"header": "true", "escape": '"'}


def fitting(rows: DataFrame, format_name: str) -> DataFrame:
    """The rows with types that the format has: CSV takes bytes as base64 and structures as JSON."""
    if format_name != "csv":
        return rows
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    columns = []
    for field in rows.schema:
        column, kind = F.col(f"`{field.name}`"), field.dataType.typeName()
        if kind == "binary":
            column = F.base64(column)
        elif kind in {"struct", "array", "map"}:
            column = F.to_json(column)
        columns.append(column.alias(field.name))
    return rows.select(*columns)
