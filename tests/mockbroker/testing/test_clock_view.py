"""Time in a test's hands: long time-outs in milliseconds, with a real client's own requests."""

from __future__ import annotations

from datetime import timedelta
from time import perf_counter

import pytest

from mockbroker import MockBroker
from mockbroker.testing.clock_view import milliseconds
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from tests.support.blocking import BlockingConnection

DAY = timedelta(days=1)


DELAYED = (
    "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations,delayedOperation=Fetch"
)


def parked(broker: MockBroker) -> float:
    return broker.metrics()[DELAYED]


def test_a_fetch_that_waits_a_day_answers_when_a_day_has_passed() -> None:
    with MockBroker(topics=["orders"], freeze_clock=True) as broker:
        with BlockingConnection(broker.bootstrap_servers) as client:
            part = FetchRequestPartition(0, -1, 0, -1, -1, 1000)
            topic = FetchRequestTopic("orders", partitions=[part])
            client.send(FetchRequest(-1, 86_400_000, 1, 1000, topics=[topic]), 11)
            deadline = perf_counter() + 20
            while not parked(broker) and perf_counter() < deadline:
                pass
            broker.clock.advance(DAY - timedelta(milliseconds=1))
            assert parked(broker) == 1
            broker.clock.advance(1)
            assert client.receive(FetchResponse).error_code == 0
        assert broker.clock.now_ms == milliseconds(DAY)


def test_the_verbs_work_from_the_test_s_thread() -> None:
    with MockBroker() as broker:
        clock = broker.clock
        clock.freeze()
        before = (clock.now_ms, clock.wall_ms)
        frozen = [clock.frozen]
        clock.jump(-DAY)
        assert clock.now_ms == before[0]
        assert clock.wall_ms == before[1] - int(milliseconds(DAY))
        clock.rate = 10
        assert clock.rate == 10.0
        clock.unfreeze()
        frozen.append(clock.frozen)
        assert frozen == [True, False]
        with pytest.raises(ValueError, match="advance"):
            clock.advance(-1)


async def test_the_verbs_work_in_the_broker_s_own_loop() -> None:
    async with MockBroker(freeze_clock=True) as broker:
        broker.clock.advance(5)
        assert broker.clock.now_ms == 5.0
