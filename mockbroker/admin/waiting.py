"""Waiting, in the loop, for something that a step of the broker brings about."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.admin.host import Host
    from mockbroker.cluster.cluster import Cluster


class Met(BaseModel):
    """Whether what was waited for came true in time; if not, `explanation` says what there is."""

    met: bool
    explanation: str | None = None


async def wait_until(
    host: Host,
    condition: Callable[[Cluster], bool],
    explain: Callable[[Cluster], str],
    timeout_ms: int,
) -> Met:
    """Look now and after each step, for `timeout_ms` real milliseconds at most."""
    if host.act(condition):
        return Met(met=True)
    reached = asyncio.Event()

    def look() -> None:
        if not reached.is_set() and condition(host.cluster):
            reached.set()

    unwatch = host.watch_steps(look)
    try:
        await asyncio.wait_for(reached.wait(), timeout_ms / 1000)
    except TimeoutError:
        return Met(met=False, explanation=host.act(explain))
    finally:
        unwatch()
    return Met(met=True)
