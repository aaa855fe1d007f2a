"""Clients that know nothing of the extension, on a broker that shares partitions among them."""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, KafkaError, TopicPartition

from tests.clients.server import serving
from tests.support.keyed_log import LOW

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]

KEYS = [b"a", b"foobar", b"b", b"21", b"foobar", b"21", b"user-1", b"a", b"b", b"c", b"c"]
IN_LOW = [0, 2, 7, 8, 9, 10]
PLACE = AioPartition("t", 0)


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    configs = {
        "coop.extension.enable": "true",
        "coop.metadata.carrier": "true",
        "coop.client.filters": ",".join([f"half=t-0:{LOW.lo}-{LOW.hi}", "nobody=t-0:key=zzz"]),
        "coop.transparent.groups": "workers",
        "group.min.session.timeout.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
    }
    settings = [f"--set={name}={value}" for name, value in configs.items()]
    with serving(
        tmp_path_factory.mktemp("server"), "--topic", "t:1", "--topic", "orders:1", *settings
    ) as address:
        asyncio.run(produce(address, "t", KEYS))
        yield address


async def produce(bootstrap: str, topic: str, keys: list[bytes]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for key in keys:
            await producer.send_and_wait(topic, b"v", key=key, partition=0)


async def by_aiokafka(bootstrap: str, client_id: str) -> list[int]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, client_id=client_id, auto_offset_reset="earliest"
    )
    async with consumer:
        consumer.assign([PLACE])
        offsets: list[int] = []
        while await consumer.position(PLACE) < len(KEYS):
            for records in (await consumer.getmany(timeout_ms=100)).values():
                offsets += [record.offset for record in records]
        return offsets


def by_kafka_python(bootstrap: str, client_id: str) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaConsumer
        from kafka import TopicPartition as PythonPartition

    place = PythonPartition("t", 0)
    consumer: Any = KafkaConsumer(
        bootstrap_servers=bootstrap, client_id=client_id, auto_offset_reset="earliest"
    )
    consumer.assign([place])
    offsets: list[int] = []
    while consumer.position(place) < len(KEYS):
        for records in consumer.poll(timeout_ms=100).values():
            offsets += [record.offset for record in records]
    consumer.close()
    return offsets


def by_confluent(bootstrap: str, client_id: str) -> list[int]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "group.id": f"none-{client_id}",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("t", 0, 0)])
    offsets: list[int] = []
    while (message := consumer.poll(10.0)) is not None:
        error = message.error()
        if error is None:
            offsets.append(message.offset() or 0)
        elif error.code() == KafkaError._PARTITION_EOF:
            break  # other errors pass: the client connects again
    assert message is not None, "never at the end"
    consumer.close()
    return offsets


@pytest.mark.parametrize(
    ("client_id", "given"), [("half", IN_LOW), ("nobody", []), ("other", None)]
)
async def test_a_filter_by_client_id(
    bootstrap: str, client_id: str, given: list[int] | None
) -> None:
    wanted = list(range(len(KEYS))) if given is None else given
    assert await by_aiokafka(bootstrap, client_id) == wanted
    assert await asyncio.to_thread(by_kafka_python, bootstrap, client_id) == wanted
    assert await asyncio.to_thread(by_confluent, bootstrap, client_id) == wanted


def test_ranges_in_metadata(bootstrap: str) -> None:
    def consumer() -> Consumer:
        return Consumer({"bootstrap.servers": bootstrap, "group.id": "text"})

    first = consumer()
    place = TopicPartition("t", 0, 0, "ic1;4-5,7;b=2")
    first.commit(offsets=[place], asynchronous=False)
    (told,) = first.committed([TopicPartition("t", 0)])
    # confluent-kafka reads metadata up to a NUL byte that nobody puts behind it.
    assert told.offset == 2
    assert (told.metadata or "").startswith("ic1;4-5,7;n=2")
    first.commit(offsets=[TopicPartition("t", 0, 0, "ic1;2-3")], asynchronous=False)
    (told,) = first.committed([TopicPartition("t", 0)])
    assert told.offset == 6
    assert (told.metadata or "").startswith("ic1;7;n=1")
    first.close()


class Worker:
    """A plain consumer of a group that does not know that it shares its partition."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.seen: list[tuple[bytes, int]] = []
        self.consumer = AIOKafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap,
            client_id=name,
            group_id="workers",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=1000,
            heartbeat_interval_ms=50,
        )

    async def poll(self) -> None:
        found = await self.consumer.getmany(timeout_ms=50)
        for records in found.values():
            self.seen += [(record.key, record.offset) for record in records]

    async def kill(self) -> None:
        """It is gone without a word: neither heartbeats nor leaving."""
        self.consumer._coordinator._maybe_leave_group = self._nothing
        await self.consumer.stop()

    async def _nothing(self) -> None:
        """Nobody leaves."""


async def both_have_it(*workers: Worker) -> None:
    place = AioPartition("orders", 0)
    while not all(place in one.consumer.assignment() for one in workers):
        for one in workers:
            await one.poll()


async def test_a_group_shares_a_partition_and_does_not_know_tr_01_and_tr_02(bootstrap: str) -> None:
    first, second = Worker(bootstrap, "one"), Worker(bootstrap, "two")
    await asyncio.gather(first.consumer.start(), second.consumer.start())
    await both_have_it(first, second)
    await produce(bootstrap, "orders", [b"a", b"foobar"] * 10)
    while len(first.seen) + len(second.seen) < 20:
        for one in (first, second):
            await one.poll()
    # Each key always at one member.
    assert sorted(len({key for key, _ in one.seen}) for one in (first, second)) == [1, 1]
    await first.consumer.commit()
    await second.consumer.commit()
    assert await first.consumer.committed(AioPartition("orders", 0)) == 20

    # One is killed with ten records that it has not committed: they come again, and no others.
    await produce(bootstrap, "orders", [b"a", b"foobar"] * 10)
    before = [len(one.seen) for one in (first, second)]
    while len(first.seen) + len(second.seen) < 40:
        for one in (first, second):
            await one.poll()
    lost = {offset for _, offset in second.seen[before[1] :]}
    await first.consumer.commit()
    kept = {offset for _, offset in first.seen}
    await second.kill()
    again: list[int] = []
    while not lost <= set(again):
        seen = len(first.seen)
        await first.poll()
        again += [offset for _, offset in first.seen[seen:]]
    assert sorted(again) == sorted(lost)
    assert not kept & set(again)
    await first.consumer.commit()
    assert await first.consumer.committed(AioPartition("orders", 0)) == 40
    await first.consumer.stop()
