"""One broker for all tests of this folder; the Spark session is that of tests/conftest.py."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("spark"):
            # What PySpark and Py4J leave to the garbage collector is not ours to close.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )
            item.add_marker(pytest.mark.timeout(400))


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    """Records keep, however old their timestamps are."""
    with MockBroker(auto_create=False, config={"log.retention.ms": -1}) as running:
        yield running


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"orders-{uuid.uuid4().hex[:12]}"
