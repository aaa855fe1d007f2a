"""Transactions as values; what an open one looks like is tested with the admin API."""

from __future__ import annotations

from mockbroker import MockBroker
from mockbroker.state import transactions


def test_an_id_that_nobody_used_is_not_there() -> None:
    with MockBroker() as broker:
        call = broker._bridged().call
        assert call(transactions.transactional_ids) == []
        assert call(lambda cluster: transactions.transaction(cluster, "x")) is None
        assert call(lambda cluster: transactions.forget(cluster, "x")) is False
