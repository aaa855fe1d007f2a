"""Each act and preset against one record of each Python client: what the application is told.

Each case asserts that the rule fired, what the client did about it, and what the log then holds.
What one client does otherwise than the others is said beside its case and in docs/faults.md.
"""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mockbroker import MockBroker
from mockbroker.faults import Fault
from mockbroker.faults.presets import preset
from tests.clients.one_record import CLIENTS, GROUP, LONG, SHORT, TOPIC, VALUE, Patience, Read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),  # by kafka-python
    # Clients that give up leave sockets behind.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DEADLINE_SECONDS = 20.0
NO_PATIENCE = Patience(400, 1_500)
"""Enough for a request that is not answered and one more."""
ENDLESS = "TimeoutError"
"""aiokafka tries on: it is the test that gives up."""


class Told(NamedTuple):
    """The error that each client's application gets; None: none, the record is through."""

    kafka_python: str | None
    confluent_kafka: str | None
    aiokafka: str | None

    def by(self, client: str) -> str | None:
        return dict(zip(CLIENTS, self, strict=True))[client]


NOTHING = Told(None, None, None)
TIMED_OUT = Told("KafkaTimeoutError", "_MSG_TIMED_OUT", ENDLESS)
NOT_ALLOWED = Told(
    "TopicAuthorizationFailedError", "TOPIC_AUTHORIZATION_FAILED", "TopicAuthorizationFailedError"
)
CORRUPT = Told("CorruptRecordError", "_BAD_MSG", "CorruptRecordException")


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics=[TOPIC]) as running:
        yield running
    gc.collect()  # what clients have left behind, while its warnings are this module's


def hits(broker: MockBroker) -> int:
    return sum(status.hits for status in broker.faults.list())


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline


SENT_ONCE: dict[str, tuple[list[Fault], Told]] = {
    "correlation_shift": ([Fault(api="Produce", nth=1, correlation_shift=1_000)], NOTHING),
    # A length that cannot be: two of them report what is in the log as not sent.
    "corrupt_at-length": (
        [Fault(api="Produce", nth=1, corrupt_at=0)],
        Told("InvalidReceiveError", "_BAD_MSG", None),
    ),
    "corrupt_at-correlation-id": ([Fault(api="Produce", nth=1, corrupt_at=4)], NOTHING),
    "twice": ([Fault(api="Produce", nth=1, twice=True)], NOTHING),
    "half_close": ([Fault(api="Produce", nth=1, half_close=True)], NOTHING),
    "truncate_at": ([Fault(api="Produce", nth=1, truncate_at=9)], NOTHING),
    "throttle_ms": ([Fault(api="Produce", nth=1, throttle_ms=50)], NOTHING),
    "delay_ms": ([Fault(api="Produce", nth=1, delay_ms=SHORT.request_ms / 2)], NOTHING),
    "latency_ms": ([Fault(latency_ms=20)], NOTHING),
    "bandwidth": ([Fault(bandwidth=10_000)], NOTHING),
    "slice_bytes": ([Fault(slice_bytes=3)], NOTHING),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("act", SENT_ONCE)
def test_an_idempotent_record_is_in_the_log_once(broker: MockBroker, client: str, act: str) -> None:
    rules, told = SENT_ONCE[act]
    broker.faults.add(rules)
    assert CLIENTS[client].send(broker.bootstrap_servers) == told.by(client)
    assert hits(broker) >= 1
    assert [record.value for record in broker.topic(TOPIC).records()] == [VALUE]


@pytest.mark.parametrize("client", CLIENTS)
def test_twice_is_a_duplicate_unless_the_producer_is_idempotent(
    broker: MockBroker, client: str
) -> None:
    broker.faults.add(Fault(api="Produce", nth=1, twice=True))
    assert CLIENTS[client].send(broker.bootstrap_servers, idempotent=False) is None
    assert hits(broker) == 1
    assert [record.value for record in broker.topic(TOPIC).records()] == [VALUE, VALUE]


GIVEN_UP: dict[str, tuple[list[Fault], Told, int]] = {
    "error": ([Fault(api="Produce", error="TOPIC_AUTHORIZATION_FAILED")], NOT_ALLOWED, 0),
    "not_enough_replicas": (preset("not_enough_replicas", count=1_000), TIMED_OUT, 0),
    "leader_moved": (preset("leader_moved", count=1_000), TIMED_OUT, 0),
    "delay_ms": ([Fault(api="Produce", delay_ms=30_000)], TIMED_OUT, 0),
    "drop": ([Fault(api="Produce", drop=True)], TIMED_OUT, 0),
    "disconnect": ([Fault(api="Produce", disconnect=True)], TIMED_OUT, 0),
    "reset": ([Fault(api="Produce", reset=True)], TIMED_OUT, 0),
    "half_close": ([Fault(api="Produce", half_close=True)], TIMED_OUT, 0),
    "truncate_at": ([Fault(api="Produce", truncate_at=9)], TIMED_OUT, 1),
    "refuse": (
        [Fault(refuse=True)],
        Told("KafkaTimeoutError", "_MSG_TIMED_OUT", "KafkaConnectionError"),
        0,
    ),
}
BY_THE_LAST_ANSWER = {
    "not_enough_replicas": "NotEnoughReplicasError",
    **dict.fromkeys(("disconnect", "reset", "half_close", "truncate_at"), "KafkaConnectionError"),
    **dict.fromkeys(("drop", "delay_ms"), "RequestTimedOutError"),
}
"""What kafka-python tells where an attempt ends when the time for delivery has just passed."""


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("act", GIVEN_UP)
def test_what_never_ends_is_given_up_by_all_but_an_idempotent_aiokafka(
    broker: MockBroker, client: str, act: str
) -> None:
    rules, told, stored = GIVEN_UP[act]
    broker.faults.add(rules)
    sent = CLIENTS[client].send(broker.bootstrap_servers, patience=NO_PATIENCE)
    if client != "kafka-python" or sent != BY_THE_LAST_ANSWER.get(act):
        assert sent == told.by(client)
    assert hits(broker) >= 1
    assert len(broker.topic(TOPIC).records()) == stored


@pytest.mark.parametrize(
    ("act", "error"),
    [
        ("not_enough_replicas", "NotEnoughReplicasError"),
        ("drop", "RequestTimedOutError"),
        ("disconnect", "KafkaConnectionError"),
    ],
)
def test_an_aiokafka_that_is_not_idempotent_gives_up(
    broker: MockBroker, act: str, error: str
) -> None:
    broker.faults.add(GIVEN_UP[act][0])
    assert CLIENTS["aiokafka"].send(broker.bootstrap_servers, idempotent=False) == error
    assert hits(broker) >= 1


@pytest.mark.parametrize("client", CLIENTS)
def test_a_parked_produce_waits_for_its_release(broker: MockBroker, client: str) -> None:
    (rule,) = broker.faults.add(Fault(api="Produce", nth=1, park=True))
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(CLIENTS[client].send, broker.bootstrap_servers, patience=LONG)
        until(lambda: broker.faults.list()[0].held == 1)
        assert not sending.done()
        assert broker.topic(TOPIC).records() == []
        assert broker.faults.release(rule) == 1
        assert sending.result(DEADLINE_SECONDS) is None
    assert hits(broker) == 1
    assert len(broker.topic(TOPIC).records()) == 1


READ_ONCE: dict[str, tuple[list[Fault], Told]] = {
    "correlation_shift": ([Fault(api="Fetch", nth=1, correlation_shift=1_000)], NOTHING),
    "corrupt_at-length": ([Fault(api="Fetch", nth=1, corrupt_at=0)], NOTHING),
    "corrupt_at-record": ([Fault(api="Fetch", nth=1, corrupt_at=-8)], CORRUPT),
    "twice": ([Fault(api="Fetch", nth=1, twice=True)], NOTHING),
    "drop": ([Fault(api="Fetch", nth=1, drop=True)], NOTHING),
    "throttle_ms": ([Fault(api="Fetch", nth=1, throttle_ms=50)], NOTHING),
    "error": ([Fault(api="Fetch", error="TOPIC_AUTHORIZATION_FAILED")], NOT_ALLOWED),
    "poison_batch": (preset("poison_batch"), CORRUPT),
    "session_evicted": (preset("session_evicted"), NOTHING),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("act", READ_ONCE)
def test_a_record_is_read_or_its_error_told(broker: MockBroker, client: str, act: str) -> None:
    rules, told = READ_ONCE[act]
    broker.topic(TOPIC).put(VALUE)
    broker.faults.add(rules)
    error = told.by(client)
    expected = [Read([] if error else [VALUE], error)]
    if (client, act) == ("confluent-kafka", "corrupt_at-length"):
        expected.append(Read([], "_BAD_MSG"))  # it may tell of it first
    assert CLIENTS[client].read(broker.bootstrap_servers) in expected
    assert hits(broker) >= 1


@pytest.mark.parametrize("client", CLIENTS)
def test_a_parked_fetch_is_read_once_released(broker: MockBroker, client: str) -> None:
    broker.topic(TOPIC).put(VALUE)
    (rule,) = broker.faults.add(Fault(api="Fetch", nth=1, park=True))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(CLIENTS[client].read, broker.bootstrap_servers, patience=LONG)
        until(lambda: broker.faults.list()[0].held == 1)
        assert not reading.done()
        assert broker.faults.release(rule) == 1
        assert reading.result(DEADLINE_SECONDS) == Read([VALUE], None)
    assert hits(broker) == 1


@pytest.mark.parametrize("client", CLIENTS)
def test_a_rolling_restart_is_ridden_out_by_a_member(broker: MockBroker, client: str) -> None:
    """The broker goes down between two records; the commit finds its coordinator again."""

    def restart_once() -> None:
        if not broker.faults.list():
            broker.faults.add(preset("rolling_restart", down_ms=300, loading=1))
            broker.topic(TOPIC).put(b"after")

    broker.topic(TOPIC).put(VALUE)
    read = CLIENTS[client].read_in_group(broker.bootstrap_servers, restart_once)
    assert read == Read([VALUE, b"after"], None)
    assert [status.hits for status in broker.faults.list()] == [1, 1]
    assert broker.group(GROUP).committed() == {(TOPIC, 0): 2}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_fenced_producer_fails_for_good(broker: MockBroker, client: str) -> None:
    told = Told("ProducerFencedError", "_FENCED", "ProducerFenced").by(client)
    rules = preset("fenced_producer", transactional_id="tx")
    sent = CLIENTS[client].send_in_transaction(
        broker.bootstrap_servers, lambda: broker.faults.add(rules)
    )
    assert sent == told
    assert hits(broker) == 1
    assert broker.topic(TOPIC).records() == []
