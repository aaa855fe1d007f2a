"""Orders that are placed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from kafka.errors import KafkaError

if TYPE_CHECKING:
    from names import Names
    from orders import Orders


def test_an_order_is_written_under_its_customer(
    mockbroker: Any, names: Names, orders: Orders
) -> None:
    orders.place("1", "ada", 12.5)
    (record,) = mockbroker.topic(names.orders).wait_for(1, decode=json.loads)
    assert record.key == b"ada"
    assert record.value == {"id": "1", "customer": "ada", "amount": 12.5}


def test_an_order_carries_its_trace(mockbroker: Any, names: Names, orders: Orders) -> None:
    orders.place("1", "ada", 1, trace="t-7")
    (record,) = mockbroker.topic(names.orders).wait_for(1)
    assert record.header("trace") == b"t-7"


def test_without_a_trace_there_is_no_header(mockbroker: Any, names: Names, orders: Orders) -> None:
    orders.place("1", "ada", 1)
    (record,) = mockbroker.topic(names.orders).wait_for(1)
    assert record.headers == []


@pytest.mark.parametrize("amount", [0.01, 1, 99.99, 1_000_000])
def test_any_amount_is_an_order(
    mockbroker: Any, names: Names, orders: Orders, amount: float
) -> None:
    orders.place("1", "ada", amount)
    (record,) = mockbroker.topic(names.orders).wait_for(1, decode=json.loads)
    assert record.value["amount"] == amount


@pytest.mark.parametrize(
    ("order_id", "customer", "amount"),
    [("", "ada", 1), ("1", "", 1), ("1", "ada", 0), ("1", "ada", -1), ("1", "ada", float("inf"))],
)
def test_what_makes_no_sense_is_not_written(
    mockbroker: Any, names: Names, orders: Orders, order_id: str, customer: str, amount: float
) -> None:
    with pytest.raises(ValueError, match="an order"):
        orders.place(order_id, customer, amount)
    assert mockbroker.topic(names.orders).records() == []


def test_the_orders_of_a_customer_stay_in_order(
    mockbroker: Any, names: Names, orders: Orders
) -> None:
    for number in range(10):
        orders.place(str(number), "ada", 1)
    found = mockbroker.topic(names.orders).wait_for(10, decode=json.loads)
    assert len({record.partition for record in found}) == 1
    assert [record.value["id"] for record in found] == [str(number) for number in range(10)]


def test_customers_are_spread_over_the_partitions(
    mockbroker: Any, names: Names, orders: Orders
) -> None:
    for number in range(12):
        orders.place(str(number), f"customer-{number}", 1)
    mockbroker.topic(names.orders).wait_for(12)
    assert min(mockbroker.topic(names.orders).end_offsets().values()) > 0


@pytest.mark.mockbroker_needs("faults")
def test_an_order_outlives_a_leader_that_moves(
    mockbroker: Any, names: Names, orders: Orders
) -> None:
    fault = {"api": "Produce", "topic": names.orders, "error": "NOT_LEADER_OR_FOLLOWER", "count": 2}
    with mockbroker.faults.armed(fault) as (rule,):
        orders.place("1", "ada", 1)
        assert rule.wait(2).hits == 2
    assert len(mockbroker.topic(names.orders).wait_for(1)) == 1


@pytest.mark.mockbroker_needs("faults")
def test_an_order_that_is_refused_is_told(mockbroker: Any, names: Names, orders: Orders) -> None:
    fault = {"api": "Produce", "topic": names.orders, "error": "TOPIC_AUTHORIZATION_FAILED"}
    with mockbroker.faults.armed(fault), pytest.raises(KafkaError):
        orders.place("1", "ada", 1)
    assert mockbroker.topic(names.orders).records() == []
