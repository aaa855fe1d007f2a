"""AddPartitionsToTxn over the wire, of clients and between brokers."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tests.support.core import Core
from tests.support.transactions import Transactional
from tests.support.work_counts import lines_of


@pytest.fixture
def producer() -> Transactional:
    return Transactional.begin(Core(topics={"t": 2, "u": 1}))


@pytest.mark.parametrize("version", range(4))
def test_partitions_join_the_transaction(producer: Transactional, version: int) -> None:
    wanted = {("t", 0): 0, ("t", 1): 0, ("u", 0): 0}
    assert producer.add({"t": [0, 1], "u": [0]}, version) == wanted
    assert producer.add({"t": [1]}, version) == {("t", 1): 0}
    described = producer.describe()
    assert described.transaction_state == "Ongoing"
    assert [(one.topic, one.partitions) for one in described.topics] == [("t", [0, 1]), ("u", [0])]


def test_one_that_does_not_exist_leaves_all_others_unattempted(producer: Transactional) -> None:
    asked = {"t": [0, 9], "nope": [0]}
    assert producer.add(asked) == {("t", 0): 55, ("t", 9): 3, ("nope", 0): 3}
    assert producer.state == "Empty"


@pytest.mark.parametrize(("version", "error"), [(0, 47), (1, 47), (2, 90), (3, 90)])
def test_a_stale_epoch(producer: Transactional, version: int, error: int) -> None:
    producer.epoch -= 1
    assert producer.add({"t": [0]}, version) == {("t", 0): error}


@pytest.mark.parametrize(("transactional_id", "error"), [("nope", 49), ("", 42)])
def test_other_ids(producer: Transactional, transactional_id: str, error: int) -> None:
    producer.transactional_id = transactional_id
    assert producer.add({"t": [0]}) == {("t", 0): error}


def test_nobody_coordinates_before_the_topic_is_there() -> None:
    producer = Transactional(Core(topics={"t": 1}))
    assert producer.add({"t": [0]}) == {("t", 0): 16}


@pytest.mark.parametrize("version", [4, 5])
def test_many_transactions_are_added_or_verified(producer: Transactional, version: int) -> None:
    def asked(
        transactional_id: str, epoch: int, verify: bool, indexes: list[int]
    ) -> AddPartitionsToTxnTransaction:
        topics = [AddPartitionsToTxnTopic("t", indexes)]
        return AddPartitionsToTxnTransaction(
            transactional_id, producer.producer_id, epoch, verify, topics
        )

    transactions = [
        asked("tx", 0, False, [0]),
        asked("tx", 0, True, [0, 1]),
        asked("tx", 1, True, [0]),
        asked("nope", 0, True, [0]),
        asked("tx", 0, False, [0, 9]),
        asked("", 0, True, [0]),
    ]
    request = AddPartitionsToTxnRequest(transactions)
    answer = producer.client.call(request, version, AddPartitionsToTxnResponse)
    assert answer.error_code == 0
    assert [
        [one.partition_error_code for one in result.topic_results[0].results_by_partition]
        for result in answer.results_by_transaction
    ] == [[0], [0, 120], [90], [49], [55, 3], [42]]


def test_no_transactions_are_answered_with_none(producer: Transactional) -> None:
    answer = producer.client.call(AddPartitionsToTxnRequest([]), 5, AddPartitionsToTxnResponse)
    assert answer.results_by_transaction == []


def test_each_of_many_transactions_costs_the_same(producer: Transactional) -> None:
    def ask(count: int) -> None:
        topics = [AddPartitionsToTxnTopic("t", [0])]
        asked = [
            AddPartitionsToTxnTransaction(f"id-{index}", 1, 0, verify_only=True, topics=topics)
            for index in range(count)
        ]
        request = AddPartitionsToTxnRequest(transactions=asked)
        answer = producer.client.call(request, 5, AddPartitionsToTxnResponse)
        assert len(answer.results_by_transaction) == count

    ask(1)
    few, many = lines_of(lambda: ask(5)), lines_of(lambda: ask(50))
    assert many < 12 * few
