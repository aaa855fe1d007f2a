"""dump: topics into Parquet or JSON, decoded; in one go, or only what is new since the last run.

`decode` is pure: records in, rows out. A batch is committed as a whole by Spark's file protocol. A
stream (`--checkpoint`) takes what is there and ends; its offsets and its files are committed in one
order (offsets planned, files written, the sink's log, then the checkpoint's), so a killed run is
repeated or completed, never doubled: read such an output with Spark, which follows the sink's log.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.dump_stream import observed_rows, run_query
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.framing import ANY_SCHEMA, unframed
from mockbroker.pipeline.records import size_bytes
from mockbroker.pipeline.registered import writers_of
from mockbroker.pipeline.session import is_connect
from mockbroker.pipeline.sources import CSV_OPTIONS, TABLE, fitting, write_dataset
from mockbroker.pipeline.summary import Summary
from mockbroker.pipeline.topic_range import (
    Broker,
    TopicRange,
    known_partitions,
    read_options,
    what_is_there,
)
from mockbroker.pipeline.topics import read_topics, require_connector, stream_topics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

DERIVED: Final = {"date": "yyyy-MM-dd", "hour": "HH"}
"""Columns to partition by that are made of a record's time."""
CORRUPT: Final = "_undecoded"
"""The column that keeps the bytes of a value which could not be decoded, null elsewhere."""

_VARIANT_TYPES: Final = (
    (re.compile(r"\bOBJECT<"), "STRUCT<"),
    (re.compile(r"\b(?:VARIANT|VOID)\b"), "STRING"),
    (re.compile(r"\b(?:DECIMAL\(\d+,\s*\d+\)|FLOAT)"), "DOUBLE"),
)


@dataclass(frozen=True, slots=True)
class Coding:
    """How the bytes of a column are decoded. `schema`: DDL for json, a JSON text for avro.

    With a `schema_id` they are in Confluent's framing: only those of this id are decoded;
    ANY_SCHEMA stands for all. `writers` are Avro schemas by id, which `schema` reads them by.
    """

    format: str = "raw"
    schema: str | None = None
    schema_id: int | None = None
    writers: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DumpSpec:
    """How records are decoded; `registry`: the URL of one that has the schemas of any id."""

    key: Coding = Coding()
    value: Coding = Coding()
    registry: str | None = None


@dataclass(frozen=True, slots=True)
class DumpTarget:
    """Where rows go. `checkpoint`: a folder that remembers what was dumped.

    `follow`: go on with what comes, looking every so many seconds.
    """

    path: str
    format: str = "parquet"
    overwrite: bool = False
    checkpoint: str | None = None
    partition_by: tuple[str, ...] = ()
    follow: float | None = None


def decode(records: DataFrame, spec: DumpSpec) -> DataFrame:
    """topic, partition, offset, timestamp, key, value, headers; `_undecoded` where formats ask.

    A value that is no JSON or Avro of that schema is null, with its bytes in `_undecoded`; so are
    those of a JSON object with a field of another type, which is null alone.
    """
    key, value = decoded("key", spec.key), decoded("value", spec.value)
    columns: list[Column] = [
        *(F.col(name) for name in ("topic", "partition", "offset", "timestamp")),
        key.value.alias("key"),
        value.value.alias("value"),
        F.col("headers"),
    ]
    if spec.value.format in {"json", "avro"} or spec.value.schema_id is not None:
        lost = value.value.isNull()
        if value.in_part is not None:
            lost |= value.in_part
        columns.append(F.when(lost, F.col("value")).alias(CORRUPT))
    return records.select(*columns)


class Decoded(NamedTuple):
    """A column as it is said to be, and whether some of its bytes are not in there."""

    value: Column
    in_part: Column | None = None


def decoded(column: str, coding: Coding) -> Decoded:
    """The bytes in a column as what they are said to be."""
    raw, schema = F.col(column), coding.schema
    if coding.schema_id is not None:
        raw = unframed(raw, coding.schema_id)
    if coding.format == "raw":
        return Decoded(raw)
    if coding.format == "string":
        return Decoded(raw.cast("string"))
    if not schema:
        raise PipelineError(f"--{column}-format {coding.format} needs --{column}-schema")
    if coding.format == "json":
        return _of_json(raw.cast("string"), schema)
    reader = avro_schema(column, schema)
    if not coding.writers:
        return Decoded(_of_avro(raw, reader))
    by_id = (
        _of_avro(unframed(F.col(column), one), writer, reader)
        for one, writer in coding.writers.items()
    )
    return Decoded(F.coalesce(*by_id))


def _of_json(text: Column, schema: str) -> Decoded:
    """Of what is no JSON object Spark makes a record of nulls; it says so in a field, if asked."""
    mode = {"mode": "PERMISSIVE"}
    asking = _with_corrupt(schema)
    if asking is None:
        return Decoded(F.when(is_json(text), F.from_json(text, schema, mode)))
    parsed = F.from_json(text, asking, {**mode, "columnNameOfCorruptRecord": CORRUPT})
    in_part = parsed[CORRUPT].isNotNull()
    is_object = is_json(text) & (~in_part | text.rlike(r"^\s*\{"))
    return Decoded(F.when(is_object, parsed.dropFields(CORRUPT)), in_part)


def _with_corrupt(schema: str) -> str | None:
    """The DDL of an object with one field more; None of lists, maps, and JSON."""
    ddl = schema.strip()
    if re.match(r"struct\s*<.*>$", ddl, re.IGNORECASE | re.DOTALL):
        return f"{ddl[:-1]}, {CORRUPT}: STRING>"
    if re.match(r"(array|map)\s*<|\{", ddl, re.IGNORECASE):
        return None
    return f"{ddl}, {CORRUPT} STRING"


def _of_avro(raw: Column, writer: str, reader: str | None = None) -> Column:
    """The bytes as `reader` has them, or the writer's schema itself; null where they are not so.

    Spark makes a record of nulls of bytes that are no record: so they are read as the one field of
    a record, which has the same bytes, and what is null is that field.
    """
    from pyspark.sql.avro.functions import from_avro

    options = {"mode": "PERMISSIVE"}
    if reader is not None:
        options["avroSchema"] = _as_a_field(reader)
    return from_avro(raw, _as_a_field(writer), options)["value"]


def _as_a_field(schema: str) -> str:
    field_of_it = {"name": "value", "type": json.loads(schema)}
    return json.dumps({"type": "record", "name": "mockbroker_value", "fields": [field_of_it]})


def is_json(text: Column) -> Column:
    """Whether a text is JSON."""
    if hasattr(F, "try_parse_json"):
        return F.try_parse_json(text).isNotNull()
    return F.get_json_object(text, "$").isNotNull()  # Spark 3.5


def avro_schema(column: str, schema: str) -> str:
    """The Avro schema: the JSON text itself, or that of a file `@PATH`."""
    text = Path(schema[1:]).read_text() if schema.startswith("@") else schema
    try:
        json.loads(text)
    except ValueError as error:
        raise PipelineError(f"--{column}-schema: no JSON: {error}") from None
    return text


def infer_json_schema(records: DataFrame, column: str = "value") -> str:
    """DDL of what the JSON objects in a column have in common, in one pass on the executors.

    A field of several types is a string. Raises PipelineError when no value is a JSON object.
    """
    if not hasattr(F, "try_parse_json"):
        return _schema_by_reader(records, column)
    parsed = F.try_parse_json(F.col(column).cast("string"))
    row = records.agg(F.schema_of_variant_agg(parsed).alias("type")).first()
    found = str(row["type"]) if row is not None else ""
    if not found.startswith("OBJECT<") or found == "OBJECT<>":
        raise _no_objects(column, found)
    return ddl_of_variant(found)


def _schema_by_reader(records: DataFrame, column: str) -> str:
    """The same on Spark 3.5, which has no variants: by its reader of JSON."""
    if is_connect(records):
        raise PipelineError(f"--{column}-schema infer needs Spark 4 over Spark Connect")
    # PySpark's own read.json takes an RDD, whose rows would go through Python.
    session = cast("Any", records.sparkSession)
    texts = cast("Any", records.select(F.col(column).cast("string")))._jdf  # noqa: SLF001
    encoder = session._jvm.org.apache.spark.sql.Encoders.STRING()  # noqa: SLF001
    reader = session._jsparkSession.read().option("mode", "DROPMALFORMED")  # noqa: SLF001
    found = str(reader.json(getattr(texts, "as")(encoder)).schema().toDDL())
    if not found:
        raise _no_objects(column, found)
    return found


def _no_objects(column: str, found: str) -> PipelineError:
    return PipelineError(
        f"--{column}-schema infer: the {column}s are no JSON objects of one kind ({found})"
    )


def ddl_of_variant(found: str) -> str:
    """Spark's name for a variant's type as the DDL of a struct."""
    for pattern, replacement in _VARIANT_TYPES:
        found = pattern.sub(replacement, found)
    return found


def placed(rows: DataFrame, target: DumpTarget) -> DataFrame:
    """The rows with the columns that they are partitioned by; `date` and `hour` are made (UTC)."""
    for name in target.partition_by:
        if name in DERIVED and name not in rows.columns:
            pattern = DERIVED[name]
            rows = rows.withColumn(name, F.date_format("timestamp", pattern))
        elif name not in rows.columns:
            known = ", ".join([*rows.columns, *DERIVED])
            raise PipelineError(f"--partition-by: no column {name!r}: there are {known}")
    return rows


def run_dump(
    spark: SparkSession, broker: Broker, wanted: TopicRange, spec: DumpSpec, target: DumpTarget
) -> Summary:
    """Read the range, decode, write; the summary counts what was written."""
    require_connector(spark)
    options = read_options(broker, wanted, known_partitions(broker, wanted))
    records = read_topics(spark, options)
    spec, notes = with_schemas(records, spec)
    if target.checkpoint is not None:
        return run_stream(stream_topics(spark, options), spec, target)
    seen = Observation()
    records = records.observe(
        seen, F.count(F.lit(1)).alias("rows"), F.sum(size_bytes()).alias("bytes")
    )
    write_dataset(
        placed(decode(records, spec), target),
        target.path,
        target.format,
        overwrite=target.overwrite,
        partition_by=target.partition_by,
    )
    summary = Summary(
        "dump", int(seen.get["rows"]), int(seen.get["bytes"] or 0), f"into {target.path}"
    )
    if not summary.rows:
        summary.notes.append(what_is_there(wanted, broker))
    summary.notes += notes
    return summary


def with_schemas(records: DataFrame, spec: DumpSpec) -> tuple[DumpSpec, list[str]]:
    """With the schemas that the records themselves tell, and notes of those nobody knows."""
    notes: list[str] = []

    def known(column: str, coding: Coding) -> Coding:
        if coding.format == "json" and coding.schema == "infer":
            texts = records
            if coding.schema_id is not None:
                texts = records.select(unframed(F.col(column), coding.schema_id).alias(column))
            return replace(coding, schema=infer_json_schema(texts, column))
        if spec.registry is None or coding.format != "avro" or coding.schema_id != ANY_SCHEMA:
            return coding
        writers, unknown = writers_of(records, column, spec.registry)
        notes.extend(unknown)
        if not writers:
            raise PipelineError(f"no {column} was written with a schema that the registry has")
        return replace(coding, schema=coding.schema or writers[max(writers)], writers=writers)

    return replace(spec, key=known("key", spec.key), value=known("value", spec.value)), notes


def run_stream(records: DataFrame, spec: DumpSpec, target: DumpTarget) -> Summary:
    """What is new since the last run with this checkpoint; with `follow` what comes, too."""
    if target.format == TABLE:
        raise PipelineError("--format iceberg: --checkpoint is not there for tables")
    rows = placed(decode(observed_rows(records), spec), target)
    writer = (
        fitting(rows, target.format)
        .writeStream.format(target.format)
        .option("path", target.path)
        .option("checkpointLocation", str(target.checkpoint))
        .partitionBy(*target.partition_by)
    )
    if target.format == "csv":
        writer = writer.options(**CSV_OPTIONS)
    counted = run_query(writer, target.follow)
    notes = ["what is new since the last run"]
    if counted.lacks_a_batch:
        notes.append("and a batch that a killed run had begun, which is not counted here")
    return Summary("dump", counted.rows, counted.bytes, f"into {target.path}", notes=notes)
