"""Which build of the core runs: compiled by mypyc, or its sources.

A compiled wheel has the library of a module beside its source, and Python takes the library first.
With `MOCKBROKER_PURE=1` in the environment the package takes the sources alone: `mockbroker` asks
for that before anything of it is imported.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec

_OURS: Final = ("mockbroker", "mockbroker_protocol")
_COMPILED: Final = "mockbroker.clock"
"""One of the modules that are compiled; all of them are, or none."""


class SourceFinder:
    """Finds the modules of our packages as their sources (a meta path finder)."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: object = None
    ) -> ModuleSpec | None:
        if path is None or name.partition(".")[0] not in _OURS:
            return None
        for folder in path:
            found = _sources_in(folder).find_spec(name)
            if found is not None:
                return found
        return None


@cache
def _sources_in(folder: str) -> FileFinder:
    return FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))


def take_sources() -> None:
    """Import the sources from now on, whatever is compiled."""
    if SourceFinder not in sys.meta_path:
        sys.meta_path.insert(0, SourceFinder)


def is_compiled() -> bool:
    """Whether the compiled modules run."""
    spec = find_spec(_COMPILED)
    return spec is not None and not isinstance(spec.loader, SourceFileLoader)
