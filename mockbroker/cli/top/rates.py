"""The head of the screen: who serves, how much goes on, what a test has changed.

The figures come from `/v1/metrics`, whose size does not grow with topics and groups.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.admin.client import AdminClient

REQUESTS: Final = "mockbroker:type=RequestMetrics,name=Requests,request="
_SESSIONS: Final = "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions"
_PARKED: Final = (
    "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations,delayedOperation="
)


class Rates:
    """What counters gained between two looks, a second."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._before: dict[str, float] = {}
        self._looked_s = 0.0

    def of(self, counters: dict[str, float]) -> dict[str, float]:
        """A rate for each counter; 0 at the first look, and where one began anew."""
        now = self._now()
        passed_s = now - self._looked_s
        before, self._before, self._looked_s = self._before, counters, now
        if not before or passed_s <= 0:
            return dict.fromkeys(counters, 0.0)
        return {
            name: max(0.0, value - before.get(name, 0.0)) / passed_s
            for name, value in counters.items()
        }


def requests_by_api(metrics: dict[str, float]) -> dict[str, float]:
    """How many requests there were of each API."""
    return {
        name.removeprefix(REQUESTS): value
        for name, value in metrics.items()
        if name.startswith(REQUESTS)
    }


def head(client: AdminClient, rates: Rates) -> dict[str, Any]:
    """What stands above each view, by the names that JSON has for it."""
    metrics: dict[str, float] = client.get("/v1/metrics")["metrics"]
    cluster = client.get("/v1/cluster")
    clock = client.get("/v1/clock")
    brokers = cluster["brokers"]
    return {
        "bootstrap_servers": cluster["bootstrap_servers"],
        "brokers": len(brokers),
        "brokers_up": sum(one["running"] and not one["fenced"] for one in brokers),
        "connections": sum(one["connections"] for one in brokers),
        "topics": cluster["topics"],
        "groups": cluster["groups"],
        "requests_per_second": sum(rates.of(requests_by_api(metrics)).values()),
        "fetch_sessions": int(metrics.get(_SESSIONS, 0)),
        "parked": int(sum(v for name, v in metrics.items() if name.startswith(_PARKED))),
        "frozen": clock["frozen"],
        "rate": clock["rate"],
        "journal_problem": cluster["journal_problem"],
    }


def head_text(told: dict[str, Any]) -> str:
    """The same for people, in two lines and one more for what is out of the ordinary."""
    figures = (
        f"brokers {told['brokers_up']}/{told['brokers']}  connections {told['connections']}"
        f"  topics {told['topics']}  groups {told['groups']}"
        f"  requests/s {told['requests_per_second']:.0f}"
        f"  sessions {told['fetch_sessions']}  parked {told['parked']}"
    )
    odd = [
        *(["the clock stands still"] if told["frozen"] else []),
        *([f"the clock runs {told['rate']:g} times as fast"] if told["rate"] != 1 else []),
        *([f"journal: {told['journal_problem']}"] if told["journal_problem"] else []),
    ]
    lines = [f"mockbroker {told['bootstrap_servers']}", figures]
    return "\n".join([*lines, *(["; ".join(odd)] if odd else [])])
