"""The tables of `mockbroker top`: each reads what it shows, and nothing more, from the admin API.

Long lists are read as far as a screen goes (`ROWS`). Requests are read on from where the last look
ended, so that a look costs what is new. A filter is words: `api=Fetch client=billing*` asks the
journal's own filters, any other word is looked for in the cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from mockbroker.cli.errors import CommandError
from mockbroker.cli.top.rates import Rates, requests_by_api
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.admin.client import AdminClient

ROWS: Final = 500
"""The most rows of a table."""
_FIRST_REQUESTS: Final = 2000
"""So many of the last requests are looked at when the requests are first shown."""
_PAGE: Final = 1000
_TOPICS_SHOWN: Final = 3
JOURNAL_FILTERS: Final = ("api", "client", "topic", "group", "error", "fault", "connection")

Row = tuple[object, ...]


class Filter(NamedTuple):
    """What is wanted: fields that the journal knows, and words that stand in a row."""

    fields: dict[str, str]
    words: tuple[str, ...]

    def keeps(self, row: Row) -> bool:
        """Whether each word stands in some cell, in either case."""
        cells = " ".join(str(cell) for cell in row).casefold()
        return all(word in cells for word in self.words)


def parse_filter(text: str) -> Filter:
    """Raises CommandError for a field that the journal does not have, or that has no value."""
    fields, words = {}, []
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals:
            words.append(word.casefold())
        elif name not in JOURNAL_FILTERS or not value:
            allowed = ", ".join(f"{one}=" for one in JOURNAL_FILTERS)
            raise CommandError(f"--filter: {word!r}; allowed: words, and {allowed}")
        else:
            fields[name] = value
    return Filter(fields, tuple(words))


class View(ABC):
    """A table: its columns, and its rows as they are now."""

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    takes_fields = False
    """Whether the fields of a filter mean something here; its words always do."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self.rates = Rates()

    def rows(self, wanted: Filter) -> list[Row]:
        """At most ROWS rows that the filter keeps."""
        if wanted.fields and not self.takes_fields:
            field = next(iter(wanted.fields))
            raise CommandError(f"--filter: {field}= is for the view requests")
        return [row for row in self.all_rows(wanted) if wanted.keeps(row)][:ROWS]

    @abstractmethod
    def all_rows(self, wanted: Filter) -> Iterator[Row]:
        """The rows, whatever words are wanted."""

    def first(self, path: str, field: str) -> list[dict[str, Any]]:
        """The first ROWS items of a list that comes in pages."""
        items: list[dict[str, Any]] = self.client.get(path, limit=ROWS)[field]
        return items

    @property
    def client(self) -> AdminClient:
        """The admin API."""
        return self._client


class Requests(View):
    """What clients asked last, the newest first."""

    name = "requests"
    columns = ("at", "client", "api", "topics", "in", "out", "waited", "woken by", "error")
    takes_fields = True

    def __init__(self, client: AdminClient) -> None:
        super().__init__(client)
        self._since: int | None = None
        self._fields: dict[str, str] = {}
        self._seen: deque[Row] = deque(maxlen=ROWS)

    def all_rows(self, wanted: Filter) -> Iterator[Row]:
        if self._since is None or wanted.fields != self._fields:
            self._seen.clear()
            self._fields = wanted.fields
            self._since = max(0, self._cursor() - _FIRST_REQUESTS)
        more = True
        while more:
            page = self.client.get("/v1/journal", since=self._since, limit=_PAGE, **self._fields)
            self._seen.extend(request_row(line) for line in page["requests"])
            self._since, more = page["next_cursor"], page["more"]
        return reversed(self._seen)

    def _cursor(self) -> int:
        cursor: int = self.client.get("/v1/journal/cursor")["cursor"]
        return cursor


def request_row(line: dict[str, Any]) -> Row:
    names = line["topics"]
    shown = " ".join(names[:_TOPICS_SHOWN])
    if len(names) > _TOPICS_SHOWN:
        shown += f" +{len(names) - _TOPICS_SHOWN}"
    return (
        _seconds(line["arrived_ms"]),
        line["client_id"],
        f"{line['api']} v{line['version']}",
        shown,
        line["request_bytes"],
        line["response_bytes"],
        f"{line['waited_ms']:.0f} ms" if line["parked"] else "",
        line["cause"] if line["answered"] else "not answered",
        " ".join(
            [*map(_error, line["errors"]), *([f"by {line['fault']}"] if line["fault"] else [])]
        ),
    )


def _error(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.3f}"


class Apis(View):
    """How much of what is asked."""

    name = "apis"
    columns = ("api", "requests", "requests/s")

    def all_rows(self, wanted: Filter) -> Iterator[Row]:  # noqa: ARG002 -- words alone
        counts = requests_by_api(self.client.get("/v1/metrics")["metrics"])
        rates = self.rates.of(counts)
        for api in sorted(counts, key=lambda one: (-rates[one], -counts[one], one)):
            yield api, int(counts[api]), f"{rates[api]:.1f}"


class Clients(View):
    """Who is connected."""

    name = "clients"
    columns = (
        "client", "software", "principal", "listener", "tls", "broker", "requests", "requests/s",
    )  # fmt: skip

    def all_rows(self, wanted: Filter) -> Iterator[Row]:  # noqa: ARG002 -- words alone
        found = self.client.get("/v1/connections")["connections"]
        counts = {f"{one['broker']}/{one['connection']}": one["requests"] for one in found}
        rates = list(self.rates.of(counts).values())
        busiest = sorted(range(len(found)), key=lambda at: (-rates[at], at))
        for at in busiest:
            one = found[at]
            yield (
                one["client_id"],
                one["software"],
                one["principal"],
                one["listener"],
                one["tls_version"],
                one["broker"],
                one["requests"],
                f"{rates[at]:.1f}",
            )


class Topics(View):
    """What is stored."""

    name = "topics"
    columns = ("topic", "partitions", "replicas", "records", "records/s")

    def all_rows(self, wanted: Filter) -> Iterator[Row]:  # noqa: ARG002 -- words alone
        found = self.first("/v1/topics", "topics")
        rates = self.rates.of({one["name"]: one["records"] for one in found})
        for one in found:
            yield (
                one["name"],
                one["partitions"],
                one["replication_factor"],
                one["records"],
                f"{rates[one['name']]:.1f}",
            )


class Groups(View):
    """Who shares the reading, and how far behind it is."""

    name = "groups"
    columns = ("group", "type", "state", "generation", "protocol", "members", "lag")

    def all_rows(self, wanted: Filter) -> Iterator[Row]:  # noqa: ARG002 -- words alone
        for one in self.first("/v1/groups", "groups"):
            yield (
                one["group_id"],
                one["type"],
                one["state"],
                one["generation_id"],
                one["protocol"],
                one["members"],
                one["lag"],
            )


class Transactions(View):
    """Transactional ids, and what they write to."""

    name = "transactions"
    columns = ("transactional id", "state", "producer id", "epoch", "timeout ms", "partitions")

    def all_rows(self, wanted: Filter) -> Iterator[Row]:  # noqa: ARG002 -- words alone
        for one in self.first("/v1/transactions", "transactions"):
            partitions = [f"{each['topic']}-{each['partition']}" for each in one["partitions"]]
            yield (
                one["transactional_id"],
                one["state"],
                one["producer_id"],
                one["producer_epoch"],
                one["timeout_ms"],
                " ".join(partitions),
            )


class Faults(View):
    """Rules, and how often they fired."""

    name = "faults"
    columns = ("rule", "hits", "matched", "waiting", "exhausted", "what")

    def all_rows(self, wanted: Filter) -> Iterator[Row]:  # noqa: ARG002 -- words alone
        for one in self.first("/v1/faults", "faults"):
            yield (
                one["id"],
                one["hits"],
                one["matched"],
                one["waiting"],
                one["exhausted"],
                one["problem"] or " ".join(f"{k}={v}" for k, v in one["rule"].items()),
            )


VIEWS: Final[Sequence[type[View]]] = (
    Requests, Apis, Clients, Topics, Groups, Transactions, Faults,
)  # fmt: skip
"""In the order of their keys, 1 to 7."""
