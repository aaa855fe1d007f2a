"""A broker with the extension, and connections to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.sharing import Links, sharing_broker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mockbroker import MockBroker


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    """Topic t has one partition and 30 records, their keys in turn."""
    with sharing_broker() as running:
        yield running


@pytest.fixture
async def links() -> AsyncIterator[Links]:
    """What is made of them is closed at the end."""
    made = Links()
    yield made
    await made.close()
