"""Brokers that were started elsewhere."""

from __future__ import annotations

import pytest

from mockbroker import MockBroker


async def test_a_with_around_one_leaves_it_running() -> None:
    with MockBroker(admin_port=0) as broker:
        assert broker.admin_url
        with MockBroker.connect(broker.admin_url) as remote:
            remote.topic("orders").create(1)
        async with remote as same:
            assert await same.aio.topics() == ["orders"]
        assert broker.topics() == ["orders"]


async def test_a_scope_of_coroutines_ends_with_its_error() -> None:
    with MockBroker(admin_port=0) as broker:
        assert broker.admin_url
        awaited = MockBroker.connect(broker.admin_url).aio
        await awaited.topic("kept").create()

        async def fail() -> None:
            async with awaited.scope():
                await awaited.topic("inner").create()
                raise KeyError

        with pytest.raises(KeyError):
            await fail()
        assert await awaited.topics() == ["kept"]
