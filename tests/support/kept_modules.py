"""Modules that a test of a test run imports stay when it is over, apart from its own files.

`pytester` takes back all that was imported meanwhile. What was there before would then know other
classes than what is imported once more: `except ApiError` of one does not catch the other's, and
two halves of a framework do not fit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from _pytest import pytester

if TYPE_CHECKING:
    from collections.abc import Callable

_OURS: Final = str(Path(__file__).parents[2])
_LASTING: Final = (sys.prefix, sys.base_prefix, _OURS)


class KeepingSnapshot(pytester.SysModulesSnapshot):
    """What is to be as it was, but for the modules that every test may import."""

    def __init__(self, preserve: Callable[[str], bool] | None = None) -> None:
        def kept(name: str) -> bool:
            file = getattr(sys.modules[name], "__file__", None)
            lasts = file is not None and file.startswith(_LASTING)
            return lasts or (preserve is not None and preserve(name))

        super().__init__(kept)


def keep_modules() -> None:
    """For this process."""
    pytester.SysModulesSnapshot = KeepingSnapshot  # type: ignore[misc]
