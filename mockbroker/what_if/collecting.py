"""What a run makes, collected when it is over."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def dropped_as_a_whole(run: Callable[[], T]) -> T:
    """`run`, whose world is a net of circles: nothing of it is collected before its end.

    All that is made meanwhile is of the youngest generation, so that the heap around it, which may
    be large, is not walked.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return run()
    finally:
        gc.collect(0)
        if collects:
            gc.enable()
