"""The requests that the broker served, to look at and to wait for: `broker.journal`.

An expectation is fulfilled by requests that are there already as well as by those that come; a
view sees those from its cursor on (of a `scope`: what came since it began).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from mockbroker.state.request_lines import tail
from mockbroker.state.requests import RequestQuery

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.journal.events import Event
    from mockbroker.journal.request import RequestServed
    from mockbroker.state.requests import Filters
    from mockbroker.testing.bridge import Bridge

__tracebackhide__ = True

_TAIL_LINES = 30


class Expectation:
    """That at least `times` requests match; `within` says by when."""

    def __init__(self, bridge: Bridge, query: RequestQuery, times: int, since: int) -> None:
        self._bridge = bridge
        self._query = query
        self._times = times
        self._since = since

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._query})"

    def within(self, timeout: float) -> list[RequestServed]:
        """Wait that many seconds at most; returns the requests that match.

        Raises WaitTimeoutError, an AssertionError with the nearest requests and what differs.
        """
        query, found, position = self._query, list[Any](), self._since

        def enough(cluster: Cluster) -> list[RequestServed] | None:
            """It decodes each request once."""
            nonlocal position
            journal = cluster.journal
            found.extend(query.find(journal, position))
            position = journal.cursor()
            return list(found) if len(found) >= self._times else None

        def nearest(cluster: Cluster) -> str:
            journal = cluster.journal
            seen = sum(1 for _ in journal.requests(self._since))
            first = (
                f"waited {timeout:g} s for {self._times} request(s) with {query}:"
                f" {len(query.find(journal, self._since))} of {seen} match"
            )
            near = query.explain(journal, self._since)
            return "\n  ".join([first, *(["the nearest others:"] if near else []), *near])

        return self._bridge.wait(enough, timeout, nearest)


class JournalView:
    """The journal of one broker from a cursor on. Filters are those of `RequestQuery`."""

    def __init__(self, bridge: Bridge, since: int = 0) -> None:
        self._bridge = bridge
        self._since = since

    def __repr__(self) -> str:
        return f"{type(self).__name__}(since={self._since})"

    def cursor(self) -> int:
        """Where the journal stands now, for `since`."""
        return self._bridge.call(lambda cluster: cluster.journal.cursor())

    def requests(
        self, *, since: int | None = None, **filters: Unpack[Filters]
    ) -> list[RequestServed]:
        """The requests that match and are still kept, oldest first."""
        query, start = RequestQuery(**filters), self._from(since)
        return self._bridge.call(lambda cluster: query.find(cluster.journal, start))

    def events(self) -> list[Event]:
        """What happened beside requests, as far as it is still kept, oldest first."""
        return self._bridge.call(lambda cluster: cluster.journal.events())

    def expect(
        self, *, times: int = 1, since: int | None = None, **filters: Unpack[Filters]
    ) -> Expectation:
        """That at least `times` requests match: `expect(api="Fetch", topic="t").within(5)`."""
        return Expectation(self._bridge, RequestQuery(**filters), times, self._from(since))

    def tail(self, count: int = _TAIL_LINES) -> str:
        """The last requests, a line each, for people; what idles is folded into one."""
        return self._bridge.call(
            lambda cluster: "\n".join(tail(cluster.journal, self._since, count))
        )

    def _from(self, since: int | None) -> int:
        return self._since if since is None else since
