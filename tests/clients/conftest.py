"""The broker that the clients of this tier connect to: a server process, or one that runs.

MOCKBROKER_TEST_BOOTSTRAP=HOST:PORT points the tier at a broker that is there already, such as an
Apache Kafka: what a client test demands must hold there too.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.clients.server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap address of a broker in a process of its own."""
    running = os.environ.get("MOCKBROKER_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    with serving(tmp_path_factory.mktemp("server")) as bootstrap:
        yield bootstrap


@pytest.fixture
def topic() -> str:
    """A name that no other test uses, in this run or another against the same broker."""
    return f"orders-{uuid.uuid4().hex[:12]}"
