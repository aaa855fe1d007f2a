"""franz-go while brokers die, coordinators move and logs are cut: nothing else is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.failover.ledger import GROUP, KEYS, PAUSE_S, TOPIC, WINDOW
from tests.clients.failover.program import play
from tests.clients.failover.racks import check_rack
from tests.clients.failover.scenarios import SCENARIOS, Run, coordinator_moved

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.go, pytest.mark.timeout(240)]

PROGRAM = Path(__file__).resolve().parents[3] / ".tools" / "go-clients" / "franz"
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
        lambda bootstrap: [
            *(str(PROGRAM), "failover", bootstrap, TOPIC, protocol),
            *(GROUP, *LOAD, ""),
        ],
        # With the consumer protocol a heartbeat whose connection is refused is only repeated.
        leaves_dead_coordinator=protocol == "classic",
    )


def test_a_consumer_reads_from_its_rack(tmp_path: Path) -> None:
    check_rack(
        lambda bootstrap, rack: [
            *(str(PROGRAM), "failover", bootstrap, TOPIC, "classic"),
            *(GROUP, *LOAD, rack),
        ],
        tmp_path,
    )
