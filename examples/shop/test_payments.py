"""Payments for orders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from names import Names
    from payments import Payments

    Start = Callable[..., Payments]


def order(order_id: str, amount: object) -> str:
    return json.dumps({"id": order_id, "customer": "ada", "amount": amount})


@pytest.mark.parametrize(
    ("amount", "approved"), [(1, True), (99.99, True), (100, True), (100.01, False), (5000, False)]
)
def test_an_order_is_approved_up_to_the_limit(
    mockbroker: Any, names: Names, payments: Start, amount: float, approved: bool
) -> None:
    mockbroker.topic(names.orders).put(order("1", amount), key="ada")
    assert payments().work(1) == 1
    (payment,) = mockbroker.topic(names.payments).wait_for(1, decode=json.loads)
    assert payment.value == {"order": "1", "approved": approved, "amount": amount}
    assert payment.key == b"ada"


def test_the_limit_is_the_shops(mockbroker: Any, names: Names, payments: Start) -> None:
    mockbroker.topic(names.orders).put(order("1", 50))
    payments(limit=10.0).work(1)
    (payment,) = mockbroker.topic(names.payments).wait_for(1, decode=json.loads)
    assert payment.value["approved"] is False


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"\xff", b"UnicodeDecodeError"),
        ("", b"JSONDecodeError"),
        (None, b"JSONDecodeError"),
        ("[]", b"TypeError"),
        ('{"id": "1"}', b"KeyError"),
    ],
)
def test_what_cannot_be_read_is_rejected_as_it_is(
    mockbroker: Any, names: Names, payments: Start, value: bytes | str | None, why: bytes
) -> None:
    mockbroker.topic(names.orders).put(value, key="ada")
    payments().work(1)
    (rejected,) = mockbroker.topic(names.rejected).wait_for(1)
    assert rejected.value == (value.encode() if isinstance(value, str) else value)
    assert rejected.header("why") == why
    assert mockbroker.topic(names.payments).records() == []


def test_a_bad_order_does_not_stop_the_next(mockbroker: Any, names: Names, payments: Start) -> None:
    mockbroker.topic(names.orders).put_all(["no", order("2", 1)])
    assert payments().work(2) == 2
    (payment,) = mockbroker.topic(names.payments).wait_for(1, decode=json.loads)
    assert payment.value["order"] == "2"


def test_what_was_handled_is_committed(mockbroker: Any, names: Names, payments: Start) -> None:
    at = mockbroker.topic(names.orders).put(order("1", 1))
    payments().work(1)
    group = mockbroker.group(names.group("payments"))
    assert group.wait_committed({(names.orders, at.partition): 1})
    assert set(group.wait_caught_up().values()) == {0}


def test_a_worker_goes_on_where_the_last_one_stopped(
    mockbroker: Any, names: Names, payments: Start
) -> None:
    topic = mockbroker.topic(names.orders)
    topic.put(order("1", 1), key="ada")
    first = payments()
    first.work(1)
    first.close()
    topic.put(order("2", 1), key="ada")
    payments().work(1)
    found = mockbroker.topic(names.payments).wait_for(2, decode=json.loads)
    assert sorted(payment.value["order"] for payment in found) == ["1", "2"]


def test_orders_from_before_a_commit_are_not_paid_again(
    mockbroker: Any, names: Names, payments: Start
) -> None:
    topic = mockbroker.topic(names.orders)
    for number in range(3):
        topic.put(order(str(number), 1), partition=0)
    mockbroker.group(names.group("payments")).commit({(names.orders, 0): 2})
    payments().work(1)
    (payment,) = mockbroker.topic(names.payments).wait_for(1, decode=json.loads)
    assert payment.value["order"] == "2"


def test_the_group_has_its_worker_and_is_empty_behind_it(
    mockbroker: Any, names: Names, payments: Start
) -> None:
    mockbroker.topic(names.orders).put(order("1", 1))
    worker = payments()
    worker.work(1)
    group = mockbroker.group(names.group("payments")).wait_stable(1)
    assert group.members[0].assignment == {names.orders: [0, 1]}
    worker.close()
    assert mockbroker.group(names.group("payments")).wait_empty().members == []


@pytest.mark.mockbroker_needs("journal")
def test_each_order_is_committed_by_itself(mockbroker: Any, names: Names, payments: Start) -> None:
    mockbroker.topic(names.orders).put_all([order("1", 1), order("2", 1)])
    payments().work(2)
    mockbroker.journal.expect(api="OffsetCommit", group=names.group("payments"), times=2).within(10)


@pytest.mark.mockbroker_needs("faults")
def test_a_payment_is_written_once_though_its_answer_is_lost(
    mockbroker: Any, names: Names, payments: Start
) -> None:
    mockbroker.topic(names.orders).put(order("1", 1))
    lost = {
        "api": "Produce", "topic": names.payments, "stage": "after", "disconnect": True, "count": 1,
    }  # fmt: skip
    with mockbroker.faults.armed(lost):
        payments().work(1)
    assert len(mockbroker.topic(names.payments).wait_for(1)) == 1


@pytest.mark.mockbroker_needs("clock")
def test_an_order_may_be_too_old_to_be_paid(mockbroker: Any, names: Names) -> None:
    topic = mockbroker.topic(names.orders + "-short").create(1, config={"retention.ms": "60000"})
    topic.put(order("1", 1))
    mockbroker.clock.advance(600_000)
    assert topic.records() == []


@pytest.mark.mockbroker(brokers=3)
def test_payments_go_on_when_a_broker_is_killed(
    mockbroker: Any, names: Names, payments: Start
) -> None:
    worker = payments()
    mockbroker.topic(names.orders).put(order("1", 1), partition=0)
    worker.work(1)
    leader = mockbroker.cluster.leader(names.orders, 0)
    mockbroker.cluster.wait_in_sync(names.orders, 0)
    mockbroker.cluster.kill(leader)
    mockbroker.topic(names.orders).put(order("2", 1), partition=0)
    assert worker.work(1) == 1
    assert len(mockbroker.topic(names.payments).wait_for(2)) == 2
