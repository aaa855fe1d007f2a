"""The files of one run's journal: whole lines, and the next file when one is large.

`journal_files` writes into them from its thread, `journal_encoder` from a process of its own; never
both, the second goes on where the first has ended.

Invariants: a file holds whole lines and begins with a `run` line, also where a disk is full.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.journal.request import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import FileIO

FILE_BYTES: Final = 64 << 20
WRITE_BYTES: Final = 64 << 10


class LineFiles:
    """`number` counts files, `written` the bytes of the last. OSError: nothing can be written."""

    def __init__(
        self,
        directory: str,
        run: str,
        facts: Mapping[str, object],
        started_wall_ms: int,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        """`run` names the run; `facts` are what its `run` lines tell beyond that."""
        self.directory = directory
        self.run = run
        self.facts = dict(facts)
        self.started_wall_ms = started_wall_ms
        self.file_bytes = file_bytes
        self.file: FileIO | None = None
        self.number = 0
        self.written = 0
        self._lines = bytearray()
        """What the file lacks."""

    def begin(self) -> None:
        """Begin a file, the first or another."""
        self.flush()
        self.close()
        self.file = self._path(self.number).open("xb", buffering=0)
        self.written = 0
        run: dict[str, object] = {"kind": "run", **self.facts}
        run |= {"started_wall_ms": self.started_wall_ms, "file": self.number}
        self.number += 1
        self._put(self.placed(run, 0, 0.0, self.started_wall_ms))
        self.flush()

    def go_on(self, number: int, written: int) -> None:
        """Go on with the last of so many files, in which so much is written."""
        self.file = self._path(number - 1).open("ab", buffering=0)
        self.number, self.written = number, written

    def _path(self, number: int) -> Path:
        return Path(self.directory, f"journal-{self.run}-{number:06}.jsonl")

    def placed(
        self, line: dict[str, object], seq: int, at_ms: float, wall_ms: int
    ) -> dict[str, object]:
        """The line with its place in the run."""
        place = {"run": self.run, "seq": seq, "at_ms": round(at_ms, 3), "wall_ms": wall_ms}
        return {"schema": SCHEMA, "kind": line["kind"], **place, **line}

    def dropped(self, lines: int, seq: int, at_ms: float) -> dict[str, object]:
        """The line which says that so many are missing before it."""
        dropped: dict[str, object] = {"kind": "dropped", "lines": lines}
        return self.placed(dropped, seq, at_ms, self.started_wall_ms + int(at_ms))

    def write(self, line: dict[str, object]) -> None:
        """Add a line; it is in the file after `flush` at the latest."""
        if self.written >= self.file_bytes:
            self.begin()
        self._put(line)

    def _put(self, line: dict[str, object]) -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        self._lines += data
        self.written += len(data)
        if len(self._lines) >= WRITE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is pending; of what does not fit, the lines that do."""
        file, lines = self.file, self._lines
        if file is None or not lines:
            return
        self._lines = bytearray()
        at = 0
        try:
            while at < len(lines):
                at += file.write(lines[at:])
        except OSError:
            cut = at - (lines.rfind(b"\n", 0, at) + 1)
            with suppress(OSError):
                file.truncate(file.tell() - cut)
            raise
        if not os.fstat(file.fileno()).st_nlink and not Path(file.name).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))  # it was deleted

    def close(self) -> None:
        """End the file."""
        if self.file is not None:
            with suppress(OSError):  # such as what a network's file system tells this late
                self.file.close()
            self.file = None
