"""Transactions as values; what an open one looks like is tested with the admin API."""

from __future__ import annotations

from mockbroker import MockBroker
from mockbroker.state import transactions
from tests.support.cluster_core import ClusterCore
from tests.support.cluster_transactions import OnCluster


def test_an_id_that_nobody_used_is_not_there() -> None:
    with MockBroker() as broker:
        call = broker._bridged().call
        assert call(transactions.transactional_ids) == []
        assert call(lambda cluster: transactions.transaction(cluster, "x")) is None
        assert call(lambda cluster: transactions.forget(cluster, "x")) is False
        assert call(lambda cluster: transactions.may_be_forgotten(cluster, "x"))
        assert transactions.unknown("x").state == transactions.DEAD == "Dead"
        assert call(lambda cluster: transactions.why_not_forgotten(cluster, "x")) == (
            "transactional id x: its abort was not replicated, it is Dead"
        )


def test_beside_other_brokers_an_abort_is_replicated_before_the_id_is_forgotten() -> None:
    core = ClusterCore(topics={"t": 1})
    producer = OnCluster.begin(core)
    producer.write("t", 0, "a")
    core.deliver()
    assert not transactions.may_be_forgotten(core.cluster, "tx")
    assert transactions.forget(core.cluster, "tx")
    core.advance(1000)
    found = transactions.transaction(core.cluster, "tx")
    assert found is not None
    assert found.state == "CompleteAbort"
    assert transactions.may_be_forgotten(core.cluster, "tx")
    assert transactions.forget(core.cluster, "tx")
    assert transactions.transactional_ids(core.cluster) == []
    core.advance(1000)
    assert not transactions.forget(core.cluster, "tx")
