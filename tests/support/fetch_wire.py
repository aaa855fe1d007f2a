"""Consumers over TCP with the session of the simulated ones, on brokers whose time stands still."""

from __future__ import annotations

import select
import socket
from math import floor
from typing import TYPE_CHECKING

import pytest

from mockbroker.what_if.consumer import VERSION, Session
from mockbroker.what_if.topology import Topology, listed_parts
from mockbroker_protocol.fetch_codec import decode_fetch_response, encode_fetch_request
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.plan import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker import MockBroker
    from mockbroker.testing.bridge import Bridge


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
