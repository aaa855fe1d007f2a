"""A run is carried out and told of, whatever it simulates."""

from __future__ import annotations

import gc
from random import Random
from typing import TYPE_CHECKING

import pytest

from simulation.faults import NetworkFaults
from simulation.runner import carry_out
from simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable


class Once:
    """Does one thing in a world."""

    plan = "a plan"

    def __init__(self, act: Callable[[World], None]) -> None:
        self.seed = 7
        self.command = "run"
        self.world = World({}, {}, substream=Random, faults=NetworkFaults())
        self._act = act
        self.saw_gc = True

    def live(self) -> None:
        self.saw_gc = gc.isenabled()
        self._act(self.world)

    def counts(self) -> dict[str, int]:
        return {"acts": 1}


def test_a_run_that_keeps_the_rules_has_not_failed() -> None:
    run = Once(lambda world: world.note("actor", "acts"))
    report = carry_out(run)
    assert not report.failed
    assert report.counts == {"acts": 1}
    assert report.trace_hash.startswith("1-")
    assert not run.saw_gc
    assert gc.isenabled()


def test_a_broken_rule_is_told_with_the_plan_and_the_way_back() -> None:
    report = carry_out(Once(lambda world: world.violate("broken")))
    assert report.failed
    lines = report.explain().splitlines()
    assert lines[0] == "seed 7: a plan"
    assert lines[-3:] == ["1 violations:", "  0.000 ms: broken", "run it again: run --seed 7"]


def test_what_a_run_raises_has_the_report_with_it() -> None:
    def fall(_world: World) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        carry_out(Once(fall))
    assert "run --seed 7" in raised.value.__notes__[0]
    assert gc.isenabled()
