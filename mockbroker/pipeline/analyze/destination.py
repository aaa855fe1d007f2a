"""DIR: where a run's files go, and what an earlier run left there until all of them are whole.

Called by `job`. On this machine a run is written beside what is there, and takes its place at the
end; one that fails, or whose journals turn out to be none, changes nothing. Elsewhere (a path with
a scheme) files cannot be moved from here: the caller checks what it reads before it writes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS: Final = ("lines", "tables")
UNFINISHED: Final = "unfinished"


class Destination:
    """DIR as the user named it; `root` is where to write, `out` where things are at the end."""

    def __init__(self, out: str, parts: Sequence[str] = PARTS) -> None:
        """`parts` are the folders that a run writes."""
        self.out = out
        self._parts = parts
        self.is_local = "://" not in out
        self.root = f"{out}/{UNFINISHED}" if self.is_local else out

    def begin(self) -> None:
        """Take away what a run that was killed has left."""
        if self.is_local:
            shutil.rmtree(self.root, ignore_errors=True)

    def keep(self) -> None:
        """All is written: put it in the place of what was there."""
        if not self.is_local:
            return
        for part in self._parts:
            place = Path(self.out, part)
            if place.is_dir():
                shutil.rmtree(place)
            Path(self.root, part).rename(place)
        Path(self.root).rmdir()

    def drop(self) -> None:
        """Nothing of this run is wanted; what was there before stays."""
        if self.is_local:
            shutil.rmtree(self.root, ignore_errors=True)
