"""Rules do to victims what they say; what they leave undone is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.faults import fault_set
from mockbroker.node import interceptor
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.victim_rules import FORMS
from simulation.cluster.victims import Victim, VictimCrew
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def victim_of(simulated: SimulatedCluster) -> Victim:
    return Victim(simulated.world, "victim", Random(1), simulated.truth, simulated.plan)


def test_every_rule_does_what_it_says() -> None:
    simulated = SimulatedCluster()
    victim = victim_of(simulated)
    victim.start()
    simulated.world.run_for(45_000)
    assert not simulated.world.violations
    assert victim.met > 5 * len(FORMS)
    assert victim.hits > victim.met // 2


@pytest.mark.parametrize(
    ("module", "name", "made"),
    [
        (interceptor, "corrupt", lambda *_: None),
        (interceptor, "overwrite", lambda answer, *_: answer),
        (interceptor, "error_response", lambda *_: None),
        (interceptor, "_ending", lambda _: None),
        (fault_set, "check", lambda *_: None),
    ],
)
def test_a_rule_that_does_less_is_noticed(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, made: object
) -> None:
    simulated = SimulatedCluster()
    monkeypatch.setattr(module, name, made)
    victim_of(simulated).start()
    assert simulated.world.run_until(lambda: bool(simulated.world.violations), 30_000)


def test_rules_that_are_left_are_noticed() -> None:
    plan = plan_of(3)
    plan.on["rules"] = True
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, VictimCrew))
    assert len(crew.clients) == 2
    assert crew.counts() == {"rules met": 0, "rules' hits": 0}
    crew.check()
    run.world.operate(lambda: run.world.cluster.faults.add({"client": "victim0", "drop": True}))
    crew.check()
    assert "rules are left" in run.world.violations[0]
