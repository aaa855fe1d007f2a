"""A cluster of three with an admin port, and the client of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.testing.remote.broker import RemoteBroker


@pytest.fixture(scope="module")
def served() -> Iterator[MockBroker]:
    with MockBroker(brokers=3, topics={"orders": 2}, admin_port=0) as broker:
        yield broker


@pytest.fixture
def broker(served: MockBroker) -> MockBroker:
    """The broker itself."""
    served.reset()
    return served


@pytest.fixture
def remote(broker: MockBroker) -> RemoteBroker:
    """The same over its admin API."""
    assert broker.admin_url
    return MockBroker.connect(broker.admin_url)
