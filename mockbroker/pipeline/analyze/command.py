"""analyze on the command line: its options, what is checked before Spark starts, and the job.

Called by `pipeline.command`; needs neither PySpark nor Plotly until the job runs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mockbroker.pipeline.analyze import journals
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.options import positive_number

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from mockbroker.pipeline.summary import Summary

HELP = "turn journals into tables and one page of plots"
EXAMPLE = "mockbroker pipeline analyze journals/ --out report/ --compare journals-before/"


def add_options(command: argparse.ArgumentParser) -> None:
    """Analyze's own."""
    add = command.add_argument
    add("journals", nargs="+", metavar="JOURNALS", help="journal files or folders (*.jsonl)")
    add("--out", required=True, metavar="DIR", help="where lines, tables and the page go")
    add("--compare", nargs="+", default=[], metavar="OTHER", help="journals to compare with")
    add("--page", metavar="FILE", help="the page (default DIR/report.html)")
    add("--overwrite", action="store_true", help="replace what an earlier run left in DIR")
    add(
        "--backoff-ms",
        type=positive_number,
        default=20.0,
        metavar="MS",
        help="a retry sooner than this is a finding (default 20; Kafka's clients wait some 100)",
    )


def check(arguments: argparse.Namespace) -> None:
    """Refuse what can be seen to be wrong without Spark."""
    journals.find(arguments.journals)
    journals.find(arguments.compare, "--compare")
    if find_spec("plotly") is None:
        raise PipelineError("Plotly is not installed: pip install 'mockbroker[spark]'")
    if "://" in arguments.out:
        if arguments.page is None:
            raise PipelineError("--page: name a file on this machine when DIR is elsewhere")
        return
    out = Path(arguments.out)
    if out.exists() and not out.is_dir():
        raise PipelineError(f"--out: {out} is no folder")
    if out.is_dir() and any(out.iterdir()) and not arguments.overwrite:
        raise PipelineError(f"--out: {out} is not empty: --overwrite replaces an earlier run")


def run(spark: SparkSession, arguments: argparse.Namespace) -> Summary:
    """The job."""
    from mockbroker.pipeline.analyze.frames import Options
    from mockbroker.pipeline.analyze.job import AnalyzeSpec, run_analyze

    spec = AnalyzeSpec(
        files=journals.find(arguments.journals),
        others=journals.find(arguments.compare, "--compare"),
        out=arguments.out.rstrip("/"),
        page=arguments.page or str(Path(arguments.out) / "report.html"),
        overwrite=arguments.overwrite,
        options=Options(backoff_ms=arguments.backoff_ms),
    )
    return run_analyze(spark, spec)
