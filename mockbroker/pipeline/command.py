"""`mockbroker pipeline JOB`: options in, one job on one Spark session, one summary line out.

Called by `mockbroker.cli.main` and by `python -m mockbroker.pipeline`. Exit status: 0 done, 1 the
job found a difference (verify) or doubt (load), 2 a mistake or a failure, told in one line. A job
is a `Job` in `JOBS`: its options (no PySpark needed: `--help` is quick) and the function that runs
it.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mockbroker.pipeline import options as pipeline_options
from mockbroker.pipeline.analyze import command as analyze
from mockbroker.pipeline.broker_client import BrokerClient, parse_bootstrap
from mockbroker.pipeline.errors import BrokenInputError, PipelineError, explain
from mockbroker.pipeline.progress import Bar, watch
from mockbroker.pipeline.session import SessionOptions, open_session
from mockbroker.pipeline.what_if import command as topology
from mockbroker.pipeline.what_if import replay_command as what_if

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mockbroker.pipeline.load import LoadSpec
    from mockbroker.pipeline.summary import Summary
    from mockbroker.pipeline.topic_range import Broker


@dataclass(frozen=True, slots=True)
class Job:
    """One word of the command line. `check` refuses what it can before Spark starts.

    `on_spark` says whether the job runs on Spark at all: else `run` gets no session. `java` are
    options of a JVM that is started for it, and `meanwhile` what may be done while that starts,
    and in a worker.
    """

    help: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], None]
    check: Callable[[argparse.Namespace], None]
    run: Callable[[Any, argparse.Namespace], Summary]
    needs_broker: bool = True
    on_spark: Callable[[argparse.Namespace], bool] = lambda _: True
    java: Callable[[argparse.Namespace], str] = lambda _: ""
    meanwhile: Callable[[], None] | None = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"mockbroker: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of all jobs."""
    examples = "\n".join(f"  {job.example}" for job in JOBS.values())
    parser = _Parser(
        prog="mockbroker pipeline",
        description="Bring data in and out of a broker at any size, on Spark.",
        epilog=f"examples:\n{examples}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB", parser_class=_Parser, required=True)
    for name, job in JOBS.items():
        command = jobs.add_parser(
            name,
            help=job.help,
            description=job.help,
            epilog=f"example:\n  {job.example}\n",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        pipeline_options.add_common(command)
        if job.needs_broker:
            pipeline_options.add_broker(command)
        else:
            command.set_defaults(bootstrap="", kafka=[])
        job.add_options(command)
    return parser


def run(argv: Sequence[str], spark: SparkSession | None = None) -> int:
    """Run one job; returns the exit status. A session that is given is used and left open."""
    arguments = build_parser().parse_args(argv)
    job = JOBS[arguments.job]
    try:
        pipeline_options.broker_of(arguments)
        job.check(arguments)
        if not job.on_spark(arguments):
            return _tell(arguments, lambda: job.run(None, arguments))
        session = spark or _open(job, arguments)
    except PipelineError as error:
        return _fail(str(error))
    try:
        return _run_job(job, session, arguments)
    finally:
        if spark is None:
            session.stop()


def _open(job: Job, arguments: argparse.Namespace) -> SparkSession:
    conf = pipeline_options.spark_conf(arguments)
    resumable = getattr(arguments, "checkpoint", None) and arguments.job in {"load", "synth"}
    if resumable and arguments.remote is None:
        # A task that is run again sends its rows again: the next run of the load does it exactly.
        # Of a server that is there it cannot be asked.
        conf = {"spark.task.maxFailures": "1", "spark.speculation": "false", **conf}
    return open_session(
        SessionOptions(
            app=f"mockbroker pipeline {arguments.job}",
            master=arguments.master,
            remote=arguments.remote,
            conf=conf,
            jars=arguments.jars,
            resolve=arguments.job == "jars",
            connector=job.needs_broker or arguments.job == "jars",
            java=job.java(arguments),
            meanwhile=job.meanwhile,
        )
    )


def _run_job(job: Job, spark: SparkSession, arguments: argparse.Namespace) -> int:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    # PySpark logs each JVM exception on its own; it is told once, by the line below.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    bar = Bar(arguments.job, sys.stderr, wanted=arguments.progress)

    def work() -> Summary:
        with watch(spark, bar):
            return job.run(spark, arguments)

    try:
        return _tell(arguments, work)
    except (PySparkException, Py4JError) as error:
        return _fail(explain(error))


def _tell(arguments: argparse.Namespace, work: Callable[[], Summary]) -> int:
    started = time.monotonic()
    try:
        summary = work()
    except PipelineError as error:
        return _fail(str(error))
    summary.seconds = time.monotonic() - started
    if arguments.json:
        print(summary.as_json())
    else:
        print(*summary.tables, summary.line(), sep="\n")
    return summary.status


def _fail(message: str) -> int:
    print(f"mockbroker: {message}", file=sys.stderr)
    return 2


# -- the jobs ------------------------------------------------------------------------------


def _take_schemas(arguments: argparse.Namespace) -> None:
    """Ask the registry, if there is one, for the schemas of ids that are named."""
    from mockbroker.pipeline.registered import OPTION, avro_of

    url, given = arguments.schema_registry, vars(arguments)
    if url is None:
        return
    of_use = False
    for role in ("key", "value"):
        schema_id = given[f"{role}_schema_id"]
        if given[f"{role}_format"] != "avro" or schema_id is None:
            continue
        of_use = True
        if schema_id < 0 and arguments.checkpoint:
            raise PipelineError(
                f"--{role}-schema-id any: with --checkpoint name the id, as what comes later may"
                " have others"
            )
        if schema_id >= 0 and given[f"{role}_schema"] is None:
            given[f"{role}_schema"] = avro_of(url, schema_id)
    if not of_use:
        raise PipelineError(
            f"{OPTION} is for --value-format avro with --value-schema-id, or the key's"
        )


def _check_load(arguments: argparse.Namespace) -> None:
    from mockbroker.pipeline.sources import format_of

    parse_bootstrap(arguments.bootstrap)
    _take_schemas(arguments)
    if arguments.format is None:
        format_of(arguments.source)
    if arguments.create is None:
        _topic_must_exist(arguments, arguments.topic)


def _topic_must_exist(arguments: argparse.Namespace, topic: str) -> None:
    broker = pipeline_options.broker_of(arguments)
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        client.partitions(topic)


def _run_load(spark: SparkSession, arguments: argparse.Namespace) -> Summary:
    from mockbroker.pipeline.load import NOTHING_SENT, LoadTarget, run_load
    from mockbroker.pipeline.sources import format_of, line_of

    try:
        rows = _dataset(spark, arguments)
    except BrokenInputError as error:
        raise PipelineError(f"{error}; {NOTHING_SENT}") from None
    spec = _load_spec(arguments)
    source = json.dumps([arguments.source, arguments.format, arguments.schema, arguments.option])
    options = dict(pipeline_options.pairs("--option", arguments.option))
    chosen = arguments.format or format_of(arguments.source)
    target = LoadTarget(
        arguments.topic,
        arguments.create,
        arguments.rate,
        arguments.checkpoint,
        source,
        line_of=lambda path: line_of(rows, path, chosen, options),
    )
    return run_load(spark, pipeline_options.broker_of(arguments), rows, spec, target)


def _dataset(spark: SparkSession, arguments: argparse.Namespace) -> DataFrame:
    from mockbroker.pipeline.sources import read_dataset

    options = dict(pipeline_options.pairs("--option", arguments.option))
    return read_dataset(spark, arguments.source, arguments.format, arguments.schema, options)


def _load_spec(arguments: argparse.Namespace) -> LoadSpec:
    from mockbroker.pipeline.load import LoadSpec

    raw_value = len(arguments.value) == 1
    return LoadSpec(
        key=tuple(arguments.key),
        key_format=arguments.key_format,
        value=tuple(arguments.value),
        value_format=arguments.value_format or ("raw" if raw_value else "json"),
        header=tuple(pipeline_options.pairs("--header", arguments.header)),
        headers=arguments.headers,
        timestamp=arguments.timestamp,
        partition=arguments.partition,
        order_by=("source",) if arguments.keep_order else tuple(arguments.order_by),
        key_schema=arguments.key_schema,
        value_schema=arguments.value_schema,
        key_schema_id=arguments.key_schema_id,
        value_schema_id=arguments.value_schema_id,
    )


def _check_dump(arguments: argparse.Namespace) -> None:
    from mockbroker.pipeline.topic_range import check_order, check_range

    parse_bootstrap(arguments.bootstrap)
    _take_schemas(arguments)
    check_range(pipeline_options.range_of(arguments), pipeline_options.broker_of(arguments))
    if arguments.follow and not arguments.checkpoint:
        raise PipelineError("--follow needs --checkpoint DIR: where the next run goes on from")
    if not arguments.checkpoint:
        check_order(pipeline_options.range_of(arguments), pipeline_options.broker_of(arguments))
    elif arguments.end != "latest":
        raise PipelineError("--to: with --checkpoint each run goes to what is latest")


def _run_dump(spark: SparkSession, arguments: argparse.Namespace) -> Summary:
    from mockbroker.pipeline.dump import Coding, DumpSpec, DumpTarget, run_dump

    key = Coding(arguments.key_format, arguments.key_schema, arguments.key_schema_id)
    value = Coding(arguments.value_format, arguments.value_schema, arguments.value_schema_id)
    spec = DumpSpec(key, value, arguments.schema_registry)
    target = DumpTarget(
        arguments.output,
        arguments.format,
        arguments.overwrite,
        arguments.checkpoint,
        arguments.partition_by,
        arguments.follow,
    )
    wanted = pipeline_options.range_of(arguments)
    return run_dump(spark, pipeline_options.broker_of(arguments), wanted, spec, target)


def _check_synth(arguments: argparse.Namespace) -> None:
    parse_bootstrap(arguments.bootstrap)
    pipeline_options.synth_values(arguments)
    if arguments.topic is not None and arguments.create is None:
        _topic_must_exist(arguments, arguments.topic)


def _run_synth(spark: SparkSession, arguments: argparse.Namespace) -> Summary:
    from mockbroker.pipeline.load import LoadSpec, LoadTarget, run_load
    from mockbroker.pipeline.synth import spec_from, synthetic_rows, write_rows

    stream = spec_from(pipeline_options.synth_values(arguments))
    rows = synthetic_rows(spark, stream)
    if arguments.output is not None:
        return write_rows(rows, arguments.output, arguments.format, overwrite=arguments.overwrite)
    spec = LoadSpec(
        key=("key",),
        value=("value",),
        value_format="raw",
        timestamp="timestamp",
        headers="headers" if stream.headers else None,
        order_by=("id",) if arguments.ordered else (),
    )
    source = json.dumps(asdict(stream))
    target = LoadTarget(
        arguments.topic, arguments.create, arguments.pace, arguments.checkpoint, source
    )
    broker = pipeline_options.broker_of(arguments)
    return run_load(spark, broker, rows, spec, target, job="synth")


def _check_verify(arguments: argparse.Namespace) -> None:
    from mockbroker.pipeline.sources import format_of
    from mockbroker.pipeline.topic_range import TopicRange, check_order, check_range

    check_range(pipeline_options.range_of(arguments), pipeline_options.broker_of(arguments))
    check_order(pipeline_options.range_of(arguments), pipeline_options.broker_of(arguments))
    if bool(arguments.source) == bool(arguments.expected_topic):
        raise PipelineError("verify needs either files or --expected-topic to compare with")
    if arguments.expected_topic:
        check_range(TopicRange(topics=(arguments.expected_topic,)), _expected_broker(arguments))
    elif arguments.format is None:
        format_of(arguments.source)


def _expected_broker(arguments: argparse.Namespace) -> Broker:
    broker = pipeline_options.broker_of(arguments)
    return replace(broker, bootstrap=arguments.expected_bootstrap or broker.bootstrap)


def _run_verify(spark: SparkSession, arguments: argparse.Namespace) -> Summary:
    from mockbroker.pipeline.topic_range import TopicRange
    from mockbroker.pipeline.verify import Expected, run_verify

    broker = pipeline_options.broker_of(arguments)
    if arguments.expected_topic:
        other = _expected_broker(arguments)
        expected = Expected(broker=other, topic=TopicRange(topics=(arguments.expected_topic,)))
    else:
        expected = Expected(rows=_dataset(spark, arguments), spec=_load_spec(arguments))
    wanted = pipeline_options.range_of(arguments)
    return run_verify(
        spark,
        broker,
        wanted,
        expected,
        sample=arguments.sample,
        ignore=arguments.ignore,
        allow_empty=arguments.allow_empty,
    )


def _run_jars(spark: SparkSession, arguments: argparse.Namespace) -> Summary:
    from mockbroker.pipeline.connector import run_jars

    return run_jars(spark, arguments.to)


JOBS: Final = {
    "load": Job(
        "send a dataset (Parquet, JSON, CSV, Avro, ORC) to a topic",
        "mockbroker pipeline load orders.parquet --topic orders --create 6 --key customer",
        pipeline_options.add_load,
        _check_load,
        _run_load,
    ),
    "dump": Job(
        "write topics to Parquet, JSON, CSV, Avro, ORC, Delta or Iceberg",
        "mockbroker pipeline dump out/ --topic orders --value-format json --value-schema infer",
        pipeline_options.add_dump,
        _check_dump,
        _run_dump,
    ),
    "synth": Job(
        "make a synthetic stream, the same for a seed, into a topic or files",
        "mockbroker pipeline synth --rows 1000000 --keys 5000 --skew 1.1 --late 0.01"
        " --topic clicks --create 6",
        pipeline_options.add_synth,
        _check_synth,
        _run_synth,
    ),
    "verify": Job(
        "compare a topic with a dataset or another topic; status 1 when they differ",
        "mockbroker pipeline verify orders.parquet --topic orders --key customer",
        pipeline_options.add_verify,
        _check_verify,
        _run_verify,
    ),
    "jars": Job(
        "get the jars of Spark's Kafka connector, for work without a network",
        "mockbroker pipeline jars --to jars/",
        pipeline_options.add_jars,
        lambda _: None,
        _run_jars,
        needs_broker=False,
    ),
    "analyze": Job(
        analyze.HELP,
        analyze.EXAMPLE,
        analyze.add_options,
        analyze.check,
        analyze.run,
        needs_broker=False,
        on_spark=analyze.on_spark,
        java=analyze.java,
        meanwhile=analyze.imports,
    ),
    "topology": Job(
        topology.TOPOLOGY_HELP,
        topology.TOPOLOGY_EXAMPLE,
        topology.add_topology,
        topology.check_topology,
        topology.run_topology,
        needs_broker=False,
        on_spark=topology.on_spark,
    ),
    "what-if": Job(
        what_if.HELP,
        what_if.EXAMPLE,
        what_if.add_options,
        what_if.check,
        what_if.run,
        needs_broker=False,
        on_spark=topology.on_spark,
    ),
}
