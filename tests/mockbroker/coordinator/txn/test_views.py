"""What is told of transactions from outside."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.shard import ShardListener, TransactionShard
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker.coordinator.txn.views import describe_transaction, list_transactions
from mockbroker_protocol.messages.transaction_admin import ListTransactionsRequest, TopicData
from tests.mockbroker.coordinator.txn.making import NOW_MS, transaction


class Unused:
    """A log that nothing is written to."""

    def write(self, *_: object, timeout_ms: float, replay: bool) -> None:
        raise AssertionError


def shard() -> TransactionShard:
    made = TransactionShard(0, Unused(), ShardListener(), 30_000)
    for name, producer_id, state in (
        ("orders-1", 1, TransactionState.ONGOING),
        ("orders-2", 2, TransactionState.EMPTY),
        ("bills", 3, TransactionState.COMPLETE_COMMIT),
    ):
        one = made.transactions[name] = transaction(state, producer_id)
        one.transactional_id = name
    return made


@pytest.mark.parametrize(
    ("request_message", "names"),
    [
        (ListTransactionsRequest(), ["orders-1", "orders-2", "bills"]),
        (ListTransactionsRequest(state_filters=["Ongoing", "Empty"]), ["orders-1", "orders-2"]),
        (ListTransactionsRequest(state_filters=["Nonsense"]), []),
        (ListTransactionsRequest(producer_id_filters=[3, 9]), ["bills"]),
        (ListTransactionsRequest(duration_filter=9), ["orders-1", "orders-2", "bills"]),
        (ListTransactionsRequest(duration_filter=10), ["orders-2", "bills"]),
        (ListTransactionsRequest(transactional_id_pattern="orders-."), ["orders-1", "orders-2"]),
        (ListTransactionsRequest(transactional_id_pattern="orders"), []),
        (ListTransactionsRequest(transactional_id_pattern=""), ["orders-1", "orders-2", "bills"]),
        (ListTransactionsRequest(["Empty"], [2], -1, ".*2"), ["orders-2"]),
    ],
)
def test_every_filter_must_let_it_through(
    request_message: ListTransactionsRequest, names: list[str]
) -> None:
    response, found = list_transactions([shard()], request_message, NOW_MS)
    assert response.error_code == 0
    assert [one.transactional_id for one in found] == names


def test_states_that_do_not_exist_are_named_back() -> None:
    request = ListTransactionsRequest(state_filters=["Empty", "Nonsense", "empty"])
    response, found = list_transactions([shard()], request, NOW_MS)
    assert response.unknown_state_filters == ["Nonsense", "empty"]
    assert [one.transaction_state for one in found] == ["Empty"]


def test_a_pattern_that_is_none_is_refused() -> None:
    request = ListTransactionsRequest(transactional_id_pattern="((")
    response, found = list_transactions([shard()], request, NOW_MS)
    assert (response.error_code, list(found)) == (128, [])


def test_a_description_has_the_partitions_by_topic() -> None:
    one = transaction(TransactionState.ONGOING)
    one.partitions = {("t", 1): None, ("u", 0): None, ("t", 0): None}
    described = describe_transaction(one)
    assert described.topics == [TopicData("t", [1, 0]), TopicData("u", [0])]
    assert (described.transactional_id, described.transaction_state) == ("tx", "Ongoing")
    assert (described.producer_id, described.producer_epoch) == (7, 5)
    assert (described.transaction_timeout_ms, described.transaction_start_time_ms) == (60_000, 990)
