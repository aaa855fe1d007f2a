"""Transactional ids and silent producers are forgotten, and who is not is noticed."""

from __future__ import annotations

import pytest

from mockbroker.log.unified_log import UnifiedLog
from simulation.cluster.expiries import ExpiryCrew
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def expiry_run() -> tuple[ClusterRun, ExpiryCrew]:
    plan = plan_of(1)
    assert plan.on["transactions"]
    plan.on = {kind: kind in ("expiry", "transactions") for kind in plan.on}
    plan.topics, plan.active_ms, plan.transactors, plan.processors = {"t0": 1}, 500.0, 2, 0
    run = ClusterRun(1, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, ExpiryCrew))
    return run, crew


def test_all_that_may_expire_does() -> None:
    run, crew = expiry_run()
    run.live()
    assert not run.world.violations
    assert crew.counts()["expired"] > 5


def test_a_producer_that_is_known_for_ever_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UnifiedLog, "expire_producers", lambda *_: None)
    run, _ = expiry_run()
    run.live()
    assert "has not expired" in run.world.violations[0]
