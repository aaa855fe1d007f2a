"""HTTP to a broker's admin API, with the standard library alone.

The commands of `cli` and the remote views of `testing` call it. Safe from several threads: each
request has a connection of its own.
"""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ssl import SSLContext

DEFAULT_URL: Final = "http://127.0.0.1:9644"
ANSWER_SECONDS: Final = 60.0
"""How long an answer may take; on a busy machine the first one waits for imports."""
_PAGE: Final = 1000


class AdminApiError(Exception):
    """What the admin API refused, or why it cannot be reached, in one line.

    `status` is that of HTTP, 0 when there was no answer; `field` is the part of the request that it
    is about, where there is one.
    """

    def __init__(self, message: str, status: int = 0, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.field = field


class AdminClient:
    """The admin API at `url`. `token` is its bearer token, or None.

    `tls` says whom to trust where it is HTTPS; without it those of this machine (SSL_CERT_FILE).
    """

    def __init__(self, url: str, token: str | None, tls: SSLContext | None = None) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = None
        if parts.scheme not in ("http", "https") or not parts.hostname or port is None:
            message = f"--admin: {url!r} is no address; allowed: http://HOST:PORT"
            raise AdminApiError(message)
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._secure = parts.scheme == "https"
        self._address = parts.hostname, port
        self._token = token
        self._tls = tls

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 -- whatever JSON it is
        """What is at `path`; a query's None is left out."""
        given = {key: _text(value) for key, value in query.items() if value is not None}
        return self.send("GET", f"{path}?{urlencode(given)}" if given else path)

    def pages(self, path: str, field: str, **query: object) -> Iterator[Any]:
        """Every item of a list that comes in pages."""
        cursor: object = None
        while True:
            page = self.get(path, cursor=cursor, limit=_PAGE, **query)
            yield from page[field]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def find(self, path: str) -> Any:  # noqa: ANN401 -- as above
        """What is at `path`; None when there is no such thing."""
        try:
            return self.send("GET", path)
        except AdminApiError as error:
            if error.status == http.client.NOT_FOUND:
                return None
            raise

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | bytes | None = None,
        *,
        wait_seconds: float = 0.0,
    ) -> Any:  # noqa: ANN401 -- as above
        """Send one request; its answer as plain data, None without one."""
        data = self.exchange(method, path, body, wait_seconds=wait_seconds)
        return json.loads(data) if data else None

    def exchange(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | bytes | None = None,
        *,
        wait_seconds: float = 0.0,
    ) -> bytes:
        """Send one request, with a body of JSON or of bytes; the bytes of its answer."""
        connection = self._connect(ANSWER_SECONDS + wait_seconds)
        try:
            connection.request(method, path, *self._content(body))
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise AdminApiError(self._unreachable(error)) from None
        finally:
            connection.close()
        if answer.status >= http.client.BAD_REQUEST:
            raise _problem(answer.status, data)
        return data

    def stream(self, path: str, **query: object) -> Iterator[tuple[str, Any]]:
        """Server-sent events as (event, data), until the broker ends."""
        given = {key: _text(value) for key, value in query.items() if value is not None}
        connection = self._connect(None)
        try:
            connection.request("GET", f"{path}?{urlencode(given)}", *self._content(None))
            answer = connection.getresponse()
            if answer.status >= http.client.BAD_REQUEST:
                raise _problem(answer.status, answer.read())
            event = ""
            for line in answer:
                name, _, value = line.decode().rstrip("\r\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "data":
                    yield event, json.loads(value)
        except (OSError, http.client.HTTPException) as error:
            raise AdminApiError(self._unreachable(error)) from None
        finally:
            connection.close()

    def _connect(self, timeout_seconds: float | None) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(
                *self._address, timeout=timeout_seconds, context=self._tls
            )
        return http.client.HTTPConnection(*self._address, timeout=timeout_seconds)

    def _content(
        self, body: Mapping[str, object] | bytes | None
    ) -> tuple[bytes | None, dict[str, str]]:
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is None:
            return None, headers
        if isinstance(body, bytes):
            headers["Content-Type"] = "application/octet-stream"
            return body, headers
        headers["Content-Type"] = "application/json"
        return json.dumps(body).encode(), headers

    def _unreachable(self, error: Exception) -> str:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return (
            f"--admin: {self.url} does not answer: {reason};"
            " is the broker running with --admin-port?"
        )


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _problem(status: int, data: bytes) -> AdminApiError:
    try:
        problem = json.loads(data)
        return AdminApiError(problem["detail"], status, problem.get("field"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return AdminApiError(f"the admin API answered {status}", status)
