"""confluent-kafka reads from its rack's follower."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.clients.failover.racks import check_rack

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


def test_a_consumer_reads_from_its_rack(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.clients.failover.python_program", "confluent-kafka"]
    check_rack(lambda bootstrap, rack: [*program, bootstrap, "classic", rack], tmp_path)
