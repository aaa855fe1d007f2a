"""Whatever happens in a scope is taken back, and what is not is noticed."""

from __future__ import annotations

import pytest

from mockbroker.faults.fault_set import FaultSet
from mockbroker.state.scope import Scope, Scopes
from simulation.cluster.scopes import ScopeCrew, WallTime
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def scope_run(seed: int, committers: int = 0) -> tuple[ClusterRun, ScopeCrew]:
    plan = plan_of(seed)
    plan.on = {kind: kind == "scope" for kind in plan.on}
    plan.transactors = plan.processors = 0
    plan.committers = committers
    plan.topics, plan.producers, plan.active_ms = {"t0": 1, "t1": 2}, 2, 500.0
    run = ClusterRun(seed, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, ScopeCrew))
    return run, crew


@pytest.mark.parametrize("seed", range(4))
def test_a_scope_leaves_nothing(seed: int) -> None:
    run, crew = scope_run(seed)
    run.live()
    assert not run.world.violations
    assert crew.counts() == {"scopes": 2 if seed == 2 else 1}


def test_a_scope_that_takes_nothing_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scope, "restore", lambda _: None)
    run, _ = scope_run(1)
    run.live()
    assert "after the scope:" in run.world.violations[0]


@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (FaultSet, "back_to", "rules are"),
        (WallTime, "back_to", "the clock was moved"),
        (Scope, "_reload_coordinators", "differ from the log"),
    ],
)
def test_what_a_scope_leaves_is_noticed(
    where: type, name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, lambda *_: None)
    for seed in range(20):
        run, _ = scope_run(seed, committers=1)
        run.live()
        if any(wrong in told for told in run.world.violations):
            return
    pytest.fail(f"nobody says that {wrong}")


def test_a_scope_that_outlives_the_one_around_it_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Scopes, "is_open", lambda *_: True)
    run, _ = scope_run(1)
    run.live()
    assert "whose outer one has ended" in run.world.violations[0]
