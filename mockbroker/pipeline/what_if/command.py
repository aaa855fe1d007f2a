"""topology on the command line: its options, what is checked at once, and the job.

Called by `pipeline.command`. The job runs with a Spark session where `on_spark` says so, else
without one.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.options import positive, positive_number
from mockbroker.pipeline.progress import Bar
from mockbroker.pipeline.what_if import output
from mockbroker.what_if.errors import WhatIfError
from mockbroker.what_if.topology import SCENARIOS, topology_from

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from mockbroker.pipeline.summary import Summary
    from mockbroker.what_if.topology import Topology

TOPOLOGY_HELP: Final = "simulate the fetches of a cluster: what KIP-74, KIP-227 and KIP-1166 change"
TOPOLOGY_EXAMPLE: Final = (
    "mockbroker pipeline topology --brokers 100 --partitions 10000 --consumers 500"
    " --change-rate 0.05 --out topology/"
)
_NUMBERS: Final = (
    ("brokers", positive, "brokers (default 3)"),
    ("partitions", positive, "partitions of all topics (default 30)"),
    ("replication", positive, "replicas of each (default 3)"),
    ("topics", positive, "topics (default: one for 100 partitions)"),
    ("consumers", positive, "consumers of all groups (default 3)"),
    ("groups", positive, "groups, each of which reads all partitions (default 1)"),
    ("change-rate", float, "how often a second a partition is appended to (default 0.05)"),
    ("batch-bytes", positive, "how much is appended then (default 1000)"),
    ("backlog-bytes", int, "what each partition holds at the start (default 0)"),
    ("seconds", positive_number, "how long (default 60)"),
    ("travel-ms", float, "what a request or answer takes on its way (default 0.5)"),
    ("slots", int, "max.incremental.fetch.session.cache.slots (default 1000)"),
    ("eviction-ms", int, "min.incremental.fetch.session.eviction.ms (default 120000)"),
    ("fetch-max-bytes", positive, "KIP-74's limit of a consumer's answer (default 50 MiB)"),
    ("replica-max-bytes", positive, "the same of a follower's (default 10 MiB)"),
    ("seed", int, "of when is appended (default 0)"),
)


def add_topology(command: argparse.ArgumentParser) -> None:
    """Topology's own."""
    add = command.add_argument
    for name, kind, told in _NUMBERS:
        add(f"--{name}", type=kind, metavar="N", help=told)
    add("--spec", metavar="FILE", help="these, and `replicas`, as a JSON object; options win")
    add(
        "--bootstrap",
        metavar="HOST:PORT",
        default="",
        help="take brokers, partitions and replicas from this cluster's metadata",
    )
    add(
        "--scenarios",
        type=_scenarios,
        default=tuple(each.name for each in SCENARIOS),
        metavar="NAME[,…]",
        help=f"which of {', '.join(each.name for each in SCENARIOS)} (default all)",
    )
    add(
        "--sizes",
        type=_sizes,
        default=(0.25, 0.5, 1.0),
        metavar="SHARE[,…]",
        help="shares of the partitions, for the curve; 1 is always one (default 0.25,0.5,1)",
    )
    add("--out", required=True, metavar="DIR", help="where tables and the page go")
    add("--overwrite", action="store_true", help="replace what an earlier run left in DIR")
    add_engine(command)


def add_engine(command: argparse.ArgumentParser) -> None:
    """Where the brokers' tasks run."""
    command.add_argument(
        "--engine",
        choices=("spark", "embedded"),
        help="spark, or embedded: processes of this machine (default spark where there is a JVM)",
    )
    command.add_argument(
        "--workers",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many processes, of embedded (default: a core each)",
    )


def _scenarios(text: str) -> tuple[str, ...]:
    import argparse

    known = [each.name for each in SCENARIOS]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
    return tuple(name for name in known if name in names)


def _sizes(text: str) -> tuple[float, ...]:
    import argparse

    try:
        shares = {float(part) for part in text.split(",")}
    except ValueError:
        shares = {0.0}
    if not all(0 < share <= 1 for share in shares):
        raise argparse.ArgumentTypeError(f"{text!r} are no shares above 0, up to 1")
    return tuple(sorted(shares | {1.0}))


def on_spark(arguments: argparse.Namespace) -> bool:
    """Whether the job needs a Spark session."""
    from mockbroker.pipeline.what_if.engine import SPARK, default_engine

    if arguments.remote or arguments.master:
        return True
    return bool((arguments.engine or default_engine(arguments.job)) == SPARK)


def check_topology(arguments: argparse.Namespace) -> None:
    """Refuse what can be seen to be wrong at once."""
    check_libraries()
    output.check_folder(arguments.out, overwrite=arguments.overwrite)
    _topology(arguments)


def check_libraries() -> None:
    """What draws the page and writes the tables."""
    for library, name in (("plotly", "Plotly"), ("pyarrow", "PyArrow")):
        if find_spec(library) is None:
            raise PipelineError(f"{name} is not installed: pip install 'mockbroker[analyze]'")


def _topology(arguments: argparse.Namespace) -> Topology:
    values: dict[str, Any] = {} if arguments.spec is None else _read_spec(arguments.spec)
    if arguments.bootstrap:
        from mockbroker.pipeline.what_if.cluster import placement_of

        values["replicas"] = placement_of(arguments)
        values["brokers"] = len({node for _, _, nodes in values["replicas"] for node in nodes})
    for name, _, _ in _NUMBERS:
        given = getattr(arguments, name.replace("-", "_"))
        if given is not None:
            values[name.replace("-", "_")] = given
    try:
        return topology_from(values)
    except WhatIfError as error:
        name, _, rest = str(error).partition(":")
        raise PipelineError(f"--{name.replace('_', '-')}:{rest}") from None


def _read_spec(path: str) -> dict[str, Any]:
    try:
        values = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise PipelineError(f"--spec: {path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise PipelineError(f"--spec: {path} is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise PipelineError(f"--spec: {path} is no JSON object")
    return values


def run_topology(spark: SparkSession | None, arguments: argparse.Namespace) -> Summary:
    """The job."""
    from mockbroker.pipeline.what_if import topology_job, topology_page

    plan = topology_job.Plan(_topology(arguments), arguments.scenarios, arguments.sizes)
    tasks = plan.tasks()
    results = do(spark, arguments, tasks)
    tables = topology_job.tables_of(tasks, results)
    output.write_tables(arguments.out, tables)
    page = output.write_page(
        arguments.out,
        "What the fetches of a cluster cost",
        topology_page.facts_of(plan),
        topology_page.sections_of(plan, tables["totals"]),
    )
    return topology_job.summary_of(plan, tables, page)


def do(
    spark: SparkSession | None, arguments: argparse.Namespace, tasks: list[dict[str, Any]]
) -> list[Any]:
    """The tasks, on Spark or here."""
    from mockbroker.pipeline.what_if import engine

    if spark is not None:
        return engine.run_on_spark(spark, tasks)
    bar = Bar(arguments.job, sys.stderr, wanted=arguments.progress)
    try:
        return engine.run_here(tasks, arguments.workers, bar.draw)
    finally:
        bar.clear()
