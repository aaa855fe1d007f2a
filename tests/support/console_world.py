"""A broker of full size for the console, and clients that go on while somebody looks.

1,000 topics of 10 partitions each, 100 groups with offsets and records. The clients are a consumer
in a group, a producer with transactions, and a raw connection that keeps a pace or hurries.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from confluent_kafka import Consumer, Producer

from mockbroker.testing.remote.process import BrokerProcess
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.plan import encode
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.testing.remote.broker import RemoteBroker

TOPICS: Final = 1000
PARTITIONS: Final = 10
GROUPS: Final = 100
PACE_S: Final = 0.1
"""Between two rounds of the clients, when they are not in a hurry."""
IN_FLIGHT: Final = 20
TRANSACTION_EVERY: Final = 1000
"""Requests of the raw connection."""
_VERSION: Final = 9


@contextmanager
def world(topics: int = TOPICS, groups: int = GROUPS) -> Iterator[RemoteBroker]:
    """The broker, in a process of its own."""
    with BrokerProcess(topics={f"topic-{n:04}": PARTITIONS for n in range(topics)}) as broker:
        for n in range(groups):
            name = f"topic-{n % topics:04}"
            broker.topic(name).put_all([f"value {index}" for index in range(20)])
            broker.group(f"group-{n:03}").commit({(name, index): 1 for index in range(PARTITIONS)})
        yield broker


class Load:
    """Clients on a thread of their own; `hurry` lets them ask as fast as they are answered."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.split(",", maxsplit=1)[0].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 30)
        config = {"bootstrap.servers": bootstrap_servers}
        self._consumer = Consumer({**config, "group.id": "live", "auto.offset.reset": "earliest"})
        self._consumer.subscribe([f"topic-{n:04}" for n in range(10)])
        self._producer = Producer({**config, "transactional.id": "ledger"})
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.hurry = False
        self.answered = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stopped.set()
        self._thread.join(60)
        self._socket.close()
        self._consumer.close()

    def _run(self) -> None:
        turn = 0
        self._producer.init_transactions(60)
        while not self._stopped.is_set():
            frames = [
                _produce(turn + n) if n % 2 else _metadata(turn + n) for n in range(IN_FLIGHT)
            ]
            turn += IN_FLIGHT
            ask(self._socket, frames)
            self.answered += len(frames)
            self._consumer.poll(0)
            if turn % TRANSACTION_EVERY == 0:
                self._producer.begin_transaction()
                self._producer.produce("topic-0001", b"entry")
                self._producer.commit_transaction(60)
            if not self.hurry:
                self._stopped.wait(PACE_S)


def ask(connection: socket.socket, frames: list[bytes]) -> None:
    """Send them, and read as many answers."""
    connection.sendall(b"".join(frames))
    for _ in frames:
        _read(connection, struct.unpack(">i", _read(connection, 4))[0])


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise ConnectionError("the broker closed")
        found += part
    return found


def _produce(turn: int) -> bytes:
    batch = build_batch([Record(0, 1_700_000_000_000, b"key", f"value {turn}".encode(), [])])
    partition = ProduceRequestPartition(index=turn % PARTITIONS, records=batch)
    topic = ProduceRequestTopic(name=f"topic-{turn % 50:04}", partition_data=[partition])
    request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[topic])
    return _frame(0, turn, request, f"producer-{turn % 7}")


def _metadata(turn: int) -> bytes:
    topic = MetadataRequestTopic(name=f"topic-{turn % 100:04}")
    request = MetadataRequest(topics=[topic])
    return _frame(3, turn, request, f"reader-{turn % 11}")


def _frame(key: int, turn: int, request: object, client: str) -> bytes:
    header = encode_request_header(key, _VERSION, turn, client)
    body = header + b"".join(map(bytes, encode(request, _VERSION)))
    return len(body).to_bytes(4, "big") + body
