"""What was added to journals since the last look, as files of whole lines.

Called by `line_stream`. A broker may be in the middle of a line: a segment ends with the last line
that is whole, the rest is in the next one. A segment has its journal's name, in a folder of its own
below that of its side; it is there at once or not at all, because who reads the folder looks at
any time.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.pipeline.analyze.journals import Source

_PIECE_BYTES: Final = 1 << 20


class Tail:
    """Journals with how far each was taken. `folder` is this object's alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._taken: dict[tuple[str, str], int] = {}
        self.segments = 0

    def cut(self, sources: Iterable[Source]) -> int:
        """Put what is new below `folder`/SIDE; how many segments there are of it."""
        before = self.segments
        for source in sources:
            (self.folder / source.side).mkdir(parents=True, exist_ok=True)
            for file in source.files:
                self._cut_one(source.side, Path(file))
        return self.segments - before

    def forget(self) -> None:
        """Take the segments away that were read."""
        for segment in self.folder.glob("*/[0-9]*"):
            shutil.rmtree(segment)

    def _cut_one(self, side: str, file: Path) -> None:
        begin = self._taken.get((side, str(file)), 0)
        end = file.stat().st_size
        if not file.name.endswith(".gz"):
            end = _whole_lines_end(file, begin, end)
        if end <= begin:
            return
        self.segments += 1
        growing = self.folder / side / f".{self.segments:08}"
        growing.mkdir()
        _copy(file, growing / file.name, begin, end)
        growing.rename(growing.with_name(f"{self.segments:08}"))
        # A compressed file is whole, or it is none.
        self._taken[side, str(file)] = end


def _whole_lines_end(file: Path, begin: int, size: int) -> int:
    """Behind the last line end before `size`; `begin` when there is none."""
    with file.open("rb") as lines:
        end = size
        while end > begin:
            start = max(begin, end - _PIECE_BYTES)
            lines.seek(start)
            place = lines.read(end - start).rfind(b"\n")
            if place >= 0:
                return start + place + 1
            end = start
    return begin


def _copy(source: Path, target: Path, begin: int, end: int) -> None:
    with source.open("rb") as read, target.open("wb") as write:
        read.seek(begin)
        left = end - begin
        while left > 0:
            piece = read.read(min(left, _PIECE_BYTES))
            if not piece:
                break
            write.write(piece)
            left -= len(piece)
