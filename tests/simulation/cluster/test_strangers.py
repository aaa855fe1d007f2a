"""What there is not and what is not theirs is refused to strangers, by every API that is asked."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.apis.auth_helper import AuthHelper
from mockbroker_protocol.api_keys import ApiKey
from simulation.cluster import strangers
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.strangers import REFUSED, UNKNOWN, Stranger, StrangerCrew
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def stranger_of(simulated: SimulatedCluster) -> Stranger:
    return Stranger(simulated.world, "stranger", Random(5), simulated.truth, simulated.plan)


def test_every_api_is_asked_and_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster("strangers")
    stranger = stranger_of(simulated)
    asked = set[int]()
    monkeypatch.setattr(strangers, "api_name", asked.add)
    stranger.start()
    simulated.world.run_for(20_000)
    assert not simulated.world.violations
    assert stranger.refused > 3 * len(REFUSED)
    assert stranger.unknown > 2 * len(UNKNOWN)
    assert asked == {*REFUSED, *UNKNOWN}


def test_a_secret_that_is_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AuthHelper, "authorize_topic", lambda *_, **__: True)
    simulated = SimulatedCluster("strangers")
    stranger_of(simulated).start()
    assert simulated.world.run_until(lambda: bool(simulated.world.violations), 3_000)
    assert "answers" in simulated.world.violations[0]


def test_what_a_large_request_leaves_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strangers, "leaf_errors", lambda _: [3, 3])
    simulated = SimulatedCluster("strangers")
    stranger = stranger_of(simulated)
    stranger._ask(ApiKey.METADATA, range(4, 5), "x")
    assert "metadata tells of 2 of 1" in simulated.world.violations[0]


def test_what_strangers_make_is_noticed() -> None:
    plan = plan_of(3)
    plan.on["strangers"] = True
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, StrangerCrew))
    assert len(crew.clients) == 1
    assert crew.counts() == {"refused strangers": 0, "unknown things": 0}
    crew.check()
    assert not run.world.violations
    store = run.world.cluster.metadata
    store.resource_configs[32]["secret"] = {"a": "b"}
    crew.check()
    assert "strangers have made ['secret']" in run.world.violations[0]
