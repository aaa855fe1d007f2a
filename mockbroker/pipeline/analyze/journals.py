"""Journal files found and checked, before an engine starts; the engines read and parse them.

Called by `command` and `job`. A line that is no journal line keeps its text in `raw` and has
nothing in the other fields.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze.line_schema import JOURNAL_SCHEMA
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SUFFIXES: Final = (".jsonl", ".jsonl.gz")
NO_LINE: Final = "JOURNALS: no line in these files yet"
BASE: Final = "base"
OTHER: Final = "other"
_FIRST_LINE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """The journal files of one side of a comparison."""

    side: str
    files: Sequence[str]


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


def size_bytes(files: Sequence[str]) -> int | None:
    """What these files have in all; None where one is not on this machine."""
    if any("://" in file for file in files):
        return None
    return sum(Path(file).stat().st_size for file in files)


class Growing:
    """Journals that are being written while they are read: their last line may be cut off.

    Made before the engine reads. Such a line is none of the corrupt ones: `cut_off` knows it by
    what its file has at that place by now.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._at: dict[Path, int] = {}
        for file in files:
            if "://" not in file and not file.endswith(".gz"):
                self._at[Path(file)] = _last_line_at(Path(file))

    def names(self) -> list[str]:
        """Files that end, or ended, within a line."""
        return sorted(path.name for path, at in self._at.items() if path.stat().st_size > at)

    def cut_off(self, found: Sequence[Mapping[str, str]]) -> set[tuple[str, str]]:
        """Of these lines (`journal`, `raw`) those that were cut off by the end of their file."""
        raws: dict[str, set[str]] = {}
        for line in found:
            raws.setdefault(line["journal"], set()).add(line["raw"])
        cut = set()
        for path, at in self._at.items():
            if path.name in raws:
                with path.open("rb") as file:
                    file.seek(at)
                    added = file.read().decode("utf-8", "replace").split("\n")
                # The last has no end yet; of the others a beginning was read.
                cut |= {
                    (path.name, raw)
                    for raw in raws[path.name]
                    if raw == added[-1]
                    or any(raw != line and line.startswith(raw) for line in added)
                }
        return cut


def _last_line_at(path: Path) -> int:
    """Where the last line begins that has no end; the size of the file if it has one."""
    size = path.stat().st_size
    step = 1 << 16
    with path.open("rb") as file:
        end = size
        while end > 0:
            begin = max(0, end - step)
            file.seek(begin)
            place = file.read(end - begin).rfind(b"\n")
            if place >= 0:
                return begin + place + 1
            end = begin
    return 0
