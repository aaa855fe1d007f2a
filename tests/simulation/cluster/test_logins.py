"""Who may log in is served, nobody else is, and a broker that lets others in is noticed."""

from __future__ import annotations

import pytest

from simulation.cluster.logins import ATTEMPTS, LoginCrew
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def run_of(*kinds: str) -> tuple[ClusterRun, LoginCrew]:
    plan = plan_of(1)
    plan.on = {kind: kind in kinds for kind in plan.on}
    plan.topics, plan.active_ms, plan.committers = {"t0": 1}, 100.0, 0
    plan.transactors = plan.processors = 0
    run = ClusterRun(1, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, LoginCrew))
    return run, crew


def test_each_gets_as_far_as_it_may() -> None:
    run, crew = run_of("logins")
    for attempt in ATTEMPTS:
        crew._try(attempt, 0)
    assert not run.world.violations
    assert crew.counts() == {"logins": len(ATTEMPTS)}


def test_they_come_where_a_seed_draws_them() -> None:
    run, crew = run_of("logins")
    run.live()
    assert not run.world.violations
    assert crew.tried
    run, crew = run_of()
    run.live()
    assert not crew.tried


def test_a_broker_that_lets_anybody_in_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockbroker.security.plain.compare_digest", lambda *_: True)
    run, crew = run_of("logins")
    for attempt in ATTEMPTS:
        crew._try(attempt, 0)
    assert "of another password, not 1" in run.world.violations[0]
