"""The same cluster simulated and run: brokers that follow each other, consumers over TCP."""

from __future__ import annotations

from contextlib import ExitStack, closing
from random import Random

import pytest

from mockbroker import MockBroker
from mockbroker.fetch.savings import HIGH_WATERMARK_BYTES
from mockbroker.replica.fetcher import FETCH_VERSION
from mockbroker.what_if.simulate import World, batch_of
from mockbroker.what_if.topology import SCENARIOS, Topology, listed_parts
from mockbroker_protocol.messages.fetch import FetchRequest
from tests.support.fetch_wire import WireCluster

PARTITIONS = 6
SECONDS = 6.3
SCENARIO = {each.name: each for each in SCENARIOS}


def appends_of(topology: Topology) -> list[tuple[float, int, int]]:
    """When, where and to which of its partitions, as each broker's world draws them."""
    found = []
    for node, part in listed_parts(topology).items():
        dice = Random(f"{topology.seed}/{node}/appends")
        count = sum(map(len, part.topics.values()))
        now_ms = dice.expovariate(topology.change_rate * count / 1000)
        while now_ms <= topology.seconds * 1000:
            found.append((now_ms, node, dice.randrange(count)))
            now_ms += dice.expovariate(topology.change_rate * count / 1000)
    return sorted(found)


@pytest.mark.parametrize("scenario", ["kip-74", "kip-227", "kip-1166"])
def test_the_bytes_are_those_of_the_wire(scenario: str) -> None:
    slots = "0" if scenario == "kip-74" else "1000"
    config = {"default.replication.factor": "3", "max.incremental.fetch.session.cache.slots": slots}
    started = MockBroker(
        brokers=3,
        topics={"orders": PARTITIONS},
        config=config,
        freeze_clock=True,
        journal_replication=True,
    )
    with ExitStack() as stack:
        broker = stack.enter_context(started)
        broker.cluster.tell_high_watermark(scenario == "kip-1166")
        replicas = [
            ("orders", at, broker.cluster.replicas("orders", at)) for at in range(PARTITIONS)
        ]
        topology = Topology(
            replicas=replicas,
            consumers=2,
            change_rate=0.5,
            batch_bytes=300,
            seconds=SECONDS,
            travel_ms=0.0,
        )
        wire = stack.enter_context(closing(WireCluster(broker, topology)))
        for time_ms, node, number in appends_of(topology):
            wire.advance_to(time_ms)
            wire.append(node, number, batch_of(topology.batch_bytes))
        wire.advance_to(SECONDS * 1000)
        served = list(broker.journal.requests(api="Fetch"))
        for node, part in wire.parts.items():
            world = World(topology, part, SCENARIO[scenario])
            world.run()
            figures = world.figures()
            mine = [each for each in served if each.broker_id == node]
            costs = [world.follower_costs, world.consumer_costs]
            polls, request_bytes = world.broker.waiting
            assert len(mine) == sum(each.polls for each in costs) - polls
            assert sum(each.response_bytes for each in mine) == sum(
                each.response_bytes for each in costs
            )
            told = sum(each.request_bytes + 4 for each in mine)
            if scenario != "kip-1166":  # the first ones were sent before they were told not to
                told -= sum(
                    HIGH_WATERMARK_BYTES * len(topic.partitions)
                    for each in mine
                    if each.api_version == FETCH_VERSION and isinstance(each.request, FetchRequest)
                    for topic in each.request.topics
                )
            assert told == sum(each.request_bytes for each in costs) - request_bytes
            assert figures["appends"] > 0
