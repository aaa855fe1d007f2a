"""The HTTP server of the admin API, in the broker's own loop. Imported by `listener` when needed.

All operations run in that loop between two steps of the broker, so none needs a lock.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from email.utils import formatdate
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

import uvicorn

from mockbroker.admin.application import make_application
from mockbroker.admin.bodies import BoundedBodies
from mockbroker.admin.connection import Config
from mockbroker.admin.limits import BACKLOG, MAX_HEAD_BYTES, Limits
from mockbroker.admin.security import Guard
from mockbroker.journal import ConnectionRefused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ssl import SSLContext

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mockbroker.admin.events import EventHub
    from mockbroker.admin.host import Host

GRACE_SECONDS: Final = 1
LISTENER: Final = "ADMIN"
"""What the journal calls the admin port."""


class Timed:
    """An ASGI application around another: each answer tells what it cost the broker.

    The processor time of the loop's thread from the request to the answer, in ms, and how long that
    took, as `Server-Timing: cpu;dur=1.25, total;dur=1.31`. Who asks again and again paces itself by
    both: where other processes keep the broker from the processor, it has less to spare.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        began, came = thread_time(), perf_counter()

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                cpu_ms, total_ms = (thread_time() - began) * 1000, (perf_counter() - came) * 1000
                taken = f"cpu;dur={cpu_ms:.2f}, total;dur={total_ms:.2f}"
                headers = [
                    *message["headers"],
                    (b"date", formatdate(usegmt=True).encode()),
                    (b"server-timing", taken.encode()),
                ]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, tell)


class AdminServer(uvicorn.Server):
    """A server that leaves the process's signals to the process, and rests while nobody asks."""

    def __init__(self, config: uvicorn.Config, hub: EventHub) -> None:
        super().__init__(config)
        self._hub = hub
        self._ended = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The broker's own handlers stay."""
        yield

    async def main_loop(self) -> None:
        """Wait for the end; uvicorn looks for it ten times a second, and at the date."""
        await self._ended.wait()

    def end(self) -> None:
        """Let `serve` return: streams end, requests under way are answered."""
        self._hub.close()
        self.should_exit = True
        self._ended.set()


def make_server(
    host: Host, address: str, token: str | None, limits: Limits, tls: SSLContext | None
) -> AdminServer:
    """The server for one broker; `serve(sockets=[…])` runs it."""
    app, hub = make_application(host)

    def refused(peer: str, reason: str) -> None:
        host.cluster.journal.record(ConnectionRefused(peer, LISTENER, reason))

    config = Config(
        Timed(Guard(BoundedBodies(app, limits), address, token)),
        limits=limits,
        refused=refused,
        tls=tls,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return AdminServer(config, hub)
