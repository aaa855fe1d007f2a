"""A transactional id seen from a test."""

from __future__ import annotations

import re
import threading
from typing import assert_type

import pytest
from confluent_kafka import KafkaException

from mockbroker import MockBroker, WaitTimeoutError
from mockbroker.state.transactions import Transaction
from tests.support.transactional_producer import TIMEOUT_SECONDS, with_open_transaction


def test_a_transaction_is_followed_to_its_end() -> None:
    with MockBroker(topics={"orders": 2}) as broker:
        transaction = broker.transaction("tx")
        assert (transaction.state, broker.transactions()) == ("Dead", [])
        assert transaction.describe() == Transaction("tx", "Dead", -1, -1, -1, -1, [])
        producer = with_open_transaction(broker.bootstrap_servers)
        found = transaction.describe()
        assert (found.state, found.partitions) == ("Ongoing", [("orders", 1)])
        assert found.timeout_ms == 60_000
        assert abs(found.started_ms - broker.clock.wall_ms) < 60_000
        committing = threading.Thread(target=producer.commit_transaction, args=(TIMEOUT_SECONDS,))
        committing.start()
        ended = transaction.wait_state("CompleteCommit", "CompleteAbort")
        committing.join()
        assert ended.state == transaction.state == "CompleteCommit"
        assert (ended.producer_id, ended.partitions) == (found.producer_id, [])
        assert broker.transactions() == ["tx"]
        transaction.forget()
        transaction.forget()
        assert (transaction.state, broker.transactions()) == ("Dead", [])


@pytest.mark.parametrize("brokers", [1, 3])
def test_one_that_is_forgotten_is_aborted_and_its_producer_fenced(brokers: int) -> None:
    with MockBroker(brokers=brokers, topics={"orders": 2}) as broker:
        producer = with_open_transaction(broker.bootstrap_servers)
        broker.transaction("tx").forget()
        assert broker.transactions() == []
        assert broker.topic("orders").records(isolation="read_committed") == []
        with pytest.raises(KafkaException):
            producer.commit_transaction(TIMEOUT_SECONDS)


def test_an_abort_that_is_not_replicated_leaves_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockbroker.state.transactions.FORGET_TIMEOUT_MS", 10)
    with MockBroker(topics={"orders": 2}) as broker:
        producer = with_open_transaction(broker.bootstrap_servers)
        monkeypatch.setattr("mockbroker.state.transactions.forget", lambda *_: True)
        with pytest.raises(WaitTimeoutError, match=r"^transactional id tx: .* it is Ongoing$"):
            broker.transaction("tx").forget()
        producer.abort_transaction(TIMEOUT_SECONDS)


def test_a_wait_in_vain_shows_the_transaction() -> None:
    with MockBroker(topics={"orders": 2}) as broker:
        with_open_transaction(broker.bootstrap_servers)
        transaction = broker.transaction("tx")
        with pytest.raises(WaitTimeoutError) as caught:
            transaction.wait_state("CompleteCommit", "CompleteAbort", timeout=0)
        assert re.fullmatch(
            r"waited 0 s for transactional id tx to be CompleteCommit or CompleteAbort: it is"
            r" Ongoing, producer \d+ of epoch \d+, partitions: orders-1",
            str(caught.value),
        )
        with pytest.raises(WaitTimeoutError) as caught:
            broker.transaction("other").wait_state("Ongoing", timeout=0)
        assert str(caught.value) == (
            "waited 0 s for transactional id other to be Ongoing: it is Dead\n"
            "  transactional ids: tx"
        )
        assert repr(transaction) == "TransactionView('tx')"


async def test_in_the_callers_loop_it_is_awaited() -> None:
    async with MockBroker() as broker:
        transaction = broker.aio.transaction("tx")
        assert (transaction.transactional_id, repr(transaction)) == (
            "tx",
            "AsyncTransactionView('tx')",
        )
        assert assert_type(await transaction.describe(), Transaction).state == "Dead"
        assert assert_type(await transaction.state(), str) == "Dead"
        assert (await transaction.wait_state("Dead")).transactional_id == "tx"
        await transaction.forget()
        assert assert_type(await broker.aio.transactions(), list[str]) == []
