"""What a test sees is held against logs and coordinators; what is told otherwise is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.state import groups, reading, report, transactions
from simulation.cluster.audits.view_audits import wrong_views
from tests.support.simulated_cluster import SimulatedCluster
from tests.support.simulated_groups import SimulatedGroup
from tests.support.transaction_run import transaction_run


def told(simulated: SimulatedCluster) -> str:
    simulated.produce(3)
    cluster = simulated.world.cluster
    return " | ".join(one for seed in range(8) for one in wrong_views(cluster, Random(seed)))


def test_what_is_told_of_topics_is_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not told(SimulatedCluster())
    monkeypatch.setattr(report, "report", lambda *_: "")
    assert "there is nothing to report" in told(SimulatedCluster())
    monkeypatch.setattr(reading.TopicReader, "iterate", lambda *_: iter(()))
    wrong = told(SimulatedCluster())
    assert "t0 is read as 0 records of" in wrong
    assert "a page" in wrong


@pytest.mark.parametrize("protocol", ["eager", "consumer"])
def test_what_is_told_of_groups_is_what_is_there(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = SimulatedGroup(protocol, 2)
    group.settle()
    cluster = group.world.cluster
    assert not list(wrong_views(cluster, Random(1)))
    monkeypatch.setattr(groups, "lag", lambda *_: {})
    assert any("g is {} behind" in one for one in wrong_views(cluster, Random(1)))
    monkeypatch.setattr(
        groups, "describe_group", lambda _, name: groups.Group(name, groups.DEAD, -1, "", [])
    )
    assert any("g is told as" in one for one in wrong_views(cluster, Random(1)))


def test_what_is_told_of_transactions_is_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = transaction_run()
    run.live()
    assert not run.world.violations
    monkeypatch.setattr(transactions, "transaction", lambda *_: None)
    assert any("is told as None" in one for one in wrong_views(run.world.cluster, Random(1)))
