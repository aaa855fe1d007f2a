"""what-if on the command line: its options, what is checked at once, and the job.

Called by `pipeline.command`. The job runs with a Spark session where `command.on_spark` says so,
else without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze import journals
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.options import positive
from mockbroker.pipeline.what_if import output
from mockbroker.pipeline.what_if.command import add_engine, check_libraries

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from mockbroker.pipeline.summary import Summary

HELP: Final = "run a journal's fetches again under other settings: what they would have cost"
EXAMPLE: Final = "mockbroker pipeline what-if journals/ --slots 200 --kip-1166 off --out what-if/"
NUMBERS: Final = (
    ("slots", "slots of the session cache (max.incremental.fetch.session.cache.slots)"),
    ("min-eviction-ms", "age that spares a session (min.incremental.fetch.session.eviction.ms)"),
    ("max-bytes", "limit of an answer to a consumer, in bytes (KIP-74)"),
    ("partition-max-bytes", "the same of one partition in it"),
    ("replica-max-bytes", "limit of an answer to a follower"),
)
SWITCHES: Final = (
    ("sessions", "off: nobody has a fetch session; on: all ask for one (KIP-227)"),
    ("kip-1166", "whether followers tell the high watermark they know, and are told new ones"),
)
_MAY_BE_0: Final = ("slots", "min-eviction-ms")


def add_options(command: argparse.ArgumentParser) -> None:
    """What-if's own."""
    add = command.add_argument
    add("journals", nargs="+", metavar="JOURNALS", help="journal files or folders (*.jsonl)")
    for name, told in NUMBERS:
        add(f"--{name}", type=_whole if name in _MAY_BE_0 else positive, metavar="N", help=told)
    for name, told in SWITCHES:
        add(f"--{name}", choices=("on", "off"), help=told)
    add("--out", required=True, metavar="DIR", help="where tables and the page go")
    add("--overwrite", action="store_true", help="replace what an earlier run left in DIR")
    add_engine(command)


def _whole(text: str) -> int:
    import argparse

    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """What is to be other than it was, as `what_if.reader.Settings` names it."""
    given: dict[str, Any] = {}
    for name, _ in NUMBERS:
        value = getattr(arguments, name.replace("-", "_"))
        if value is not None:
            given[name.replace("-", "_")] = value
    for name, _ in SWITCHES:
        value = getattr(arguments, name.replace("-", "_"))
        if value is not None:
            given[name.replace("-", "_")] = value == "on"
    return given


def check(arguments: argparse.Namespace) -> None:
    """Refuse what can be seen to be wrong at once."""
    from mockbroker.pipeline.what_if.replay_lines import check_files

    check_libraries()
    output.check_folder(arguments.out, overwrite=arguments.overwrite)
    if not settings_of(arguments):
        names = ", ".join(f"--{name}" for name, _ in (*NUMBERS, *SWITCHES))
        raise PipelineError(f"nothing is to be other than it was: give some of {names}")
    if arguments.sessions == "off" and arguments.slots:
        raise PipelineError("--slots: there are none with --sessions off")
    check_files(journals.find(arguments.journals))


def run(spark: SparkSession | None, arguments: argparse.Namespace) -> Summary:
    """The job."""
    from mockbroker.pipeline.what_if import replay_job, replay_page

    files = journals.find(arguments.journals)
    if spark is None and any("://" in file for file in files):
        raise PipelineError("JOURNALS: --engine embedded reads files of this machine alone")
    settings = settings_of(arguments)
    rows = replay_job.replay(spark, arguments, files, settings)
    tables = replay_job.tables_of(rows)
    output.write_tables(arguments.out, tables)
    page = output.write_page(
        arguments.out,
        "What if",
        replay_page.facts_of(files, settings, tables),
        replay_page.sections_of(tables),
    )
    return replay_job.summary_of(tables, page)
