"""load: a dataset into a topic; a run that was killed goes on without loss and without doubles.

`to_records` is pure: rows in, records out. Resuming needs no mark on the records: before the first
record is sent, the checkpoint notes where each partition ended. A run that finds such a note reads
what is in the topic from there on, and sends the dataset less that, as multisets of content hashes
(docs/pipeline.md says what this rests on). Order, when asked for: all rows of a key are sent by one
task in order, and an idempotent producer lets none overtake another, so a killed run leaves a
prefix of each key and the next one adds the rest.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Observation, Window
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere
from pyspark.sql.types import ArrayType, MapType, StructType

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.dump import avro_schema
from mockbroker.pipeline.errors import PipelineError, explain, file_of
from mockbroker.pipeline.framing import framed
from mockbroker.pipeline.load_state import LoadState, read_state, settled_ends, write_state
from mockbroker.pipeline.records import (
    HEADERS_TYPE,
    content_hash,
    no_headers,
    size_bytes,
    with_normal_headers,
)
from mockbroker.pipeline.session import is_connect
from mockbroker.pipeline.summary import Summary
from mockbroker.pipeline.timestamps import INTERCEPTOR_CONF, install_interceptor, with_timestamps
from mockbroker.pipeline.topic_range import Broker, TopicRange, read_options
from mockbroker.pipeline.topics import limit_rate, read_topics, require_connector, write_topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession

ORDER_COLUMN: Final = "_order"
KEEP_OLD: Final = {"retention.ms": "-1"}
"""Of a topic made for records with times of their own: retention would delete old ones at once."""
NOTHING_SENT: Final = "this run sent nothing; once that is mended, the same command does it"


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """Which columns become what. `order_by` is columns, or ("source",) for the files' own order."""

    key: tuple[str, ...] = ()
    key_format: str = "raw"
    value: tuple[str, ...] = ()
    value_format: str = "json"
    header: tuple[tuple[str, str], ...] = ()
    headers: str | None = None
    timestamp: str | None = None
    partition: str | None = None
    order_by: tuple[str, ...] = ()
    key_schema: str | None = None
    value_schema: str | None = None
    key_schema_id: int | None = None
    value_schema_id: int | None = None


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """Where records go. `create`: partitions of a topic that is made when it is not there.

    `source` tells what the rows are, so that a checkpoint is not used for others.
    """

    topic: str
    create: int | None = None
    rate: float | None = None
    checkpoint: str | None = None
    source: str = ""
    line_of: Callable[[str], int | None] | None = None
    """The first line of a file that its reader refuses, where the format has lines."""


def to_records(rows: DataFrame, spec: LoadSpec) -> DataFrame:
    """key, value, headers, partition and timestamp of each row, and `_order` if it is asked for."""
    names = [*spec.key, *spec.value, *(column for _, column in spec.header)]
    names += [name for name in (spec.headers, spec.timestamp, spec.partition) if name]
    names += [name for name in spec.order_by if spec.order_by != ("source",)]
    for name in names:
        if name not in rows.columns:
            raise PipelineError(f"no column {name!r}: there are {', '.join(rows.columns)}")
    value = spec.value or tuple(rows.columns)
    key_bytes = encoded(rows, spec.key, spec.key_format, "key", spec.key_schema)
    value_bytes = encoded(rows, value, spec.value_format, "value", spec.value_schema)
    if spec.key_schema_id is not None:
        key_bytes = framed(key_bytes, spec.key_schema_id)
    if spec.value_schema_id is not None:
        value_bytes = framed(value_bytes, spec.value_schema_id)
    columns = [
        key_bytes.alias("key"),
        value_bytes.alias("value"),
        _headers(rows, spec).alias("headers"),
        _of(spec.partition, "int").alias("partition"),
        _of(spec.timestamp, "timestamp").alias("timestamp"),
    ]
    if spec.order_by:
        columns.append(_order(spec).alias(ORDER_COLUMN))
    return rows.select(*columns)


def encoded(
    rows: DataFrame,
    names: tuple[str, ...],
    format_name: str,
    role: str,
    schema: str | None = None,
) -> Column:
    """Columns as bytes: raw is one column's own bytes or text; json and avro are one object.

    `schema` is Avro's, as JSON or @FILE; without it nullable columns become unions with null.
    """
    if not names:
        return F.lit(None).cast("binary")
    fields = F.struct(*(F.col(f"`{name}`") for name in names))
    if format_name == "json":
        return F.to_json(fields).cast("binary")
    if format_name == "avro":
        from pyspark.sql.avro.functions import to_avro

        return to_avro(fields, avro_schema(role, schema)) if schema else to_avro(fields)
    if len(names) > 1:
        raise PipelineError(
            f"--{role}-format raw takes one column, not {', '.join(names)}: use json or avro"
        )
    kind = rows.schema[names[0]].dataType
    if isinstance(kind, StructType | ArrayType | MapType):
        raise PipelineError(
            f"--{role}: column {names[0]} is {kind.simpleString()}: raw needs bytes or text"
        )
    column = F.col(f"`{names[0]}`")
    return column if kind.typeName() == "binary" else column.cast("string").cast("binary")


def _headers(rows: DataFrame, spec: LoadSpec) -> Column:
    if spec.headers is not None:
        return F.coalesce(F.col(f"`{spec.headers}`").cast(HEADERS_TYPE), no_headers())
    if not spec.header:
        return no_headers()
    made = [
        F.struct(F.lit(name).alias("key"), encoded(rows, (column,), "raw", "header").alias("value"))
        for name, column in spec.header
    ]
    return F.array(*made).cast(HEADERS_TYPE)


def _of(name: str | None, kind: str) -> Column:
    return (F.lit(None) if name is None else F.col(f"`{name}`")).cast(kind)


def _order(spec: LoadSpec) -> Column:
    if spec.order_by != ("source",):
        return F.struct(*(F.col(f"`{name}`") for name in spec.order_by))
    # Within one split of a file a task numbers its rows upwards.
    return F.struct(
        F.col("_metadata.file_path"),
        F.col("_metadata.file_block_start"),
        F.monotonically_increasing_id(),
    )


def hashed_columns(spec: LoadSpec) -> list[str]:
    """What makes two records the same one: their content, and what else was asked for."""
    extra = [name for name in ("partition", "timestamp") if getattr(spec, name)]
    return ["key", "value", "headers", *extra]


def missing_records(records: DataFrame, sent: DataFrame, columns: list[str]) -> DataFrame:
    """The records that are not among `sent` yet, as multisets: equal rows are counted.

    Of equal rows the first in `_order` are taken as sent.
    """
    there = (
        with_normal_headers(sent)
        .select(content_hash(*columns).alias("_hash"))
        .groupBy("_hash")
        .agg(F.count(F.lit(1)).alias("_sent"))
    )
    order = F.col(ORDER_COLUMN) if ORDER_COLUMN in records.columns else F.lit(0)
    number = F.row_number().over(Window.partitionBy("_hash").orderBy(order))
    # The hash stands in a column before the window, or it would be computed again for each use.
    numbered = records.withColumn("_hash", content_hash(*columns)).withColumn("_number", number)
    joined = numbered.join(there, "_hash", "left")
    rest = joined.where(F.col("_number") > F.coalesce(F.col("_sent"), F.lit(0)))
    return rest.drop("_hash", "_number", "_sent")


def in_order(records: DataFrame, tasks: int) -> DataFrame:
    """Rows of one key in one task, in `_order`; the column is dropped."""
    if ORDER_COLUMN not in records.columns:
        return records
    # With a partition column the order is kept within each partition's keys.
    placed = records.repartition(tasks, F.col("partition"), F.col("key"))
    return placed.sortWithinPartitions(ORDER_COLUMN).drop(ORDER_COLUMN)


def run_load(
    spark: SparkSession,
    broker: Broker,
    rows: DataFrame,
    spec: LoadSpec,
    target: LoadTarget,
    *,
    job: str = "load",
) -> Summary:
    """Send the rows; the summary counts what this run sent. Status 1: the topic grew otherwise."""
    require_connector(spark)
    if not rows.columns:
        raise PipelineError("the input is empty: there is no row to load")
    records = to_records(rows, spec)
    if spec.timestamp is not None:
        install_interceptor(spark)
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        if spec.partition is not None:
            _check_partitions(records, client, target, spec.partition)
        if target.create is not None:
            client.create_topic(target.topic, target.create, KEEP_OLD if spec.timestamp else None)
        before = client.offsets(target.topic)
    state = _state_for(spark, target, spec, before)
    summary = Summary(job, 0, 0, f"into {target.topic}")
    if state is not None and state.done:
        summary.notes.append("the checkpoint says that all was loaded before")
        return summary
    if state is not None and state.resumed:
        records, already = _resume(spark, broker, records, spec, state)
        summary.notes.append(f"resumed: {already:,} rows were there")
        with BrokerClient(broker.bootstrap, broker.conf) as client:
            before = client.offsets(target.topic)
    try:
        _send(spark, broker, records, spec, target, summary)
    except (PySparkException, Py4JError) as error:
        raise PipelineError(_how_it_failed(error, broker, target, before)) from None
    if not summary.rows and not summary.notes:
        summary.notes.append("the dataset has no row")
    if state is not None and target.checkpoint is not None:
        write_state(spark, target.checkpoint, state.finished())
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        _check_growth(summary, before, client.offsets(target.topic))
    return summary


def _check_partitions(
    records: DataFrame, client: BrokerClient, target: LoadTarget, column: str
) -> None:
    """Raise PipelineError for a partition that the topic has not: a producer waits for it."""
    if target.create is not None and target.topic not in client.topics():
        count = target.create
    else:
        count = len(client.partitions(target.topic))
    bounds = records.agg(F.min("partition").alias("low"), F.max("partition").alias("high"))
    try:
        row = bounds.first()
    except (PySparkException, Py4JError) as error:
        told = [explain(error), *_where_it_stopped(error, target), NOTHING_SENT]
        raise PipelineError("; ".join(told)) from None
    for found in (row["low"], row["high"]) if row is not None else ():
        if found is not None and not 0 <= found < count:
            raise PipelineError(
                f"--partition: column {column} holds {found}: {target.topic} has partitions"
                f" 0 to {count - 1}"
            )


def _how_it_failed(
    error: BaseException, broker: Broker, target: LoadTarget, before: dict[int, int]
) -> str:
    """What went wrong, where it stopped, how much is in the topic and how to go on, in one line."""
    told = [explain(error), *_where_it_stopped(error, target)]
    try:
        with BrokerClient(broker.bootstrap, broker.conf) as client:
            grown = _growth(before, client.offsets(target.topic))
        told.append(f"{grown:,} rows of this run are in {target.topic}")
    except PipelineError as unreachable:
        told.append(f"nobody knows how many rows are in {target.topic} ({unreachable})")
    if target.checkpoint is None:
        told.append(
            "without --checkpoint DIR it cannot be resumed: delete the topic and load all of it"
        )
    else:
        told.append("once that is mended, the same command sends the rest")
    return "; ".join(told)


def _where_it_stopped(error: BaseException, target: LoadTarget) -> list[str]:
    """File and line, where that is known."""
    file = file_of(error)
    if file is None:
        return []
    line = target.line_of(file) if target.line_of is not None else None
    return [f"it stopped at {file}" + (f", line {line:,}" if line else "")]


def _growth(before: dict[int, int], after: dict[int, int]) -> int:
    return sum(end - before.get(partition, 0) for partition, end in after.items())


def _state_for(
    spark: SparkSession, target: LoadTarget, spec: LoadSpec, before: dict[int, int]
) -> LoadState | None:
    if target.checkpoint is None:
        return None
    what: dict[str, object] = {**asdict(spec), "source": target.source}
    found = read_state(spark, target.checkpoint)
    if found is None:
        found = LoadState(target.topic, what, before)
        write_state(spark, target.checkpoint, found)
        return found
    found.check_same(target.topic, what)
    return found


def _resume(
    spark: SparkSession, broker: Broker, records: DataFrame, spec: LoadSpec, state: LoadState
) -> tuple[DataFrame, int]:
    ends = settled_ends(broker, state.topic)
    already = sum(end - state.starts.get(p, 0) for p, end in ends.items())
    if not already:
        return records, 0
    wanted = TopicRange(
        topics=(state.topic,),
        start=state.bound({p: state.starts.get(p, 0) for p in ends}),
        end=state.bound(ends),
    )
    sent = read_topics(spark, read_options(broker, wanted, {}))
    return missing_records(records, sent, hashed_columns(spec)), already


def _send(
    spark: SparkSession,
    broker: Broker,
    records: DataFrame,
    spec: LoadSpec,
    target: LoadTarget,
    summary: Summary,
) -> None:
    conf: dict[str, str] = {}
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 8)
    records = in_order(records, tasks)
    if target.rate is not None:
        # No more tasks than share the rate, whatever executors join later.
        at_a_time = _parallel_tasks(spark)
        records = limit_rate(records.coalesce(at_a_time), target.rate, at_a_time)
    seen = Observation()
    records = records.observe(
        seen, F.count(F.lit(1)).alias("rows"), F.sum(size_bytes()).alias("bytes")
    )
    if spec.timestamp is not None:
        conf = dict(INTERCEPTOR_CONF)
        records = with_timestamps(records)
    records = records.drop("timestamp")
    write_topic(records, broker, target.topic, conf)
    summary.rows = int(seen.get["rows"])
    summary.bytes = int(seen.get["bytes"] or 0)


def _parallel_tasks(spark: SparkSession) -> int:
    """How many run at a time; over Connect nobody tells, so one."""
    if is_connect(spark):
        return 1
    return int(max(1, spark.sparkContext.defaultParallelism))


def _check_growth(summary: Summary, before: dict[int, int], after: dict[int, int]) -> None:
    grown = _growth(before, after)
    if grown != summary.rows:
        summary.status = 1
        summary.notes.append(
            f"the topic grew by {grown:,}: another writes to it, or a task was run again;"
            " mockbroker pipeline verify tells"
        )
