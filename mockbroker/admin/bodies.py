"""The bodies of requests: read whole before the application sees them, and refused if unfit.

`server` puts it around the application, inside of the guard. A body is refused while it arrives:
nothing that is too large is ever held. What JSON costs to read is what it has of values, and a
reader in C lets nobody else run, so they are counted before.

Invariant: `held_bytes` are those of the requests that are under way.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from mockbroker.admin.limits import MAX_ELEMENTS
from mockbroker.state.snapshot_file import MAX_INDEX_BYTES, MAX_LOG_BYTES

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mockbroker.admin.limits import Limits

_FILE_PATH: Final = "/v1/snapshot-file/restore"
MAX_FILE_BYTES: Final = MAX_LOG_BYTES + MAX_INDEX_BYTES
"""Of a snapshot's file, and of all bodies that are held at a time."""
_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""How JSON writes one half of a character beyond 16 bits, alone or beside its other half."""

Refusal = tuple[int, str]


class BoundedBodies:
    """An ASGI application around another: answers 413, 422 or 503, or hands the body on whole."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self.held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        body = bytearray()
        try:
            refusal = await self._read(scope, receive, body)
            if refusal is None:
                await self._app(scope, _replay(bytes(body), receive), send)
            elif refusal[0]:
                from mockbroker.admin.problems import problem_response

                await problem_response(*refusal)(scope, receive, send)
        finally:
            self.held_bytes -= len(body)

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> Refusal | None:
        """Fill `body`; why it is refused, with status 0 when the client has gone."""
        is_file = scope["path"] == _FILE_PATH
        most = MAX_FILE_BYTES if is_file else self._limits.request_bytes
        if _declared_bytes(scope) > most:
            return 413, _too_large(most)
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return 0, "gone"
            chunk = message.get("body", b"")
            body += chunk
            self.held_bytes += len(chunk)
            if len(body) > most:
                return 413, _too_large(most)
            if self.held_bytes > MAX_FILE_BYTES:
                return 503, "the requests under way are too large together; try again"
            if not message.get("more_body", False):
                return None if is_file else unfit(bytes(body))


def unfit(body: bytes) -> Refusal | None:
    """Why JSON is refused before it is read; None if it may be read."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return 422, f"body: it is not UTF-8 at byte {error.start}"
    if "\0" in text:
        return 422, "body: it has a byte 0, so it is not JSON in UTF-8"
    if _elements(body) > MAX_ELEMENTS and _elements(_STRINGS.sub(b"", body)) > MAX_ELEMENTS:
        return 413, f"body: more than {MAX_ELEMENTS} values; send them in parts"
    if _HALF.search(body):
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return 422, "body: a text has half of a surrogate pair, which is no character"
        except (ValueError, RecursionError):
            pass  # the application says what is wrong with it
    return None


def _elements(body: bytes) -> int:
    """At least how many values it has, more if its texts have commas or brackets."""
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def _declared_bytes(scope: Scope) -> int:
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


def _too_large(most: int) -> str:
    return f"the body is too large; allowed: {most} bytes"


def _replay(body: bytes, receive: Receive) -> Receive:
    """What an application asks that is told the body in one message, and then what comes."""
    told = False

    async def next_message() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
