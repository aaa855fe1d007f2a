"""One broker and its event loop in a daemon thread of its own. Called by `mock_broker`.

Invariant: after `stop`, or a failed `start`, neither the thread nor its loop is left.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from mockbroker.server.launch import RunningBroker, launch, new_event_loop

if TYPE_CHECKING:
    from mockbroker.server.settings import Settings

__tracebackhide__ = True

START_TIMEOUT_SECONDS = 10.0


class BrokerThread:
    """Starts the broker that `settings` describe, and ends it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop = new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._running: RunningBroker | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="mockbroker", daemon=True)

    def start(self) -> RunningBroker:
        """Wait until clients may connect. Raises what the start raised, or TimeoutError."""
        self._thread.start()
        try:
            in_time = self._ready.wait(START_TIMEOUT_SECONDS)
        except BaseException:
            self._loop.call_soon_threadsafe(self._end.set)
            raise
        if not in_time:
            self._loop.call_soon_threadsafe(self._end.set)
            message = f"the broker did not start within {START_TIMEOUT_SECONDS} s"
            raise TimeoutError(message)
        if self._error is not None:
            self._thread.join()
            raise self._error
        assert self._running is not None
        return self._running

    def stop(self) -> None:
        """End the broker, and wait until all of it is gone, unless this is its own thread."""
        self._loop.call_soon_threadsafe(self._end.set)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        try:
            self._running = await launch(self._settings)
        except BaseException as error:  # noqa: BLE001 -- raised again in the caller's thread
            self._error = error
            return
        finally:
            self._ready.set()
        await self._end.wait()
        await self._running.stop()
