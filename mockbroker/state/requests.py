"""Which requests of the journal someone means, and why the others are not meant.

`RequestQuery` is what `broker.journal.requests(...)` and `.expect(...)` filter by. A failed
expectation shows the nearest requests: those with the fewest things that do not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from mockbroker.state.request_lines import error_names, summary, topic_names
from mockbroker_protocol.api_keys import ALL_SPECS
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.journal.request import RequestServed
    from mockbroker.journal.ring import Journal

NEAREST_SHOWN: Final = 5


class QueryError(ValueError):
    """A filter that can match nothing; the message says what is allowed."""


class Filters(TypedDict, total=False):
    """The arguments of `RequestQuery`; None: anything."""

    api: str | int | None
    client: str | None
    topic: str | None
    group: str | None
    transactional_id: str | None
    error: int | str | bool | None
    fault: str | bool | None
    connection: int | None
    where: Callable[[RequestServed], bool] | None


_ORDER: Final = tuple(Filters.__annotations__)


class RequestQuery:
    """What a request must be; None: anything.

    `api` is Kafka's name or number, `client` a glob over client ids, `error` a code that its
    answer holds or that code's name in Kafka, True for any error and False for none, `fault` a
    rule's id or True for any, `connection` a connection's number; `where` is asked last. Raises
    QueryError for an unknown API or error.
    """

    def __init__(self, **filters: Unpack[Filters]) -> None:
        given = {name: one for name, one in filters.items() if one is not None}
        self._text = ", ".join(f"{name}={given[name]!r}" for name in _ORDER if name in given)
        api, error = filters.get("api"), filters.get("error")
        self._api_key = None if api is None else _api_key(api)
        self._client = filters.get("client")
        self._topic = filters.get("topic")
        self._group = filters.get("group")
        self._transactional_id = filters.get("transactional_id")
        self._error = _error_code(error) if isinstance(error, str) else error
        self._fault = filters.get("fault")
        self._connection = filters.get("connection")
        self._where = filters.get("where")

    def __str__(self) -> str:
        return self._text or "any request"

    def find(self, journal: Journal, since: int) -> list[RequestServed]:
        """Those in the journal that match, from a cursor on, oldest first."""
        return [
            served
            for served in journal.requests(since)
            if next(self.mismatches(served, journal), None) is None
        ]

    def mismatches(self, served: RequestServed, journal: Journal) -> Iterator[str]:
        """What does not fit, the cheapest questions first."""
        if self._api_key not in (None, served.api_key):
            yield f"api is {served.api_name}"
        if self._connection not in (None, served.connection_id):
            yield f"connection is {served.connection_id}"
        if self._client is not None:
            from fnmatch import fnmatchcase

            if not fnmatchcase(served.client_id, self._client):
                yield f"client is {served.client_id!r}"
        yield from self._fault_mismatch(served)
        if self._topic is not None or self._group is not None or self._transactional_id is not None:
            yield from self._subject_mismatches(served, journal)
        yield from self._error_mismatch(served)
        if self._where is not None and not self._where(served):
            yield "where says no"

    def _fault_mismatch(self, served: RequestServed) -> Iterator[str]:
        fired = (served.fault or "").split(",") if served.fault else []
        if self._fault is True and not fired:
            yield "no fault fired"
        elif self._fault is False and fired:
            yield f"fault {served.fault} fired"
        elif isinstance(self._fault, str) and self._fault not in fired:
            yield f"fault is {served.fault}"

    def _subject_mismatches(self, served: RequestServed, journal: Journal) -> Iterator[str]:
        request = served.request
        if request is None:
            yield "its bytes were let go"
            return
        from mockbroker_protocol.subjects import subjects_of

        subjects = subjects_of(request)
        topics = topic_names(subjects, journal)
        if self._topic is not None and self._topic not in topics:
            yield f"topics are {topics}"
        if self._group is not None and self._group not in subjects.groups:
            yield f"groups are {subjects.groups}"
        wanted = self._transactional_id
        if wanted is not None and wanted not in subjects.transactional_ids:
            yield f"transactional ids are {subjects.transactional_ids}"

    def _error_mismatch(self, served: RequestServed) -> Iterator[str]:
        wanted = self._error
        if wanted is None:
            return
        codes = served.error_codes
        if isinstance(wanted, bool):
            fits = bool(codes) is wanted
        else:
            fits = wanted in codes or (wanted == ErrorCode.NONE and not codes)
        if not fits:
            yield f"errors are {error_names(codes)}"

    def explain(self, journal: Journal, since: int) -> list[str]:
        """A line for each of the nearest requests, with what does not fit; the newest first."""
        ranked = sorted(
            (
                (reasons, served)
                for served in reversed(list(journal.requests(since)))
                if (reasons := list(self.mismatches(served, journal)))
            ),
            key=lambda pair: len(pair[0]),
        )
        return [
            f"{summary(served, journal)}: {', '.join(reasons)}"
            for reasons, served in ranked[:NEAREST_SHOWN]
        ]


def _error_code(name: str) -> int:
    if name.upper() in ErrorCode.__members__:
        return ErrorCode[name.upper()]
    raise QueryError(
        f"error: {name!r} is no error of Kafka; allowed: true, false, a number or a name such as"
        " NOT_LEADER_OR_FOLLOWER"
    )


def _api_key(api: str | int) -> int:
    for key, spec in ALL_SPECS.items():
        if api in (spec.name, int(key)):
            return int(key)
    names = ", ".join(spec.name for spec in ALL_SPECS.values())
    raise QueryError(f"api: {api!r} is unknown; allowed: a number or one of {names}")
