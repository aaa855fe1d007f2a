"""The stage keeps time, tells what a journal says is wrong, and stops when too much is."""

from __future__ import annotations

from mockbroker.journal import HandlerFailed, RequestRefused
from simulation.stage import ENOUGH_VIOLATIONS
from tests.support.simulated import Simulated


def test_a_failed_handler_and_a_refused_request_are_violations() -> None:
    world = Simulated().world
    world.hear(HandlerFailed(1, "peer", "", "Metadata", 12, ValueError()))
    world.hear(RequestRefused(1, "peer", "", 3, "Metadata", 99, "no"))
    assert [text.split(": ")[1].split()[0] for text in world.violations] == ["Metadata"] * 2


def test_a_hopeless_run_stops_where_it_is() -> None:
    world = Simulated().world
    ran: list[bool] = []
    for _ in range(ENOUGH_VIOLATIONS + 1):
        world.violate("on purpose")
    world.at(1, lambda: ran.append(True))
    world.run_for(10)
    assert not ran
    assert world.now_ms == 10
