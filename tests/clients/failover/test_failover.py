"""Python's clients while brokers die, coordinators move and logs are cut: nothing else is lost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.clients.failover.program import play
from tests.clients.failover.scenarios import SCENARIOS, coordinator_moved

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.failover.scenarios import Run

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

LIBRARIES = ("confluent-kafka", "kafka-python", "aiokafka")
CASES = [
    *((library, "classic", scenario) for library in LIBRARIES for scenario in SCENARIOS),
    ("confluent-kafka", "consumer", coordinator_moved),
]


@pytest.mark.parametrize(
    ("library", "protocol", "scenario"),
    CASES,
    ids=[f"{library}-{protocol}-{scenario.__name__}" for library, protocol, scenario in CASES],
)
def test_what_a_client_was_told_is_what_the_logs_hold(
    library: str, protocol: str, scenario: Callable[[Run], None]
) -> None:
    program = [sys.executable, "-m", "tests.clients.failover.python_program", library]
    play(
        scenario,
        lambda bootstrap: [*program, bootstrap, protocol],
        # aiokafka does not look where logs part (KIP-320).
        resumes_at_divergence=library != "aiokafka",
        outlives_truncation=False,
    )
