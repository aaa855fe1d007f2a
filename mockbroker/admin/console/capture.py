"""What the console would ask the admin API, asked once: the answers of a report.

`get` gives the answer of a path; `in_process` makes one of a broker beside it, without a port. The
journal is whole; of the rest a test's worth is taken, as the limits here say.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from mockbroker.admin.host import Host

MAX_REQUESTS: Final = 1000
"""Of which each field is told; the last ones."""
MAX_NAMES: Final = 100
"""Topics, groups, transactional ids and sessions that are told in full."""
MAX_PARTITIONS: Final = 20
"""Of a topic: those with their records and replicas."""
MAX_RECORDS: Final = 100
_ONCE: Final = (
    "/v1/cluster", "/v1/protocol", "/v1/connections", "/v1/journal/events", "/v1/waits",
    "/v1/fetch-sessions", "/v1/links", "/v1/clock", "/v1/snapshots", "/v1/configs",
)  # fmt: skip
_PAGE: Final = 1000


class Capture:
    """The answers so far, by the path that the console asks for; `?name=value` is not encoded."""

    def __init__(self, get: Callable[[str], Awaitable[Any]]) -> None:
        self._get = get
        self.answers: dict[str, Any] = {}

    async def run(self, since: int) -> dict[str, Any]:
        """Ask everything; of the journal what came after a cursor."""
        for path in _ONCE:
            await self._take(path)
        await self._rows(since)
        await self._topics()
        for field, path in (("groups", "/v1/groups"), ("transactions", "/v1/transactions")):
            await self._list(path, field)
        await self._list("/v1/faults", "faults")
        await self._subjects("group", "/v1/groups", "groups", "group_id", since)
        ids = "transactional_id"
        await self._subjects(ids, "/v1/transactions", "transactions", ids, since)
        for session in self.answers["/v1/fetch-sessions"]["sessions"][:MAX_NAMES]:
            await self._take(f"/v1/fetch-sessions/{session['broker']}/{session['session_id']}")
        return self.answers

    async def _take(self, path: str, key: str | None = None) -> Any:  # noqa: ANN401 -- any JSON
        found = await self._get(path)
        if found is not None:
            self.answers[key or path] = found
        return found

    async def _list(self, path: str, field: str, **query: str) -> None:
        """All pages of a list, as one answer."""
        items: list[Any] = []
        cursor: str | None = None
        while True:
            asked = {**query, "limit": str(_PAGE), **({"cursor": cursor} if cursor else {})}
            page = await self._get(f"{path}?{urlencode(asked)}")
            items += page[field]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        self.answers["?".join((path, *(f"{k}={v}" for k, v in query.items())))] = {
            field: items, "next_cursor": None
        }  # fmt: skip

    async def _rows(self, since: int) -> None:
        rows: list[Any] = []
        while True:
            page = await self._get(f"/v1/journal/rows?since={since}&limit={_PAGE}&budget_ms=1000")
            rows += page["rows"]
            since = page["next_cursor"]
            if not page["more"]:
                break
        self.answers["/v1/journal/rows"] = {**page, "rows": rows}
        for row in rows[-MAX_REQUESTS:]:
            await self._take(f"/v1/journal/requests/{row['number']}")

    async def _topics(self) -> None:
        await self._list("/v1/topics", "topics")
        await self._list("/v1/topics", "topics", internal="true")
        for topic in self.answers["/v1/topics"]["topics"][:MAX_NAMES]:
            name = segment(topic["name"])
            details = await self._take(f"/v1/topics/{name}")
            for one in (details or {}).get("partition_list", ())[:MAX_PARTITIONS]:
                index = one["partition"]
                await self._take(f"/v1/replicas/{name}/{index}")
                start = max(
                    one["log_start_offset"] or 0, (one["high_watermark"] or 0) - MAX_RECORDS
                )
                await self._take(
                    f"/v1/topics/{name}/records?partition={index}&offset={start}&only=true",
                    f"/v1/topics/{name}/records?partition={index}",
                )

    async def _subjects(self, filter_: str, path: str, field: str, id_: str, since: int) -> None:
        for one in self.answers[path][field][:MAX_NAMES]:
            name = one[id_]
            await self._take(f"{path}/{segment(name)}")
            asked = urlencode({filter_: name, "since": since, "limit": _PAGE})
            await self._take(f"/v1/journal?{asked}", f"/v1/journal?{filter_}={name}")


def segment(name: str) -> str:
    """A name in a path as JavaScript's encodeURIComponent has it."""
    return quote(name, safe="!'()*")


async def captured(
    get: Callable[[str], Awaitable[Any]], since: int, facts: Mapping[str, object]
) -> dict[str, Any]:
    """What `page.whole_page` takes; `facts` are `test`, `failure` and `sections`."""
    return {"facts": facts, "answers": await Capture(get).run(since)}


def in_process(host: Host) -> Callable[[str], Awaitable[Any]]:
    """Ask the admin API of a broker in whose loop this runs, without a connection."""
    from mockbroker.admin.application import make_application

    app, _ = make_application(host)

    async def get(path: str) -> Any:  # noqa: ANN401 -- any JSON
        plain, _, query = path.partition("?")
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:  # noqa: ANN401 -- ASGI's
            sent.append(message)

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": _unquoted(plain), "raw_path": plain.encode(),
            "query_string": query.encode(), "root_path": "", "headers": [(b"host", b"localhost")],
            "client": None, "server": None,
        }  # fmt: skip
        await app(scope, receive, send)
        if sent[0]["status"] != 200:
            return None
        return json.loads(_body(sent))

    return get


def _unquoted(path: str) -> str:
    from urllib.parse import unquote

    return unquote(path)


def _body(sent: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(message.get("body", b"") for message in sent)
