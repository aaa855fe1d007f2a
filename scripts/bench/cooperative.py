"""One hot partition and ever more workers; and what it costs to filter a fetch by keys.

Workers: each record takes 5 ms of waiting, as a call to some service does. A plain group has one
busy worker whatever its size; members with ranges of keys, and members that are dealt batches, work
side by side. Told is how many records a second are done while there is a backlog, and how many of
them were begun before an earlier one of the same key was done.

Filtering: the broker's processor time for each MB of a partition, fetched whole and by halves of
the slots, with and without its cache of what the first half left.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import socket
import time
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from mockbroker.coop import tags
from mockbroker.coop.key_filter import SLOTS, KeyRange
from mockbroker.coop.numbers import Tag
from mockbroker.coop_client import SharedConsumer
from mockbroker_protocol.fetch_codec import decode_fetch_response, encode_fetch_request
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from scripts.bench import peers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

WORK_SECONDS = 0.005
KEYS = 2000
PER_BATCH = 10
POLLED = 100
CONFIG = {
    "coop.extension.enable": "true",
    "coop.fetch.max.locks": "20000",
    "group.initial.rebalance.delay.ms": "1000",
}
PRODUCE, FETCH, FETCH_VERSION, PRODUCE_VERSION = 0, 1, 12, 9
HALVES = KeyRange(0, SLOTS // 2 - 1), KeyRange(SLOTS // 2, SLOTS - 1)
MEGABYTE = 1_000_000
ENOUGH_SECONDS = 0.3
CODECS = {"none": 0, "lz4": 3, "zstd": 4, "gzip": 1}

Mode = Literal["plain group", "key ranges", "cooperative fetch"]
MODES: tuple[Mode, ...] = ("plain group", "key ranges", "cooperative fetch")
T = TypeVar("T")


class Done(NamedTuple):
    """What workers did in a while."""

    per_second: float
    out_of_order_percent: float


class Tally:
    """Which records are done, and whether those of a key were worked on one after another."""

    def __init__(self) -> None:
        self.counted = self.out_of_order = 0
        self.is_counting = False
        self._open: dict[bytes | None, list[int]] = {}
        self.started: set[int] = set()
        self.awaited = 0
        self.all_started = asyncio.Event()

    async def work(self, worker: int, key: bytes | None, offset: int) -> None:
        self.started.add(worker)
        if len(self.started) == self.awaited:
            self.all_started.set()
        under_way = self._open.setdefault(key, [])
        is_late = any(other < offset for other in under_way)
        under_way.append(offset)
        await asyncio.sleep(WORK_SECONDS)
        under_way.remove(offset)
        if self.is_counting:
            self.counted += 1
            self.out_of_order += is_late


async def fill(address: str, topic: str, records: int) -> None:
    """Batches of ten records, each with one of many keys."""
    dice = random.Random(7)
    async with AIOKafkaProducer(bootstrap_servers=address) as producer:
        await producer.partitions_for(topic)
        sent = []
        for _ in range(records // PER_BATCH):
            batch = producer.create_batch()
            for _ in range(PER_BATCH):
                key = f"customer-{dice.randrange(KEYS)}".encode()
                batch.append(key=key, value=b"an order", timestamp=None)
            sent.append(await producer.send_batch(batch, topic, partition=0))
        await asyncio.gather(*sent)


async def measure(address: str, topic: str, mode: Mode, workers: int, seconds: float) -> Done:
    """How fast so many workers get on with the backlog of a partition."""
    tally, ending = Tally(), asyncio.Event()
    tally.awaited = 1 if mode == "plain group" else workers
    group_id = f"{mode.replace(' ', '-')}-{workers}"
    async with AsyncExitStack() as stack:
        running: list[Awaitable[None]] = []
        for worker in range(workers):
            if mode == "plain group":
                plain = AIOKafkaConsumer(
                    topic,
                    bootstrap_servers=address,
                    group_id=group_id,
                    auto_offset_reset="earliest",
                    enable_auto_commit=False,
                )
                starting = asyncio.create_task(stack.enter_async_context(plain))
                running.append(asyncio.create_task(work_plainly(starting, worker, tally, ending)))
            else:
                shared = SharedConsumer(
                    address,
                    group_id=group_id,
                    topics=[topic],
                    mode="key_range" if mode == "key ranges" else "round_robin",
                    auto_offset_reset="earliest",
                    heartbeat_ms=300,
                )
                await stack.enter_async_context(shared)
                running.append(asyncio.create_task(work_together(shared, worker, tally, ending)))
        await asyncio.wait_for(tally.all_started.wait(), 180)
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        tally.is_counting = True
        await asyncio.sleep(seconds)
        tally.is_counting = False
        took = time.monotonic() - begun
        ending.set()
        await asyncio.gather(*running)
    return Done(tally.counted / took, 100 * tally.out_of_order / max(tally.counted, 1))


async def work_plainly(
    starting: asyncio.Task[AIOKafkaConsumer], worker: int, tally: Tally, ending: asyncio.Event
) -> None:
    consumer = await starting
    while not ending.is_set():
        found = await consumer.getmany(timeout_ms=100, max_records=POLLED)
        for records in found.values():
            for record in records:
                await tally.work(worker, record.key, record.offset)
        if found:
            await consumer.commit()


async def work_together(
    consumer: SharedConsumer, worker: int, tally: Tally, ending: asyncio.Event
) -> None:
    while not ending.is_set():
        found = await consumer.poll(0.1, POLLED)
        for record in found:
            await tally.work(worker, record.key, record.offset)
            consumer.ack(record)
        if found:
            with suppress(Exception):  # a rebalance: they are given again
                await consumer.commit()


def show_workers(counts: Iterable[int], seconds: float) -> None:
    print(
        "| workers | " + " | ".join(f"{mode} | times one | out of order" for mode in MODES) + " |"
    )
    print("|" + " ---: |" * (1 + 3 * len(MODES)))
    alone: dict[Mode, float] = {}
    for workers in counts:
        cells = []
        for mode in MODES:
            with peers.run_peer("mockbroker", CONFIG) as peer:
                backlog = int(workers * (seconds + 3) / WORK_SECONDS) + 20_000
                asyncio.run(fill(peer.address, "orders", backlog))
                done = asyncio.run(measure(peer.address, "orders", mode, workers, seconds))
            once = alone.setdefault(mode, done.per_second)
            cells += [
                f"{done.per_second:.0f}/s",
                f"{done.per_second / once:.1f}",
                f"{done.out_of_order_percent:.1f} %",
            ]
        print(f"| {workers} | " + " | ".join(cells) + " |", flush=True)


# -- the cost of a filter ----------------------------------------------------------------------


class Wire:
    """One connection, and requests of this package's codec."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._stream = self._socket.makefile("rb")

    def call(self, api: int, version: int, body: bytes) -> bytes:
        frame = encode_request_header(api, version, 1, "bench") + body
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        return self._stream.read(int.from_bytes(self._stream.read(4), "big"))

    def produce(self, topic: str, batch: bytes) -> None:
        part = ProduceRequestPartition(index=0, records=batch)
        data = [ProduceRequestTopic(topic, partition_data=[part])]
        request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=data)
        answer = self.call(PRODUCE, PRODUCE_VERSION, b"".join(encode(request, PRODUCE_VERSION)))
        told, _ = decode(ProduceResponse, PRODUCE_VERSION, answer, 5)
        assert told.responses[0].partition_responses[0].error_code == 0

    def read_all(self, topic: str, end: int, ranges: KeyRange | None) -> int:
        """Fetch all of partition 0; how many fetches that took."""
        offset = fetches = 0
        while offset < end:
            part = FetchRequestPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
            if ranges is not None:
                tags.tag(part, {Tag.KEY_RANGES: tags.write_ranges([ranges])})
            else:
                tags.tag(part, {Tag.KEY_RANGES: tags.write_ranges([])})
            asked = [FetchRequestTopic(topic, partitions=[part])]
            request = FetchRequest(max_bytes=1 << 20, session_epoch=-1, topics=asked)
            answer = self.call(FETCH, FETCH_VERSION, encode_fetch_request(request, FETCH_VERSION))
            (told,) = decode_fetch_response(answer, 5, FETCH_VERSION).responses[0].partitions
            assert not told.error_code
            fields = tags.tagged_fields(told)
            if Tag.NEXT_FETCH_OFFSET in fields:
                offset = tags.read_offset(fields[Tag.NEXT_FETCH_OFFSET])
            else:
                offset = next_offset(bytes(told.records or b""))  # type: ignore[arg-type]
            fetches += 1
        return fetches


def next_offset(records: bytes) -> int:
    """Behind the last whole batch."""
    pos = found = 0
    while len(records) - pos >= 61:
        size = 12 + int.from_bytes(records[pos + 8 : pos + 12], "big")
        if size > len(records) - pos:
            break
        base = int.from_bytes(records[pos : pos + 8], "big")
        found = base + int.from_bytes(records[pos + 23 : pos + 27], "big") + 1
        pos += size
    return found


def cost_ms(peer: peers.Peer, megabytes: float, read: Callable[[], object]) -> float:
    """The broker's milliseconds of processor time for a MB: read until it took some time."""
    read()
    before, times = peer.cpu_seconds(), 0
    while (took := peer.cpu_seconds() - before) < ENOUGH_SECONDS:
        read()
        times += 1
    return 1000 * took / times / megabytes


def show_costs(megabytes: int) -> None:
    print("| value | codec | whole | a half | times | both halves, no cache | with the cache |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    dice = random.Random(7)
    for value_bytes in (100, 1000):
        for name, codec in CODECS.items():
            costs = {}
            for cache in ("0", "209715200"):
                config = {**CONFIG, "max.bytes.key.range.cache": cache}
                with peers.run_peer("mockbroker", config) as peer:
                    asyncio.run(fill(peer.address, "orders", 0))
                    wire = Wire(peer.address)
                    end = size = 0
                    while size < megabytes * MEGABYTE:
                        text = dice.randbytes(value_bytes // 4).hex() * 2
                        records = [
                            Record(n, 0, f"customer-{dice.randrange(KEYS)}".encode(), text.encode())
                            for n in range(16_384 // value_bytes)
                        ]
                        size += len(records) * (value_bytes + 20)
                        wire.produce("orders", build_batch(records, compression=codec))
                        end += len(records)
                    inflated = size / MEGABYTE

                    def halves(wire: Wire = wire, end: int = end) -> None:
                        for half in HALVES:
                            wire.read_all("orders", end, half)

                    def whole(wire: Wire = wire, end: int = end) -> None:
                        wire.read_all("orders", end, None)

                    def half(wire: Wire = wire, end: int = end) -> None:
                        wire.read_all("orders", end, HALVES[0])

                    costs[cache] = [cost_ms(peer, inflated, each) for each in (whole, half, halves)]
            (once, part, both), (_, _, cached) = costs.values()
            print(
                f"| {value_bytes} | {name} | {once:.2f} | {part:.2f} | {part / max(once, 1e-9):.1f}"
                f" | {both:.2f} | {cached:.2f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,2,4,8,16,32,64")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each is counted")
    parser.add_argument("--megabytes", type=int, default=8, help="of a partition that is filtered")
    parser.add_argument("--only", choices=["workers", "costs"])
    asked = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # of each rebalance it tells
    if asked.only != "costs":
        print(f"Records a second, {WORK_SECONDS * 1000:.0f} ms each, of one partition\n")
        show_workers(map(int, asked.workers.split(",")), asked.seconds)
    if asked.only != "workers":
        print("\nThe broker's milliseconds of processor time for each MB of inflated records\n")
        show_costs(asked.megabytes)


if __name__ == "__main__":
    main()
