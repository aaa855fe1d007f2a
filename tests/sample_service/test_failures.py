"""What the service does when something fails: ten failures, each with each of the client libraries.

None can be brought about without a fault, the broker's clock, a rebalance or a coordinator that
moves. In each the outcome is the same: every order has one invoice or one dead letter.
"""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.coordinator.runtime import partition_for
from tests.sample_service.service import DEAD_LETTERS, GROUP, INVOICES, ORDERS, FencedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker import MockBroker
    from tests.sample_service.conftest import Start
    from tests.sample_service.service import Service

DEADLINE_SECONDS = 30.0
COORDINATOR_TOPICS = {"__consumer_offsets": GROUP, "__transaction_state": "billing-a"}

pytestmark = [
    pytest.mark.clients,
    pytest.mark.mockbroker_topics({DEAD_LETTERS: 1}, orders=2, invoices=1),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def put_orders(broker: MockBroker, count: int, first: int = 0) -> None:
    orders = ({"id": first + at, "amount": 2, "price": 10} for at in range(count))
    broker.topic(ORDERS).put_all([json.dumps(order) for order in orders])


def committed(broker: MockBroker, topic: str) -> list[int]:
    records = broker.topic(topic).records(decode=json.loads, isolation="read_committed")
    return sorted(record.value["id"] for record in records)


def run(broker: MockBroker, count: int, *services: Service) -> None:
    """Let the services work until so many orders are done, and see that none is done twice."""
    deadline = monotonic() + DEADLINE_SECONDS
    while len(committed(broker, INVOICES) + committed(broker, DEAD_LETTERS)) < count:
        assert monotonic() < deadline, broker.journal.tail()
        for service in services:
            service.run_once()
    assert committed(broker, INVOICES) + committed(broker, DEAD_LETTERS) == list(range(count))
    assert sum(broker.group(GROUP).committed().values()) == count


def test_the_broker_refuses_a_record_for_a_while(mockbroker: MockBroker, start: Start) -> None:
    put_orders(mockbroker, 3)
    service = start()
    mockbroker.faults.add(
        {"id": "isr", "api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "count": 2}
    )
    run(mockbroker, 3, service)
    assert len(mockbroker.journal.requests(api="Produce", fault="isr")) == 2


def test_the_answer_to_a_record_is_lost(mockbroker: MockBroker, start: Start) -> None:
    put_orders(mockbroker, 3)
    service = start()
    mockbroker.faults.add(
        {"id": "cut", "api": "Produce", "stage": "after", "disconnect": True, "count": 1}
    )
    run(mockbroker, 3, service)
    mockbroker.journal.expect(api="Produce", fault="cut").within(0)
    assert len(mockbroker.topic(INVOICES).records()) == 3 + service.aborted


def test_the_end_of_a_transaction_must_be_asked_for_again(
    mockbroker: MockBroker, start: Start
) -> None:
    put_orders(mockbroker, 2)
    service = start()
    mockbroker.faults.add(
        {"id": "end", "api": "EndTxn", "error": "COORDINATOR_LOAD_IN_PROGRESS", "count": 2}
    )
    run(mockbroker, 2, service)
    assert len(mockbroker.journal.requests(api="EndTxn", fault="end")) == 2


def test_the_connection_breaks_while_offsets_are_committed(
    mockbroker: MockBroker, start: Start
) -> None:
    put_orders(mockbroker, 2)
    service = start()
    mockbroker.faults.add({"id": "cut", "api": "TxnOffsetCommit", "disconnect": True, "count": 1})
    run(mockbroker, 2, service)
    mockbroker.journal.expect(fault="cut").within(0)


def test_the_broker_is_slow_and_then_does_not_lead(mockbroker: MockBroker, start: Start) -> None:
    put_orders(mockbroker, 3)
    mockbroker.faults.add({"id": "late", "api": "Fetch", "delay_ms": 300, "count": 1})
    mockbroker.faults.add(
        {"id": "lost", "api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "nth": 1}
    )
    run(mockbroker, 3, start())
    mockbroker.journal.expect(fault="late").within(0)


def test_an_order_that_makes_no_sense_is_a_dead_letter(
    mockbroker: MockBroker, start: Start
) -> None:
    mockbroker.topic(ORDERS).put('{"id": 0, "amount": 0, "price": 1}', key="0", partition=0)
    service = start()
    mockbroker.faults.add(
        {
            "id": "dead",
            "api": "Produce",
            "topic": DEAD_LETTERS,
            "error": "NOT_LEADER_OR_FOLLOWER",
            "count": 1,
        }
    )
    run(mockbroker, 1, service)
    (letter,) = mockbroker.topic(DEAD_LETTERS).records()
    assert (letter.key, letter.header("reason")) == (b"0", b"order 0: nothing to pay")
    assert service.retries == 3 * (1 + service.aborted)
    mockbroker.journal.expect(fault="dead").within(0)


def test_a_transaction_takes_too_long(mockbroker: MockBroker, start: Start) -> None:
    put_orders(mockbroker, 1)
    late = [True]

    def slow(order: dict[str, Any]) -> dict[str, Any]:
        if late.pop() if late else False:
            mockbroker.clock.advance(120_000)  # beyond transaction.timeout.ms
        return {"id": order["id"], "total": 20}

    first = start("billing-a", handle=slow)
    second = None
    deadline = monotonic() + DEADLINE_SECONDS
    while not committed(mockbroker, INVOICES):
        assert monotonic() < deadline, mockbroker.journal.tail()
        try:
            (second or first).run_once()
        except FencedError:
            second = start("billing-b")
    assert committed(mockbroker, INVOICES) == [0]


def test_a_member_dies_without_a_word(mockbroker: MockBroker, start: Start) -> None:
    first, second = start("billing-a"), start("billing-b")
    group = mockbroker.group(GROUP)
    settle(mockbroker, 2, first, second)
    mockbroker.faults.add({"api": "Heartbeat", "client": "billing-a", "park": True})
    # Some clients do not fetch while nobody polls.
    mockbroker.faults.add({"api": "Fetch", "client": "billing-a", "park": True, "maybe": True})
    advance_until(mockbroker, lambda: len(group.members()) == 1, second)
    assert [member.client_id for member in group.members()] == ["billing-b"]
    put_orders(mockbroker, 4)
    run(mockbroker, 4, second)


def test_another_instance_joins_in_between(mockbroker: MockBroker, start: Start) -> None:
    put_orders(mockbroker, 4)
    first = start("billing-a")
    run(mockbroker, 4, first)
    second = start("billing-b")
    settle(mockbroker, 2, first, second)
    put_orders(mockbroker, 6, first=4)
    run(mockbroker, 10, first, second)
    writers = {
        one.client_id for one in mockbroker.journal.requests(api="TxnOffsetCommit", error=False)
    }
    assert writers == {"billing-a", "billing-b"}


@pytest.mark.mockbroker(brokers=3)
@pytest.mark.parametrize("topic", COORDINATOR_TOPICS)
def test_the_coordinator_moves(mockbroker: MockBroker, start: Start, topic: str) -> None:
    put_orders(mockbroker, 2)
    service = start()
    run(mockbroker, 2, service)
    index = partition_for(COORDINATOR_TOPICS[topic], mockbroker.topic(topic).partitions)
    leader = mockbroker.cluster.leader(topic, index)
    mockbroker.cluster.move_leader(topic, index, to=leader % 3 + 1)
    put_orders(mockbroker, 2, first=2)
    run(mockbroker, 4, service)
    mockbroker.journal.expect(error=16).within(0)


def settle(broker: MockBroker, members: int, *services: Service) -> None:
    """Let the services work until each has its partition."""
    deadline = monotonic() + DEADLINE_SECONDS
    while True:
        group = broker.group(GROUP).describe()
        assigned = [member for member in group.members if member.assignment.get(ORDERS)]
        if group.state == "Stable" and len(assigned) == members == len(group.members):
            return
        assert monotonic() < deadline, (group, broker.journal.tail())
        for service in services:
            service.run_once()


def advance_until(broker: MockBroker, condition: Callable[[], bool], service: Service) -> None:
    """Let the broker's time run ahead of a session's end, while the service still heartbeats."""
    deadline = monotonic() + DEADLINE_SECONDS
    while not condition():
        assert monotonic() < deadline, broker.journal.tail()
        broker.clock.advance(3_000)
        service.run_once(0.5)
