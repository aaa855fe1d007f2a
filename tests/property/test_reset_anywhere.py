"""A reset ends as started, in whatever state the simulation has a cluster, and under its load."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.state.partitions import leading_partition
from mockbroker.state.scope import Scopes
from mockbroker.state.writing import NewRecord, create_topic, put
from simulation.cluster.simulation import ClusterRun
from simulation.simulation import Run
from tests.support.core_state import differences, dump

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(12)
SETTLED_MS = 1000.0
MORE = [NewRecord(b"y")]


class StillTime:
    """The simulation's time, which only the simulation moves."""

    def mark(self) -> None: ...

    def back_to(self, mark: None, /) -> None: ...


def check(run: Run | ClusterRun, begin: Callable[[], None], active_ms: float) -> None:
    """Let it live for a while, reset it twice in one step, and work with it."""
    world, cluster = run.world, run.world.cluster
    create_topic(cluster, "declared", 1)
    world.run_for(SETTLED_MS)
    world.operate(lambda: put(cluster, "declared", [NewRecord(b"x")]))
    world.run_for(SETTLED_MS)
    assert cluster.faults.list() == [], "there before the first look, as their numbers are"
    scopes, before = Scopes(cluster, StillTime()), dump(cluster)
    begin()
    world.run_for(Random(run.seed).uniform(0.05, 1.0) * active_ms)

    world.operate(
        lambda: leading_partition(cluster, "declared", 0) and put(cluster, "declared", MORE)
    )

    def reset_twice() -> None:
        scopes.reset()
        scopes.reset()

    world.operate(reset_twice)
    found = list(differences(before, dump(cluster)))
    assert not found, "\n".join(found)
    world.operate(lambda: create_topic(cluster, "after", 2))
    world.operate(lambda: put(cluster, "after", [NewRecord(b"x")]))


@pytest.mark.parametrize("seed", SEEDS)
def test_one_broker(seed: int) -> None:
    run = Run(seed)

    def begin() -> None:
        run.create_topics()
        run._live(first=True)

    check(run, begin, 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_several_brokers(seed: int) -> None:
    run = ClusterRun(seed)

    def begin() -> None:
        run._create_topics()
        run.operator.start()
        for crew in run.crews:
            crew.start()

    check(run, begin, run.plan.active_ms)
