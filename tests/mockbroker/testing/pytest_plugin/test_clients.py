"""Ready-made clients: assigned when they are given out, closed at the end."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockBroker
from mockbroker.testing.pytest_plugin import clients as clients_module
from mockbroker.testing.pytest_plugin.clients import Clients

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    # kafka-python reads its own schemas in a way that importlib.resources will not have for ever,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # and leaves a socket to the collector when it is closed early.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What a client leaves behind is collected here, not in another test."""
    yield
    gc.collect()


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics={"orders": 2}) as broker:
        yield broker


@pytest.fixture
def clients(broker: MockBroker) -> Iterator[Clients]:
    with Clients(broker.client_config) as clients:
        yield clients


def taken_kafka(consumer: Any, count: int) -> list[bytes]:
    values: list[bytes] = []
    while len(values) < count:
        for records in consumer.poll(1000).values():
            values += [record.value for record in records]
    return sorted(values)


def taken_confluent(consumer: Any, count: int) -> list[bytes]:
    values: list[bytes] = []
    while len(values) < count:
        message = consumer.poll(1)
        if message is not None:
            assert message.error() is None
            values.append(message.value())
    return sorted(values)


@pytest.mark.parametrize("group_id", [None, "g"])
def test_a_consumer_of_kafka_python_has_its_partitions_and_misses_nothing(
    broker: MockBroker, clients: Clients, group_id: str | None
) -> None:
    broker.topic("orders").put_all([f"{number}" for number in range(4)])
    consumer = clients.kafka_consumer("orders", group_id=group_id)
    assert len(consumer.assignment()) == 2
    assert taken_kafka(consumer, 4) == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("group_id", [None, "g"])
def test_a_consumer_of_confluent_kafka_has_its_partitions_and_misses_nothing(
    broker: MockBroker, clients: Clients, group_id: str | None
) -> None:
    broker.topic("orders").put_all([f"{number}" for number in range(4)])
    consumer = clients.confluent_consumer("orders", group_id=group_id)
    assert len(consumer.assignment()) == 2
    assert taken_confluent(consumer, 4) == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("time", range(3))
def test_a_consumer_of_kafka_python_is_a_member_for_good(
    broker: MockBroker, clients: Clients, time: int
) -> None:
    broker.topic("orders").put_all(["1", "2"])
    broker.faults.add(
        {"api": "Metadata", "topic": "orders", "delay_ms": 100, "maybe": True},
        {"api": "SyncGroup", "delay_ms": 80},  # a poll ends amid it
    )
    group = broker.group(f"g{time}")
    consumer = clients.kafka_consumer("orders", group_id=group.group_id, enable_auto_commit=False)
    assert taken_kafka(consumer, 2) == [b"1", b"2"]
    for _ in range(10):
        consumer.poll(50)
    consumer.commit()
    group.wait_committed({("orders", 0): 1, ("orders", 1): 1}, timeout=5)


def test_producers_and_admins_work(broker: MockBroker, clients: Clients) -> None:
    clients.kafka_producer(client_id="one").send("orders", b"one").get(10)
    producer = clients.confluent_producer({"client.id": "two"})
    producer.produce("orders", b"two")
    assert producer.flush(10) == 0
    assert sorted(one.value for one in broker.topic("orders").wait_for(2)) == [b"one", b"two"]
    assert {one.client_id for one in broker.journal.requests(api="Produce")} == {"one", "two"}
    assert clients.kafka_admin().list_topics() == ["orders"]
    assert list(clients.confluent_admin().list_topics(timeout=10).topics) == ["orders"]


def test_a_producer_of_confluent_kafka_does_not_outlive_its_test(broker: MockBroker) -> None:
    with Clients(broker.client_config) as clients:
        producer, of_transactions = (
            clients.confluent_producer(config) for config in ({}, {"transactional.id": "t"})
        )
        producer.produce("orders", b"sent by the end")
        of_transactions.init_transactions(10)
        of_transactions.begin_transaction()
    assert [one.value for one in broker.topic("orders").records()] == [b"sent by the end"]
    with pytest.raises(RuntimeError, match="closed"):
        producer.produce("made-anew", b"late")


def test_what_cannot_be_sent_is_dropped_with_the_producer(
    broker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients_module, "CLOSE_TIMEOUT_SECONDS", 0.1)
    broker.faults.add({"api": "Produce", "park": True})
    with Clients(broker.client_config) as clients:
        clients.confluent_producer().produce("orders", b"parked for ever")
    broker.faults.clear()


def test_a_test_may_close_a_producer_itself(clients: Clients) -> None:
    clients.confluent_producer().close()


def test_they_are_closed_at_the_end(broker: MockBroker) -> None:
    with Clients(broker.client_config) as clients:
        clients.kafka_consumer("orders", group_id="g")
        clients.confluent_consumer("orders", group_id="h")
        broker.group("h").wait_stable(members=1)
    assert broker.group("g").wait_empty().state == "Empty"
    assert broker.group("h").wait_empty().state == "Empty"


def test_without_partitions_it_is_an_error(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        MockBroker(auto_create=False) as strict,
        Clients(strict.client_config) as of_strict,
        pytest.raises(LookupError, match="no topic 'nope' to consume"),
    ):
        of_strict.kafka_consumer("nope")
    monkeypatch.setattr(clients_module, "ASSIGNMENT_TIMEOUT_SECONDS", 0)
    with pytest.raises(TimeoutError, match="no partitions were assigned within 0 s"):
        clients._until_assigned(list, lambda: None)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kafka", None)
    with pytest.raises(pytest.fail.Exception, match="needs kafka-python: pip install"):
        Clients(lambda _: {}).kafka_producer()
