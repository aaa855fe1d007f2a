"""Tasks, one a broker, done where there is room: on Spark, or in processes of this machine.

Called by the jobs. A task and what comes of it are plain values, as JSON on their way; the work of
`topology` is `mockbroker.what_if.simulate.run_task`, which executors import. They are sent this
package's code, so that it need not be installed there; the library crc32c must be, and PyArrow.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sys
import tempfile
import zipfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.session import choose_python, is_connect, why_no_spark
from mockbroker.what_if.simulate import run_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    Done = Callable[[int, int, int], None]

SPARK: Final = "spark"
EMBEDDED: Final = "embedded"
_PACKAGES: Final = ("mockbroker", "mockbroker_protocol")
_SUFFIXES: Final = (".py", ".txt")
_CORES_UNKNOWN: Final = 8
_TASKS_OF_A_CORE: Final = 8
"""Parts of the work for each core: small enough that none waits long for the last one."""


def default_engine(job: str) -> str:
    """Spark where it can run, else this machine's processes, which is told."""
    why = why_no_spark()
    if why is None:
        return SPARK
    print(f"{job}: {why}: processes of this machine do it", file=sys.stderr)
    return EMBEDDED


def run_here(
    tasks: Sequence[dict[str, Any]],
    workers: int,
    done: Done,
    work: Callable[[dict[str, Any]], Any] = run_task,
) -> list[Any]:
    """Do them in that many processes; `done` is told how many are, of how many, and how many run.

    What is returned has the order of the tasks.
    """
    results: list[Any] = [None] * len(tasks)
    workers = max(1, min(workers, len(tasks)))
    # Not forked: the parent has threads.
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawned) as pool:
        places = {pool.submit(work, task): place for place, task in enumerate(tasks)}
        for count, finished in enumerate(as_completed(places), start=1):
            results[places[finished]] = finished.result()
            done(count, len(tasks), min(workers, len(tasks) - count))
    return results


def run_on_spark(spark: SparkSession, tasks: Sequence[dict[str, Any]]) -> list[Any]:
    """Do them on the session's executors; what is returned has the order of the tasks."""
    send_code(spark)
    rows = [(place, json.dumps(task)) for place, task in enumerate(tasks)]
    frame = spark.createDataFrame(rows, "place INT, task STRING")
    spread = frame.repartition(max(1, min(len(tasks), _parts(spark))))
    told = spread.mapInArrow(_run_batches, "place INT, result STRING").collect()
    results = {row["place"]: json.loads(row["result"]) for row in told}
    return [results[place] for place in range(len(tasks))]


def _parts(spark: SparkSession) -> int:
    # Over Connect nobody says how many cores there are.
    cores = _CORES_UNKNOWN if is_connect(spark) else spark.sparkContext.defaultParallelism
    return cores * _TASKS_OF_A_CORE


def _run_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        for row in batch.to_pylist():
            result = json.dumps(run_task(json.loads(row["task"])))
            yield pa.RecordBatch.from_pydict(
                {"place": pa.array([row["place"]], pa.int32()), "result": [result]}
            )


def send_code(spark: SparkSession) -> None:
    """Let executors import what runs here."""
    folder = Path(tempfile.mkdtemp(prefix="mockbroker-code-"))
    code = write_code(folder / "mockbroker-code.zip")
    if is_connect(spark):
        spark.addArtifacts(str(code), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(code))
        choose_python(spark.sparkContext)


def write_code(path: Path) -> Path:
    """The packages as a zip, for `--py-files`; where they run from one, that one."""
    archive = getattr(getattr(__spec__, "loader", None), "archive", None)
    if archive is not None:
        return Path(shutil.copyfile(archive, path))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            spec = find_spec(package)
            assert spec is not None
            root = Path(str(spec.origin)).parent
            for file in sorted(root.rglob("*")):
                if file.suffix in _SUFFIXES:
                    archive.write(file, f"{root.name}/{file.relative_to(root).as_posix()}")
    return path
