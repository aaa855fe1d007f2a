"""Who may use the admin API: the token, and which pages of a browser may write.

`listener` asks `needs_token`; `Guard` wraps the whole application. A loopback port needs no token,
but a web page that a tester has open could reach it too, so three things are refused there and
everywhere: a Host that is not ours (DNS rebinding), what a browser sends for a page of another
origin, and a write whose body is not JSON (a plain form needs no permission to be sent). The files
of the console hold nothing of the broker and need no token: the page asks for it.
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

_OPEN_PATHS: Final = ("/health/live", "/health/ready")
_CONSOLE_PATHS: Final = ("/", "/console/")
_SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
_LOCAL_NAMES: Final = ("localhost", "testserver")


def needs_token(address: str) -> bool:
    """Whether a listening address can be reached from other machines."""
    try:
        return not ip_address(address).is_loopback
    except ValueError:
        return address != "localhost"


class Guard:
    """An ASGI application around another, which lets pass what may pass."""

    def __init__(self, app: ASGIApp, address: str, token: str | None) -> None:
        self._app = app
        self._local_only = not needs_token(address)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, 403 or 415, or hand the request on."""
        if scope["type"] == "http":
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in scope["headers"]
            }
            refusal = self._refusal(scope["method"], scope["path"], headers)
            if refusal is not None:
                from mockbroker.admin.problems import problem_response

                status, detail = refusal
                await problem_response(status, detail)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(
        self, method: str, path: str, headers: Mapping[str, str]
    ) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self._local_only and not _is_local(host):
            return 403, f"Host {host!r} is not this machine's"
        if path in _OPEN_PATHS:
            return None
        reads = method in _SAFE_METHODS
        if reads and (path == _CONSOLE_PATHS[0] or path.startswith(_CONSOLE_PATHS[1])):
            return None
        if self._token is not None and not _bears(headers.get("authorization", ""), self._token):
            return 401, "the header Authorization: Bearer TOKEN is missing or wrong"
        if _of_another_page(headers, host) and not (reads and _is_visit(headers)):
            return 403, "a page of another origin may not use it"
        if reads:
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        if has_body and kind not in ("application/json", "application/octet-stream"):
            return 415, f"Content-Type {kind!r} is not application/json"
        return None


def _of_another_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether a browser says that a page sent this which did not come from here."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        return True
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _is_visit(headers: Mapping[str, str]) -> bool:
    """Whether somebody followed a link: what is shown then the page before cannot read."""
    mode, shown = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return (mode, shown) == ("navigate", "document")


def _is_local(host: str) -> bool:
    """Whether a Host header names this machine; the port does not matter."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    name = name.strip("[]")
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name in _LOCAL_NAMES


def _bears(authorization: str, token: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        given.strip().encode("latin-1", "replace"), token.encode()
    )
