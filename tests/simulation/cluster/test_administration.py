"""Admins work in a run, and images are compared at its end."""

from __future__ import annotations

import pytest

from simulation.cluster.administration import AdminCrew
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def admin_run() -> tuple[ClusterRun, AdminCrew]:
    """A run of seed 4 with nothing on but an admin."""
    plan = plan_of(4)
    plan.on = {kind: kind == "admin" for kind in plan.on}
    plan.transactors = plan.processors = plan.committers = 0
    plan.topics, plan.producers, plan.consumers, plan.active_ms = {"t0": 1}, 1, 1, 2_000.0
    run = ClusterRun(4, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, AdminCrew))
    return run, crew


def test_an_admin_works_and_breaks_no_rule() -> None:
    run, crew = admin_run()
    run.live()
    assert not run.world.violations
    assert all(crew.counts().values())


def test_an_image_that_is_another_is_noticed() -> None:
    run, crew = admin_run()
    run.live()
    run.world.cluster.metadata.features["kraft.version"] = 9
    crew.check()
    assert len(run.world.violations) == 3
    assert "has features" in run.world.violations[0]


def test_what_is_on_its_way_over_a_slow_link_is_waited_for() -> None:
    run, crew = admin_run()
    run.world.operate(lambda: run.world.controls.slow_link(-1, 2, 50.0))
    run._create_topics()
    assert "broker 2" in crew.behind()
    run.world.run_for(60)
    assert crew.behind() == ""
