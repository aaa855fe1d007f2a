"""Fixtures that are coroutines, for aiokafka. Loaded by `plugin` where pytest-asyncio is."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mockbroker.testing.pytest_plugin.clients import Clients


@pytest_asyncio.fixture
async def aiokafka_producer(mockbroker_clients: Clients) -> AsyncIterator[Any]:
    """A producer of aiokafka, started."""
    async with mockbroker_clients.aiokafka_producer() as producer:
        yield producer


@pytest_asyncio.fixture
async def aiokafka_consumer(
    mockbroker_clients: Clients,
) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Start consumers with their partitions, as `kafka_consumer` does."""
    async with AsyncExitStack() as stack:

        async def start(*topics: str, group_id: str | None = None, **config: Any) -> Any:
            consumer = mockbroker_clients.aiokafka_consumer(*topics, group_id=group_id, **config)
            return await stack.enter_async_context(consumer)

        yield start


@pytest_asyncio.fixture
async def aiokafka_admin(mockbroker_clients: Clients) -> AsyncIterator[Any]:
    """An admin client of aiokafka, started."""
    async with mockbroker_clients.aiokafka_admin() as admin:
        yield admin
