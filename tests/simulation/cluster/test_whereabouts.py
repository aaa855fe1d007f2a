"""Coordinators stay where they are when the topic of offsets grows; one that moves is noticed."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.runtime import InternalTopic, java_hash
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.whereabouts import KEYS, SMALLEST_HASH, WhereaboutsCrew, index_of

pytestmark = pytest.mark.sim


def run_of(*kinds: str) -> tuple[ClusterRun, WhereaboutsCrew]:
    plan = plan_of(1)
    plan.on = {kind: kind in kinds for kind in plan.on}
    plan.topics, plan.active_ms, plan.committers = {"t0": 1}, 200.0, 1
    plan.transactors = plan.processors = 0
    run = ClusterRun(1, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, WhereaboutsCrew))
    return run, crew


def test_keys_are_spread_as_in_java() -> None:
    assert index_of(SMALLEST_HASH, 7) == 0
    assert index_of("a", 50) == 97 % 50
    assert {index_of(key, 3) for key in KEYS} == {0, 1, 2}
    assert any(java_hash(key) < 0 for key in KEYS[1:])


def test_coordinators_are_where_they_must_be() -> None:
    run, crew = run_of("inquiries")
    run.live()
    assert not run.world.violations
    assert crew.counts()["whereabouts"] == 3 * len(KEYS) * len(run.world.nodes)


def test_nobody_asks_where_it_is_not_drawn() -> None:
    run, crew = run_of()
    run.live()
    assert crew.asked == 0


def test_keys_that_move_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    count = property(lambda self: len(self._metadata.topics[self.name].partitions))
    monkeypatch.setattr(InternalTopic, "partition_count", count)
    run, crew = run_of()
    run.live()
    run.plan.on["inquiries"] = True
    crew.check()
    assert "where keys belong to 1 partitions" in run.world.violations[0]
