"""The jobs as functions, for a notebook or a program that has a session already.

    from mockbroker.pipeline import notebook

    summary = notebook.run(spark, "load", "orders.parquet", topic="orders", create=6)
    summary.rows, summary.line()

The words and options are those of the command line. The session stays open, and keeps its
settings; it must have the Kafka connector (`spark.jars.packages`): else nothing is made.
"""

from __future__ import annotations

import io
import time
from contextlib import redirect_stderr
from typing import TYPE_CHECKING

from mockbroker.pipeline import options as pipeline_options
from mockbroker.pipeline.command import JOBS, build_parser
from mockbroker.pipeline.errors import PipelineError, explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from mockbroker.pipeline.summary import Summary

    Value = bool | int | float | str | Sequence[str] | Mapping[str, str] | None


def run(spark: SparkSession, job: str, *words: str, **options: Value) -> Summary:
    """Run a job on this session: `dump`'s `--value-format json` is `value_format="json"`.

    True is an option without a value, False and None leave it out; a mapping is a repeatable
    KEY=VALUE (`kafka={"security.protocol": "SSL"}`), a sequence names with commas. Raises
    PipelineError, with what the command line would print.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    told = io.StringIO()
    try:
        with redirect_stderr(told):
            arguments = build_parser().parse_args([job, *words, *words_of(options)])
    except SystemExit:
        raise PipelineError(told.getvalue().removeprefix("mockbroker: ").strip()) from None
    chosen = JOBS[job]
    pipeline_options.broker_of(arguments)
    chosen.check(arguments)
    started = time.monotonic()
    try:
        summary = chosen.run(spark, arguments)
    except (PySparkException, Py4JError) as error:
        raise PipelineError(explain(error)) from None
    summary.seconds = time.monotonic() - started
    return summary


def words_of(options: Mapping[str, Value]) -> list[str]:
    """Options as the command line has them."""
    words: list[str] = []
    for name, value in options.items():
        option = f"--{name.rstrip('_').replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is None or value is False:
            continue
        elif isinstance(value, str | int | float):
            words.append(f"{option}={value}")
        elif hasattr(value, "items"):
            words += [f"{option}={key}={text}" for key, text in value.items()]
        else:
            words.append(f"{option}={','.join(value)}")
    return words
