"""A leader that hears late of what the controller took makes no other proposal before."""

from __future__ import annotations

import pytest

from mockbroker.cluster.links import isr_proposals
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def violations() -> list[str]:
    """Of a run in which nothing else happens."""
    plan = plan_of(1)
    plan.on = {kind: kind == "late_news" for kind in plan.on}
    plan.topics, plan.brokers, plan.active_ms, plan.every_ms = {"t0": 1}, 3, 4_000.0, 1_500.0
    run = ClusterRun(1, plan)
    run.live()
    assert any(step.action == "shrink_isr" for step in run.operator.steps)
    return run.world.violations


def test_leaders_wait_for_the_news() -> None:
    assert violations() == []


def test_one_that_forgets_what_was_taken_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isr_proposals, "_NEWS_COMES", frozenset())
    assert "was taken" in violations()[0]
