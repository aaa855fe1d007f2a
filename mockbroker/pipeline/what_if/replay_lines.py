"""The lines of journals, brought to the brokers that they are of: on Spark, or in files for here.

Called by `replay_job`. Of a journal only fetches, batches, high watermarks, sessions and ends of
connections count, each for its own broker; a few lines, of topics above all, are of all brokers of
a run and go with each task. What is no line of a journal, as one that is cut off, is passed over.
"""

from __future__ import annotations

import gzip
import json
import re
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.what_if.engine import send_code
from mockbroker.what_if.errors import WhatIfError
from mockbroker.what_if.recording import FETCH, KINDS, SHARED_KINDS, check_run
from mockbroker.what_if.replay import replay_figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    Row = dict[str, Any]
    Shared = dict[str, list[Row]]

_HEAD: Final = re.compile(rb'\A\{"schema":\d+,"kind":"(\w+)","run":"(\w+)"')
_BROKER: Final = re.compile(rb'"broker":(-?\d+)')
_FETCHES: Final = b'"api":"Fetch"'
_FIELDS: Final = "kind STRING, run STRING, seq LONG, broker INT, api_key INT"
_PARTS_OF_A_BROKER: Final = 4
"""Rows are spread by a hash of their broker: with more parts than brokers few share one."""


def check_files(files: Sequence[str]) -> None:
    """Refuse journals that cannot be run again, by their first lines. Of local files alone."""
    for file in files:
        if "://" not in file:
            with _opened(Path(file)) as lines:
                line = _parsed(lines.readline())
            if line is not None:
                _check_run(line, file)


def _check_run(line: Row, where: str) -> None:
    try:
        check_run(line, where)
    except WhatIfError as error:
        raise PipelineError(f"JOURNALS: {error}") from None


# -- here --------------------------------------------------------------------------------------


def tasks_of(files: Sequence[str], folder: Path, settings: Mapping[str, Any]) -> list[Row]:
    """Sort the lines by run and broker into files in `folder`: the tasks for `replay_task`."""
    shared: Shared = {}
    paths: dict[tuple[str, int], Path] = {}
    with ExitStack() as stack:
        opened: dict[tuple[str, int], IO[bytes]] = {}
        for run, broker, data in _lines_of(files):
            if broker is None:
                shared.setdefault(run, []).append(json.loads(data))
                continue
            key = run, broker
            if key not in opened:
                paths[key] = folder / f"{run}-{broker}.jsonl"
                opened[key] = stack.enter_context(paths[key].open("wb"))
            opened[key].write(data)
    return [
        {
            "run": run,
            "broker": broker,
            "file": str(path),
            "shared": shared.get(run, []),
            "settings": dict(settings),
        }
        for (run, broker), path in sorted(paths.items())
    ]


def replay_task(task: Row) -> list[Row]:
    """Run one broker of one run again."""
    with Path(task["file"]).open("rb") as file:
        return _replayed(task["run"], task["broker"], file, task["shared"], task["settings"])


def _replayed(
    run: str,
    broker: int,
    texts: Iterable[bytes | str],
    shared: Iterable[Row],
    settings: Mapping[str, Any],
) -> list[Row]:
    def lines() -> Iterator[Row]:
        yield from shared
        for text in texts:
            line = _parsed(text)
            if line is not None:
                yield line

    rows = replay_figures(broker, lines(), settings)
    return [{**row, "run": run} for row in rows]


def _lines_of(files: Sequence[str]) -> Iterator[tuple[str, int | None, bytes]]:
    """Run, broker (None: all of them) and text of each line that counts."""
    for file in files:
        with _opened(Path(file)) as lines:
            for data in lines:
                found = _place_of(data)
                if found is not None:
                    yield *found, data


def _place_of(data: bytes) -> tuple[str, int | None] | None:
    head = _HEAD.match(data)
    if head is None:
        line = _parsed(data)
        if line is None or "kind" not in line or "run" not in line:
            return None
        kind, run, is_fetch = line["kind"], line["run"], line.get("api_key") == FETCH
        broker = line.get("broker")
    else:
        if not data.endswith(b"\n"):
            return None  # it is being written
        kind, run, is_fetch = head[1].decode(), head[2].decode(), _FETCHES in data
        number = _BROKER.search(data) if kind in KINDS else None
        broker = None if number is None else int(number[1])
    if kind in SHARED_KINDS:
        return run, None
    if kind not in KINDS or broker is None or (kind == "request" and not is_fetch):
        return None
    return run, broker


def _parsed(text: bytes | str) -> Row | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _opened(path: Path) -> IO[bytes]:
    if path.name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


# -- on Spark ----------------------------------------------------------------------------------


def replay_on_spark(
    spark: SparkSession, files: Sequence[str], settings: Mapping[str, Any]
) -> list[Row]:
    """Run each broker of each run again, on the session's executors."""
    from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

    send_code(spark)
    texts = spark.read.text(list(files))
    fields = F.from_json("value", _FIELDS)
    lines = texts.select("value", fields.alias("line")).select("value", "line.*")
    all_brokers = lines.where(F.col("kind").isin(*SHARED_KINDS)).select("run", "value").collect()
    shared: Shared = {}
    for row in all_brokers:
        line = json.loads(row["value"])
        if line["kind"] == "run":
            _check_run(line, f"the journal of run {row['run']}")
        shared.setdefault(row["run"], []).append(line)
    mine = lines.where(
        F.col("kind").isin(*KINDS)
        & F.col("broker").isNotNull()
        & ((F.col("kind") != "request") | (F.col("api_key") == FETCH))
    ).select("run", "broker", "seq", "value")
    brokers = mine.select("run", "broker").distinct().count()
    spread = mine.repartition(max(1, brokers * _PARTS_OF_A_BROKER), "run", "broker")
    ordered = spread.sortWithinPartitions("run", "broker", "seq")
    work = partial(_replay_batches, shared=shared, settings=dict(settings))
    told = ordered.mapInArrow(work, "row STRING").collect()
    return [json.loads(row["row"]) for row in told]


def _replay_batches(
    batches: Iterable[pa.RecordBatch], shared: Shared, settings: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    rows = (row for batch in batches for row in batch.to_pylist())
    for (run, broker), of_broker in groupby(rows, itemgetter("run", "broker")):
        texts = (row["value"] for row in of_broker)
        figures = _replayed(run, broker, texts, shared.get(run, []), settings)
        if figures:
            told = [json.dumps(row) for row in figures]
            yield pa.RecordBatch.from_pydict({"row": pa.array(told, pa.string())})
