"""Polls on virtual time; those that are only counted cost what they cost when they are played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.changes import PartitionState
from mockbroker.what_if.broker import EVICTION_MS, SLOTS, Client, SimulatedBroker
from mockbroker.what_if.consumer import Consumer
from mockbroker.what_if.costs import Costs
from mockbroker.what_if.simulate import batch_of

if TYPE_CHECKING:
    from collections.abc import Mapping

TOPIC_ID = (7).to_bytes(16, "big")


def broker_with(
    config: Mapping[str, str] | None = None, *, counts_idle: bool, travel_ms: float = 0.0
) -> SimulatedBroker:
    broker = SimulatedBroker(1, config or {}, counts_idle=counts_idle, travel_ms=travel_ms)
    broker.create_topic("orders", TOPIC_ID, [PartitionState(1, [1], [1]) for _ in range(4)])
    return broker


def consumer_of(broker: SimulatedBroker, number: int, *indexes: int) -> Costs:
    costs = Costs()
    client = Client(number, f"app-{number}", costs)
    consumer = Consumer(broker, client, [(TOPIC_ID, index) for index in indexes], 1 << 20)
    broker.at(number * 7.3, consumer.start)
    return costs


def append_at(broker: SimulatedBroker, time_ms: float, index: int) -> None:
    partition = broker.partition("orders", index)

    def append() -> None:
        partition.append_batch(batch_of(200), AppendOrigin.CLIENT)

    broker.at(time_ms, append)


@pytest.mark.parametrize(
    ("slots", "travel_ms"),
    [
        *((slots, travel_ms) for slots in ("1000", "16", "0") for travel_ms in (0.0, 0.3, 2.0)),
        # Sessions evict each other. Of polls that arrive at one moment either may be the first.
        ("8", 0.0),
        ("8", 0.3),
    ],
)
def test_what_is_counted_is_what_is_played(slots: str, travel_ms: float) -> None:
    told = []
    for counts_idle in (False, True):
        config = {SLOTS: slots, EVICTION_MS: "3000"}
        broker = broker_with(config, counts_idle=counts_idle, travel_ms=travel_ms)
        costs = [consumer_of(broker, number, *range(number % 3 + 1)) for number in range(1, 12)]
        for time_ms, index in ((700.2, 0), (701.9, 1), (4321.5, 2), (9000.1, 0), (9003.0, 3)):
            append_at(broker, time_ms, index)
        broker.run(12_345.6)
        told.append(([each.values() for each in costs], broker.session_events, broker.waiting))
    assert told[0] == told[1]


def test_an_idle_session_costs_no_look_at_a_partition() -> None:
    broker = broker_with(counts_idle=True)
    costs = consumer_of(broker, 1, 0, 1, 2, 3)
    broker.run(60_200.0)
    assert costs.polls == 121
    assert costs.looked_at == 8  # the full fetch, as it came and as it was answered


def test_an_append_wakes_who_waits_for_it() -> None:
    broker = broker_with(counts_idle=True, travel_ms=1.0)
    costs = consumer_of(broker, 1, 0)
    append_at(broker, 5_000.0, 0)
    broker.run(5_001.5)
    assert costs.records_bytes == len(batch_of(200))


def test_errors_and_what_became_of_sessions_are_counted() -> None:
    broker = broker_with({SLOTS: "8"}, counts_idle=True)
    for number in range(1, 10):
        consumer_of(broker, number, 0)
    broker.run(600.0)
    assert broker.sessions == 8
    assert broker.session_events == {"opened": 8, "refused": 1}
