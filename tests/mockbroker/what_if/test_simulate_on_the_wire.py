"""The same cluster simulated and run: brokers that follow each other, consumers over TCP."""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack, closing
from math import floor
from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.fetch.savings import HIGH_WATERMARK_BYTES
from mockbroker.replica.fetcher import FETCH_VERSION
from mockbroker.what_if.consumer import VERSION, Session
from mockbroker.what_if.simulate import World, batch_of
from mockbroker.what_if.topology import SCENARIOS, Topology, listed_parts
from mockbroker_protocol.fetch_codec import decode_fetch_response, encode_fetch_request
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.fetch import FetchRequest
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.plan import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.testing.bridge import Bridge

PARTITIONS = 6
SECONDS = 6.3
SCENARIO = {each.name: each for each in SCENARIOS}


class Wire:
    """A connection to a broker, of a client that reads one answer at a time."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), 20)

    def send(self, api_key: int, version: int, client_id: str, body: bytes) -> None:
        frame = encode_request_header(api_key, version, 7, client_id) + body
        self.socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def receive(self) -> bytes:
        size = int.from_bytes(self._exactly(4), "big")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self.socket.recv(size - len(data)) or pytest.fail("the broker hung up")
        return data


class WireConsumer:
    """A consumer over TCP with the session of the simulated one."""

    def __init__(self, name: str, wire: Wire, session: Session) -> None:
        self.name, self.wire, self.session = name, wire, session

    def poll(self) -> None:
        body = encode_fetch_request(self.session.request(), VERSION)
        self.wire.send(1, VERSION, self.name, body)

    def take(self) -> None:
        frame = self.wire.receive()
        _, pos = decode_response_header(frame, 1, VERSION)
        self.session.take(decode_fetch_response(frame, pos, VERSION))
        self.poll()


def running(broker: MockBroker) -> Bridge:
    assert broker._bridge is not None
    return broker._bridge


def produce(wire: Wire, topic_id: bytes, index: int, batch: bytes) -> None:
    partition = ProduceRequestPartition(index=index, records=batch)
    topic = ProduceRequestTopic(topic_id=topic_id, partition_data=[partition])
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
    wire.send(0, 13, "producer", b"".join(encode(request, 13)))
    wire.receive()


class WireCluster:
    """Three brokers on frozen time, and the consumers that the topology has."""

    def __init__(self, broker: MockBroker, topology: Topology) -> None:
        self.broker, self.topology = broker, topology
        self.parts = listed_parts(topology)
        addresses = broker.bootstrap_servers.split(",")
        self.addresses = dict(zip(sorted(self.parts), addresses, strict=True))
        self.topic_id: bytes = running(broker).call(lambda it: it.metadata.topics["orders"].id)
        self.consumers: dict[int, list[WireConsumer]] = {}
        for node, part in self.parts.items():
            indexes = [at for at, (_, _, to) in enumerate(topology.replicas) if to[0] == node]
            self.consumers[node] = [
                WireConsumer(
                    name,
                    Wire(self.addresses[node]),
                    Session(
                        [(self.topic_id, indexes[number]) for _, number in read],
                        topology.fetch_max_bytes,
                    ),
                )
                for name, read in part.readers.items()
            ]
        self.producers = {node: Wire(address) for node, address in self.addresses.items()}
        for consumer in self.all_consumers():
            consumer.poll()
        self.settle()

    def all_consumers(self) -> Iterator[WireConsumer]:
        for consumers in self.consumers.values():
            yield from consumers

    def close(self) -> None:
        for each in (*self.producers.values(), *(it.wire for it in self.all_consumers())):
            each.socket.close()

    def settle(self) -> None:
        """Let consumers take their answers, until every poll is parked at its broker."""
        expected = {node: 2 + len(there) for node, there in self.consumers.items()}
        while self.parked() != expected:
            for consumer in self.all_consumers():
                if select.select([consumer.wire.socket], [], [], 0.001)[0]:
                    consumer.take()

    def parked(self) -> dict[int, int]:
        return running(self.broker).call(
            lambda it: {
                core.broker_id: core.services.replicas.fetch_purgatory.num_delayed_operations
                for core in it.brokers
            }
        )

    def advance_to(self, time_ms: float) -> None:
        """By a millisecond at once, as waits end at whole ones: consumers poll again in time."""
        while (now_ms := self.broker.clock.now_ms) < time_ms:
            self.broker.clock.advance(min(floor(now_ms) + 1.0, time_ms) - now_ms)
            self.settle()

    def append(self, node: int, number: int, batch: bytes) -> None:
        indexes = [at for at, (_, _, to) in enumerate(self.topology.replicas) if to[0] == node]
        produce(self.producers[node], self.topic_id, indexes[number], batch)
        self.settle()


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
