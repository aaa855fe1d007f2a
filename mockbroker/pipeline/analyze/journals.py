"""Journal files found, checked and read: from paths to lines with types.

Called by `job`. `find` refuses what can be refused before Spark starts; `parse` is pure. A line
that is no journal line keeps its text in `raw` and has nothing in the other fields.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze.line_schema import JOURNAL_SCHEMA, LINE_SCHEMA
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

SUFFIXES: Final = (".jsonl", ".jsonl.gz")
BASE: Final = "base"
OTHER: Final = "other"
_FIRST_LINE_BYTES: Final = 1 << 20


def find(paths: Sequence[str], option: str = "JOURNALS") -> list[str]:
    """The journal files behind these files and folders; paths with a scheme are Spark's to find.

    Raises PipelineError for what is missing, unreadable, no journal, or of another schema version.
    """
    found: list[str] = []
    for path in paths:
        if "://" in path:
            found.append(path)
        else:
            found.extend(map(str, _find_local(Path(path), option)))
    return found


def _find_local(path: Path, option: str) -> list[Path]:
    if not path.exists():
        raise PipelineError(f"{option}: no such file or folder: {path}")
    looked_at = path
    try:
        files = [path]
        if path.is_dir():
            files = sorted(f for f in path.rglob("*") if f.name.endswith(SUFFIXES) and f.is_file())
        if not files:
            raise PipelineError(f"{option}: no journal file (*.jsonl) in {path}")
        for looked_at in files:
            _check_first_line(looked_at, option)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        where = error.filename or looked_at
        raise PipelineError(f"{option}: {where} cannot be read: {reason}") from None
    return files


def _check_first_line(file: Path, option: str) -> None:
    opened = gzip.open(file, "rb") if file.name.endswith(".gz") else file.open("rb")  # noqa: SIM115
    try:
        with opened as lines:
            first = lines.readline(_FIRST_LINE_BYTES)
    except EOFError:
        raise PipelineError(f"{option}: {file} cannot be read: the file is cut off") from None
    if not first.strip():
        return  # A broker that was killed at once leaves an empty file.
    try:
        line = json.loads(first)
    except ValueError:
        line = None
    if not isinstance(line, dict) or "kind" not in line:
        # One bad line is counted by the job; a file that does not begin like one is a mistake.
        raise PipelineError(f"{option}: {file} is no journal: its first line is none of a journal")
    if line.get("schema") != JOURNAL_SCHEMA:
        raise PipelineError(_other_version(f"{option}: {file}", line.get("schema")))


def _other_version(where: str, version: object) -> str:
    return f"{where} has journal schema {version}: this version reads {JOURNAL_SCHEMA}"


def check_versions(lowest: int | None, highest: int | None) -> None:
    """Refuse lines of another schema version, wherever in the files they were."""
    for version in (lowest, highest):
        if version is not None and version != JOURNAL_SCHEMA:
            raise PipelineError(_other_version("JOURNALS: a line", version))


def read(spark: SparkSession, files: Sequence[str], side: str) -> DataFrame:
    """The lines of these files, parsed; `side` is which of two compared runs they are."""
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    text = spark.read.option("recursiveFileLookup", "true").text(list(files))
    named = text.select(F.col("value"), F.col("_metadata.file_name").alias("journal"))
    return parse(named, side)


def parse(text: DataFrame, side: str) -> DataFrame:
    """Texts in `value` and file names in `journal` to side, journal, raw, size and all fields."""
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    parsed = F.from_json(
        "value",
        f"{LINE_SCHEMA}, _unread STRING",
        {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_unread"},
    )
    line = text.where(F.trim("value") != "").select("value", "journal", parsed.alias("line"))
    bad = (
        F.col("line._unread").isNotNull()
        | F.col("line.schema").isNull()
        | F.col("line.kind").isNull()
        | F.col("line.run").isNull()
        | F.col("line.seq").isNull()
        | F.col("line.at_ms").isNull()
    )
    flagged = line.select("value", "journal", F.when(~bad, F.col("line")).alias("line"))
    return flagged.select(
        F.lit(side).alias("side"),
        "journal",
        F.when(F.col("line").isNull(), F.col("value")).alias("raw"),
        F.octet_length("value").cast("bigint").alias("size"),
        "line.*",
    ).drop("_unread")
