"""Waiting for what a broker tells: an Apache Kafka answers an admin before all of it knows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE_S = 60.0


def settled(ask: Callable[[], object], wanted: object) -> None:
    """Ask until the answer is the one wanted; the last one is what a failure shows."""
    deadline = time.monotonic() + DEADLINE_S
    while (last := ask()) != wanted and time.monotonic() < deadline:
        pass
    assert last == wanted
