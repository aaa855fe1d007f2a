"""Work that is written as a generator, which yields between its slices.

Who drives it sees to others meanwhile; `all_at_once` is for who does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")


def all_at_once(steps: Generator[object, None, T]) -> T:
    """Do all of it; what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
