"""A shop of each test's own: its names begin with the test's prefix, wherever its broker runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from names import Names
from orders import Orders
from payments import Payments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTITIONS = 2


@pytest.fixture
def names(mockbroker: Any, mockbroker_prefix: str) -> Names:
    """The topics, made; the groups are made by their members."""
    shop = Names(mockbroker_prefix)
    for topic in (shop.orders, shop.payments, shop.shipments, shop.rejected):
        mockbroker.topic(topic).create(PARTITIONS)
    return shop


@pytest.fixture
def orders(mockbroker: Any, names: Names) -> Iterator[Orders]:
    """The service that takes orders."""
    service = Orders(mockbroker.bootstrap_servers, names)
    yield service
    service.close()


@pytest.fixture
def payments(mockbroker: Any, names: Names) -> Iterator[Callable[..., Payments]]:
    """Starts workers of the service that takes payment."""
    started: list[Payments] = []

    def start(**options: Any) -> Payments:
        started.append(Payments(mockbroker.bootstrap_servers, names, **options))
        return started[-1]

    yield start
    for service in started:
        service.close()
