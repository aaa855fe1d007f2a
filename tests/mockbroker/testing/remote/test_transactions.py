"""A transactional id over the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException

from mockbroker import WaitTimeoutError
from tests.support.transactional_producer import TIMEOUT_SECONDS, with_open_transaction

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from mockbroker.testing.remote.broker import RemoteBroker


def test_a_transaction_is_seen_ended_and_forgotten(
    broker: MockBroker, remote: RemoteBroker
) -> None:
    transaction = remote.transaction("tx")
    assert transaction.describe() == broker.transaction("tx").describe()
    producer = with_open_transaction(broker.bootstrap_servers)
    assert transaction.describe() == broker.transaction("tx").describe()
    assert (transaction.state, transaction.describe().partitions) == ("Ongoing", [("orders", 1)])
    with pytest.raises(WaitTimeoutError, match=r"tx to be CompleteCommit: it is Ongoing"):
        transaction.wait_state("CompleteCommit", timeout=0)
    producer.commit_transaction(TIMEOUT_SECONDS)
    assert transaction.wait_state("CompleteCommit").partitions == []
    assert remote.transactions() == broker.transactions() == ["tx"]
    transaction.forget()
    transaction.forget()
    assert remote.transactions() == broker.transactions() == []


def test_one_that_is_forgotten_is_aborted_and_its_producer_fenced(
    broker: MockBroker, remote: RemoteBroker
) -> None:
    producer = with_open_transaction(broker.bootstrap_servers)
    remote.transaction("tx").forget()
    assert remote.transactions() == []
    assert remote.topic("orders").records(isolation="read_committed") == []
    with pytest.raises(KafkaException):
        producer.commit_transaction(TIMEOUT_SECONDS)


async def test_coroutines_have_the_same(remote: RemoteBroker) -> None:
    transaction = remote.aio.transaction("tx")
    assert (await transaction.wait_state("Dead")).producer_id == -1
    await transaction.forget()
    assert await remote.aio.transactions() == []
