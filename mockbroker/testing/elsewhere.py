"""What brokers have in common that were started elsewhere: `remote` and `kafka` have one each."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from mockbroker.testing.aio import AsyncBroker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from mockbroker.testing.broker_views import BrokerViews

__tracebackhide__ = True


class Elsewhere:
    """A `with` around it does nothing: it was started elsewhere, and it goes on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """It goes on."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """It goes on."""


class AsyncElsewhere(AsyncBroker):
    """The verbs for coroutines: `awaited` are the views of `blocking` over a bridge that awaits."""

    def __init__(self, blocking: BrokerViews, awaited: BrokerViews) -> None:
        self._blocking = blocking
        self._view = awaited

    @asynccontextmanager
    async def scope(self) -> AsyncIterator[Self]:
        """Take away at the end of an `async with` what was made inside."""
        scope = self._blocking.scope()
        await asyncio.to_thread(scope.__enter__)
        try:
            yield self
        except BaseException:
            await asyncio.to_thread(scope.__exit__, *sys.exc_info())
            raise
        await asyncio.to_thread(scope.__exit__, None, None, None)
