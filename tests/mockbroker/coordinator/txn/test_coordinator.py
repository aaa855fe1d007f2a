"""The coordinator costs nothing until a transaction is asked for."""

from __future__ import annotations

import subprocess
import sys

from tests.support.core import Core
from tests.support.transactions import Transactional

PROGRAM = """
import sys
from random import Random
from mockbroker.cluster.cluster import Cluster
Cluster({}, {}, substream=Random, epoch_ms=0)
print([name for name in sys.modules if name.startswith("mockbroker.coordinator.txn.")])
"""


def test_a_broker_that_starts_has_imported_none_of_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=30
    )
    assert ran.stdout.strip() == "['mockbroker.coordinator.txn.coordinator']"


def test_each_part_is_made_once() -> None:
    transactions = Core().broker.services.transactions
    transactions.release_parked()
    assert transactions.service is transactions.service
    assert transactions.verifier is transactions.verifier
    assert transactions.marker_writer is transactions.marker_writer


def test_a_shutdown_has_nobody_to_answer_when_nobody_waits() -> None:
    core = Core(topics={"t": 1})
    Transactional.begin(core).write("t", 0, "a")
    core.broker.release_parked(core.now_ms)
