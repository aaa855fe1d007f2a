"""The journal over the admin API: requests as its lines tell them, without their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, cast

from mockbroker.journal.lines import event_of
from mockbroker.state.requests import RequestQuery
from mockbroker.testing.journal_view import Expectation, JournalView
from mockbroker.testing.remote.request import RemoteRequest

if TYPE_CHECKING:
    from mockbroker.admin.client import AdminClient
    from mockbroker.journal.events import Event
    from mockbroker.journal.request import RequestServed
    from mockbroker.state.requests import Filters
    from mockbroker.testing.bridge import Bridge, Caller

__tracebackhide__ = True

_PAGE = 1000


class RemoteExpectation(Expectation):
    """That at least `times` requests match, at a broker elsewhere."""

    def __init__(
        self, caller: Caller[AdminClient], filters: Filters, times: int, since: int
    ) -> None:
        super().__init__(cast("Bridge", caller), RequestQuery(**filters), times, since)
        self._caller = caller
        self._filters = filters

    def within(self, timeout: float) -> list[RequestServed]:
        found: list[RequestServed] = []
        position = self._since

        def enough(client: AdminClient) -> list[RequestServed] | None:
            nonlocal position
            new, position = _requests(client, position, self._filters)
            found.extend(new)
            return list(found) if len(found) >= self._times else None

        def nearest(client: AdminClient) -> str:
            wanted = {name: one for name, one in _sent(self._filters).items() if one is not None}
            body = {**wanted, "times": 2**31 - 1, "since": self._since, "timeout_ms": 0}
            told = client.send("POST", "/v1/journal/expect", body)["explanation"]
            others = told.partition("\n")[1:]
            first = (
                f"waited {timeout:g} s for {self._times} request(s) with {self._query}:"
                f" {len(found)} match"
            )
            return first + "".join(others)

        return self._caller.wait(enough, timeout, nearest)


class RemoteJournalView(JournalView):
    """The journal of a broker elsewhere from a cursor on."""

    def __init__(self, caller: Caller[AdminClient], since: int = 0) -> None:
        super().__init__(cast("Bridge", caller), since)
        self._caller = caller

    def __repr__(self) -> str:
        return f"JournalView(since={self._since})"

    def cursor(self) -> int:
        return self._caller.call(cursor)

    def requests(
        self, *, since: int | None = None, **filters: Unpack[Filters]
    ) -> list[RequestServed]:
        RequestQuery(**filters)
        start = self._from(since)
        return self._caller.call(lambda client: _requests(client, start, filters)[0])

    def events(self) -> list[Event]:
        return self._caller.call(
            lambda client: [event_of(line) for line in client.get("/v1/journal/events")["events"]]
        )

    def expect(
        self, *, times: int = 1, since: int | None = None, **filters: Unpack[Filters]
    ) -> Expectation:
        return RemoteExpectation(self._caller, filters, times, self._from(since))

    def tail(self, count: int = 30) -> str:
        return self._caller.call(
            lambda client: "\n".join(
                client.get("/v1/journal/tail", lines=count, since=self._since)["lines"]
            )
        )


def cursor(client: AdminClient) -> int:
    """Where the journal stands now."""
    found: int = client.get("/v1/journal/cursor")["cursor"]
    return found


def _requests(client: AdminClient, since: int, filters: Filters) -> tuple[list[RequestServed], int]:
    """Those that match from a cursor on, and where the journal stood behind them."""
    where = filters.get("where")
    found: list[RequestServed] = []
    position, more = since, True
    while more:
        page = client.get("/v1/journal", since=position, limit=_PAGE, **_sent(filters))
        made = [RemoteRequest(line) for line in page["requests"]]
        found += [one for one in made if where is None or where(one)]
        position, more = page["next_cursor"], page["more"]
    return found, position


def _sent(filters: Filters) -> dict[str, object]:
    """The filters as the admin API takes them; a condition in Python stays here."""
    given = {name: one for name, one in filters.items() if name != "where"}
    if given.get("api") is not None:
        given["api"] = str(given["api"])
    return given
