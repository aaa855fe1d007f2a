"""Java's clients while brokers die, coordinators move and logs are cut: nothing else is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.failover.ledger import GROUP, KEYS, PAUSE_S, TOPIC, WINDOW
from tests.clients.failover.program import play
from tests.clients.failover.racks import check_rack
from tests.clients.failover.scenarios import SCENARIOS, Run, coordinator_moved
from tests.clients.java import jvm as java

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

CASES = [
    *(("classic", scenario) for scenario in SCENARIOS),
    ("consumer", coordinator_moved),
]
LOAD = [str(each) for each in (KEYS, WINDOW, int(PAUSE_S * 1000))]


@pytest.mark.parametrize(
    ("protocol", "scenario"),
    CASES,
    ids=[f"{case[0]}-{case[1].__name__}" for case in CASES],
)
def test_what_a_client_was_told_is_what_the_logs_hold(
    protocol: str, scenario: Callable[[Run], None]
) -> None:
    play(
        scenario,
        lambda bootstrap: java.command("Failover", bootstrap, TOPIC, GROUP, protocol, *LOAD),
    )


def test_a_consumer_reads_from_its_rack(tmp_path: Path) -> None:
    check_rack(
        lambda bootstrap, rack: java.command(
            "Failover", bootstrap, TOPIC, GROUP, "classic", *LOAD, rack
        ),
        tmp_path,
    )
