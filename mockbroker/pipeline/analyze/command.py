"""analyze on the command line: its options, what is checked before Spark starts, and the job.

Called by `pipeline.command`; needs neither PySpark nor Plotly until the job runs.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze import journals
from mockbroker.pipeline.analyze.engine import SMALL_BYTES, has_embedded
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.options import positive_number
from mockbroker.pipeline.session import is_connect, why_no_spark

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from mockbroker.pipeline.analyze.job import AnalyzeSpec
    from mockbroker.pipeline.analyze.line_stream import LineStream
    from mockbroker.pipeline.summary import Summary

HELP = "turn journals into tables and one page of plots"
ENGINES: Final = ("spark", "embedded")
EXAMPLE = "mockbroker pipeline analyze journals/ --out report/ --compare journals-before/"
_NO_FOLLOW: Final = "--follow: a Spark Connect server does not see this machine's files"
_TRUSTED: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions"
    " -XX:-BytecodeVerificationRemote"
)
"""Spark's jars are as they were installed: to verify each class again is a sixth of a short run."""
SHORT_JVM: Final = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {_TRUSTED}"
"""For what ends before the compiler of hot code has repaid its time."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Analyze's own."""
    add = command.add_argument
    add("journals", nargs="+", metavar="JOURNALS", help="journal files or folders (*.jsonl)")
    add("--out", required=True, metavar="DIR", help="where lines, tables and the page go")
    add("--compare", nargs="+", default=[], metavar="OTHER", help="journals to compare with")
    add("--follow", action="store_true", help="make the page anew as the journals grow")
    add(
        "--engine",
        choices=("auto", *ENGINES),
        default="auto",
        help="spark, or embedded: in this process, without a JVM (default: Spark where it can run)",
    )
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
    for package in ("plotly", "pyarrow"):
        if find_spec(package) is None:
            raise PipelineError(f"{package} is not installed: pip install 'mockbroker[analyze]'")
    if arguments.engine == "embedded" and not has_embedded():
        raise PipelineError("--engine embedded needs DuckDB: pip install 'mockbroker[analyze]'")
    if arguments.follow and any("://" in path for path in [arguments.out, *arguments.journals]):
        raise PipelineError("--follow: journals and DIR must be on this machine")
    if arguments.follow and arguments.remote:
        raise PipelineError(_NO_FOLLOW)
    if "://" in arguments.out:
        if arguments.page is None:
            raise PipelineError("--page: name a file on this machine when DIR is elsewhere")
        return
    out = Path(arguments.out)
    if out.exists() and not out.is_dir():
        raise PipelineError(f"--out: {out} is no folder")
    if out.is_dir() and any(out.iterdir()) and not arguments.overwrite:
        raise PipelineError(f"--out: {out} is not empty: --overwrite replaces an earlier run")


def on_spark(arguments: argparse.Namespace) -> bool:
    """Which engine: the one that is asked for; else Spark wherever it can run."""
    if arguments.engine != "auto":
        return bool(arguments.engine == "spark")
    if arguments.master or arguments.remote or not has_embedded():
        return True
    why = why_no_spark()
    if why is None:
        return True
    print(f"analyze: {why}: the embedded engine does it", file=sys.stderr)
    return False


def java(arguments: argparse.Namespace) -> str:
    """Options of the JVM: it has little to do where tasks read lines and answer by DuckDB."""
    files = [*journals.find(arguments.journals), *journals.find(arguments.compare, "--compare")]
    size = journals.size_bytes(files)
    if size is None or (size > SMALL_BYTES and not has_embedded()):
        return ""
    return SHORT_JVM


def imports() -> None:
    """Have what takes long to import while Spark starts: not PySpark, which another thread does."""
    for name in (f"{__package__}.job", f"{__package__}.task_engine", "pyarrow.json", "duckdb"):
        with suppress(ImportError):
            import_module(name)


def run(spark: SparkSession | None, arguments: argparse.Namespace) -> Summary:
    """The job; without a session on the embedded engine."""
    from mockbroker.pipeline.analyze.follow import follow
    from mockbroker.pipeline.analyze.job import AnalyzeSpec, run_analyze
    from mockbroker.pipeline.analyze.table import Options

    spec = AnalyzeSpec(
        files=journals.find(arguments.journals),
        others=journals.find(arguments.compare, "--compare"),
        out=arguments.out.rstrip("/"),
        page=arguments.page or str(Path(arguments.out) / "report.html"),
        overwrite=arguments.overwrite,
        options=Options(backoff_ms=arguments.backoff_ms),
        conf=tuple(text.partition("=")[0] for text in arguments.conf),
        follows=arguments.follow,
    )
    if not arguments.follow:
        return run_analyze(spark, spec)
    if spark is not None and is_connect(spark):
        raise PipelineError(_NO_FOLLOW)
    with ExitStack() as stack:
        stream = None if spark is None else _stream(spark, spec, stack)

        def once() -> Summary:
            found = _found(arguments, spec)
            if spark is None or stream is None:
                return run_analyze(None, found)
            stream.take(found.sources())
            return run_analyze(spark, found, stream.engine(spark, found.conf))

        return follow(
            once,
            lambda: _sizes(arguments),
            lambda line: print(f"analyze: {line}", file=sys.stderr, flush=True),
        )


def _stream(spark: SparkSession, spec: AnalyzeSpec, stack: ExitStack) -> LineStream:
    from mockbroker.pipeline.analyze.line_stream import LineStream

    stream = LineStream(spark, spec.out, [source.side for source in spec.sources()])
    stack.callback(stream.close)
    return stream


def _found(arguments: argparse.Namespace, spec: AnalyzeSpec) -> AnalyzeSpec:
    """The same with the files that there are by now; a round replaces the one before."""
    return replace(
        spec,
        files=journals.find(arguments.journals),
        others=journals.find(arguments.compare, "--compare"),
        overwrite=spec.overwrite or (Path(spec.out) / "tables").is_dir(),
    )


def _sizes(arguments: argparse.Namespace) -> dict[str, int]:
    files = [*journals.find(arguments.journals), *journals.find(arguments.compare, "--compare")]
    return {file: Path(file).stat().st_size for file in files}
