"""A reader is given its quota, and a broker that counts otherwise is noticed."""

from __future__ import annotations

import pytest

from mockbroker.security.quotas import QuotaManager
from mockbroker.security.rate import Rate
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.throttles import ThrottleCrew

pytestmark = pytest.mark.sim


def told(kind: str = "inquiries") -> tuple[list[str], int]:
    """What a run says, and how often its reader was throttled."""
    plan = plan_of(1)
    plan.on = {each: each == kind for each in plan.on}
    plan.topics, plan.active_ms, plan.committers = {"t0": 1}, 300.0, 0
    plan.transactors = plan.processors = 0
    run = ClusterRun(1, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, ThrottleCrew))
    run.live()
    return run.world.violations, crew.counts()["throttled"]


def test_a_reader_is_given_its_quota() -> None:
    assert told() == ([], 1)
    assert told("scope") == ([], 0)


@pytest.mark.parametrize(
    ("where", "name"), [(QuotaManager, "take_back"), (Rate, "_purge"), (QuotaManager, "charge")]
)
def test_one_that_is_given_another_is_noticed(
    where: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, lambda *_: 0)
    violations, _ = told()
    assert "gives a reader what is its quota" in violations[0]
