"""A seed runs again with less of everything, and what goes wrong is told with its time."""

from __future__ import annotations

import pytest

from simulation.cluster.simulation import plan_of
from simulation.seeds import BrokerSeed, ClusterSeed

pytestmark = pytest.mark.sim


def test_a_cluster_runs_with_fewer_clients_kinds_and_steps() -> None:
    seed = ClusterSeed(4)
    whole = seed.run(None, {})
    assert whole.wrong is None
    assert "producer0" in whole.clients
    sizes = dict(seed.sizes())
    less = {"without": ["producer0"], "off": seed.kinds(), "topics": sizes["topics"][0]}
    small = seed.run([], {**less, "active_ms": 50.0})
    assert small.wrong is None
    assert (small.steps, "producer0" in small.clients) == ([], False)


def test_all_incarnations_of_a_client_go_together() -> None:
    plan = plan_of(4266)
    assert plan.transactors
    whole = ClusterSeed(4266).run([], {"active_ms": 50.0})
    assert "txn0" in whole.clients
    assert "txn0.1" not in whole.clients
    small = ClusterSeed(4266).run([], {"active_ms": 50.0, "without": ["txn0"]})
    assert "txn0" not in small.clients


def test_one_broker_runs_with_fewer_clients_and_kinds() -> None:
    seed = BrokerSeed(5)
    assert seed.run(None, {}).wrong is None
    less = {"without": ["consumer0"], "off": seed.kinds(), "rounds": 1}
    small = seed.run(None, less)
    assert small.wrong is None
    assert "consumer0" not in small.clients


def test_what_a_run_raises_is_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("simulation.cluster.simulation.ClusterRun.live", fall)
    assert ClusterSeed(4).run(None, {}).wrong == "ZeroDivisionError: on purpose"
