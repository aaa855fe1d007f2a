"""One HTTP connection of the admin port, which is never held for a client that does nothing.

`server` has uvicorn make one for each socket. uvicorn ends a connection that is idle between two
requests; here ends one whose request does not arrive, or whose answer is not taken, in
`Limits.timeout_ms`, and one more than the limit, or than there are files for, is sent away. uvicorn
stops reading where a client sends on before it is answered, and would not see it go; here reading
goes on, for an answer may be a stream that never ends.

Invariants: a timer runs exactly while a request is arriving, or too much is behind the one that is
being answered, another while bytes wait to be taken; a connection that is sent away is unknown to
uvicorn.
"""

from __future__ import annotations

import asyncio
import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mockbroker.admin.limits import MAX_HEAD_BYTES, MIN_TAKEN_BYTES, Limits
from mockbroker.network.open_files import SPARE, leaves_too_few

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from starlette.types import ASGIApp
    from uvicorn.server import ServerState

_LOGGER: Final = logging.getLogger("mockbroker.admin")
"""In uvicorn's logger's place, which has a line for each request that is no HTTP."""
_LOGGER.setLevel(logging.ERROR)


class Config(uvicorn.Config):
    """What uvicorn hands to each connection: also its limits, and whom to tell of a refusal."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        refused: Callable[[str, str], None],
        tls: SSLContext | None = None,
        **kwargs: Any,  # noqa: ANN401 -- uvicorn's
    ) -> None:
        super().__init__(app, http=Connection, **kwargs)
        self.limits = limits
        self.refused = refused
        self._tls = tls

    def load(self) -> None:
        """Called by uvicorn before it listens; it would read a certificate from files alone."""
        super().load()
        self.ssl = self._tls


class Connection(H11Protocol):
    """uvicorn's, with limits."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(config, Config)
        self.logger = _LOGGER
        self._limits = config.limits
        self._refused = config.refused
        self._arriving: asyncio.TimerHandle | None = None
        self._unsent: asyncio.TimerHandle | None = None
        self._unsent_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected."""
        reason = None
        if leaves_too_few(transport, SPARE // 2):
            reason = "open files: there are too few left"
        elif len(self.connections) >= self._limits.connections:
            reason = f"admin-max-connections: {self._limits.connections}"
        if reason is not None:
            peer = transport.get_extra_info("peername") or ("unknown",)
            self._refused(f"/{peer[0]}", reason)
            transport.set_protocol(asyncio.Protocol())
            transport.write(_answer(503, f"{reason}; try again"))
            transport.close()
            return
        super().connection_made(transport)
        # Not 0: with TLS an empty buffer would be one that is full, for ever.
        transport.set_write_buffer_limits(high=1, low=0)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._stop(self._arriving)
        self._stop(self._unsent)
        super().connection_lost(exc)

    # -- a request arrives -------------------------------------------------------------------

    def handle_events(self) -> None:
        """Work on what has arrived; called by uvicorn, also when an answer is complete."""
        super().handle_events()
        state, more = self.conn.their_state, len(self.conn.trailing_data[0])
        if self._is_answering():
            waits = more > MAX_HEAD_BYTES
            if not waits:
                self.flow.resume_reading()
        else:
            waits = state is h11.SEND_BODY or (state is h11.IDLE and more > 0)
        if not waits:
            self._stop(self._arriving)
            self._arriving = None
        elif self._arriving is None:
            self._await_request()

    def _is_answering(self) -> bool:
        """Whether a request has arrived whole, and its answer is not complete."""
        cycle = self.cycle  # uvicorn's types do not say that it may be None
        return bool(cycle) and not cycle.more_body and not cycle.response_complete

    def _await_request(self) -> None:
        seconds = self._limits.timeout_ms / 1000
        self._arriving = self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        """The rest of a request does not come: say so, unless it has been answered before."""
        self._arriving = None
        cycle = self.cycle
        if self.conn.their_state is not h11.IDLE and cycle.response_started:
            self.transport.abort()
            return
        took = self._limits.timeout_ms
        self.transport.write(_answer(408, f"no whole request in admin-timeout-ms: {took}"))
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP."""
        self.transport.write(_answer(400, msg))
        self.transport.close()

    # -- an answer is taken --------------------------------------------------------------------

    def pause_writing(self) -> None:
        """The socket takes no more for now."""
        super().pause_writing()
        self._await_taken()

    def resume_writing(self) -> None:
        """All that was written has been taken."""
        super().resume_writing()
        self._stop(self._unsent)

    def _await_taken(self) -> None:
        self._unsent_bytes = self.transport.get_write_buffer_size()
        self._unsent = self.loop.call_later(self._limits.timeout_ms / 1000, self._not_taken)

    def _not_taken(self) -> None:
        if self.transport.get_write_buffer_size() > self._unsent_bytes - MIN_TAKEN_BYTES:
            self.transport.abort()
        else:
            self._await_taken()

    def _stop(self, timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


def _answer(status: int, detail: str) -> bytes:
    """A problem, where there is no application to tell it."""
    title = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    body = json.dumps(problem).encode()
    head = (
        f"HTTP/1.1 {status} {title}\r\nContent-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
