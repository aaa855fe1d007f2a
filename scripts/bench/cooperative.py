"""One hot partition and ever more workers; and what it costs to filter a fetch by keys.

Workers: each record takes 5 ms of waiting, as a call to some service does. A plain group has one
busy worker whatever its size; members with ranges of keys, and members that are dealt batches, work
side by side. Told is how many records a second are done while there is a backlog, and how many of
them were begun before an earlier one of the same key was done. Beside them: how often so many tasks
wait 5 ms that have no broker at all, which is what this machine and one event loop allow.

Filtering: the processor time for each MB of a partition, fetched whole, by one half of the slots
that comes first, and by sixteen members one after the other, a mean of them. Of the broker alone,
whose unfiltered fetch copies bytes and looks at none; and end to end, with a client that decodes
each record that it got.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import socket
import time
from contextlib import AsyncExitStack, ExitStack, suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import uvloop
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
from mockbroker_protocol.records.batch import build_batch, iterate_batches, iterate_records
from mockbroker_protocol.records.record_codec import Record
from scripts.bench import peers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

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
MEMBERS = 16
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
                    heartbeat_ms=1000,
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


async def wait_alone(workers: int, seconds: float) -> float:
    """How often a second so many tasks have waited as long as a record's work takes."""
    until, counted = time.monotonic() + seconds, 0

    async def work() -> None:
        nonlocal counted
        while time.monotonic() < until:
            await asyncio.sleep(WORK_SECONDS)
            counted += 1

    await asyncio.gather(*[work() for _ in range(workers)])
    return counted / seconds


def show_workers(counts: Iterable[int], seconds: float) -> None:
    print(
        "| workers | waiting alone | times one | "
        + " | ".join(f"{mode} | times one | out of order" for mode in MODES)
        + " |"
    )
    print("|" + " ---: |" * (3 + 3 * len(MODES)))
    alone: dict[str, float] = {}
    for workers in counts:
        bare = uvloop.run(wait_alone(workers, 2.0))
        cells = [f"{bare:.0f}/s", f"{bare / alone.setdefault('', bare):.1f}"]
        for mode in MODES:
            with peers.run_peer("mockbroker", CONFIG) as peer:
                backlog = int(workers * (seconds + 3) / WORK_SECONDS) + 20_000
                uvloop.run(fill(peer.address, "orders", backlog))
                done = uvloop.run(measure(peer.address, "orders", mode, workers, seconds))
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

    def read_all(self, topic: str, end: int, ranges: KeyRange | None, *, decodes: bool) -> int:
        """Fetch all of partition 0; how many of its records were decoded."""
        offset = records = 0
        while offset < end:
            part = FetchRequestPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
            if ranges is not None:
                tags.tag(part, {Tag.KEY_RANGES: tags.write_ranges([ranges])})
            asked = [FetchRequestTopic(topic, partitions=[part])]
            request = FetchRequest(max_bytes=1 << 20, session_epoch=-1, topics=asked)
            answer = self.call(FETCH, FETCH_VERSION, encode_fetch_request(request, FETCH_VERSION))
            (told,) = decode_fetch_response(answer, 5, FETCH_VERSION).responses[0].partitions
            assert not told.error_code
            given = bytes(told.records or b"")  # type: ignore[arg-type]
            fields = tags.tagged_fields(told)
            if Tag.NEXT_FETCH_OFFSET in fields:
                offset = tags.read_offset(fields[Tag.NEXT_FETCH_OFFSET])
            else:
                offset = next_offset(given)
            if decodes:
                for pos, header in iterate_batches(given):
                    records += sum(1 for _ in iterate_records(given, pos, header))
        return records


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


class Cost(NamedTuple):
    """Milliseconds of processor time for a MB."""

    broker: float
    both: float


def cost_of(peer: peers.Peer, megabytes: float, read: Callable[[bool], object]) -> Cost:
    """Of the broker while nothing is decoded, and of both ends: read until it took some time."""
    found = []
    for decodes in (False, True):
        read(decodes)
        began, mine, times = peer.cpu_seconds(), time.process_time(), 0
        while True:
            read(decodes)
            times += 1
            theirs = peer.cpu_seconds() - began
            both = theirs + time.process_time() - mine
            if (both if decodes else theirs) >= ENOUGH_SECONDS:
                break
        found.append(1000 * (both if decodes else theirs) / times / megabytes)
    return Cost(*found)


def parts(count: int) -> list[KeyRange]:
    """So many ranges of slots."""
    return [KeyRange(SLOTS * at // count, SLOTS * (at + 1) // count - 1) for at in range(count)]


def fill_in_batches(wire: Wire, value_bytes: int, codec: int, megabytes: int) -> tuple[int, float]:
    """Batches of 16 KB; where they end, and how many MB of records they are."""
    dice = random.Random(7)
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
    return end, size / MEGABYTE


def show_costs(megabytes: int) -> None:
    print(
        "| value | codec | broker: whole | first half | times | one of 16 | times "
        "| end to end: whole | first half | times | one of 16 | times |"
    )
    print("| ---: | --- |" + " ---: |" * 10)
    for value_bytes in (100, 1000):
        for name, codec in CODECS.items():
            with ExitStack() as stack:
                with_cache, without = [
                    stack.enter_context(
                        peers.run_peer("mockbroker", {**CONFIG, "max.bytes.key.range.cache": cache})
                    )
                    for cache in ("209715200", "0")
                ]
                costs = []
                filled: dict[peers.Peer, tuple[int, float]] = {}
                for peer, asked in (
                    (with_cache, [None]),
                    (without, parts(2)[:1]),
                    (with_cache, parts(MEMBERS)),
                ):
                    wire = Wire(peer.address)
                    if peer not in filled:
                        asyncio.run(fill(peer.address, "orders", 0))
                        filled[peer] = fill_in_batches(wire, value_bytes, codec, megabytes)
                    end, inflated = filled[peer]

                    def read(
                        decodes: bool,
                        wire: Wire = wire,
                        end: int = end,
                        asked: Sequence[KeyRange | None] = asked,
                    ) -> None:
                        for each in asked:
                            wire.read_all("orders", end, each, decodes=decodes)

                    costs.append(cost_of(peer, inflated * len(asked), read))
            whole, half, member = costs
            cells = [
                f"{once:.2f} | {first:.2f} | {first / max(once, 1e-9):.1f}"
                f" | {mean:.2f} | {mean / max(once, 1e-9):.1f}"
                for once, first, mean in zip(whole, half, member, strict=True)
            ]
            print(f"| {value_bytes} | {name} | " + " | ".join(cells) + " |", flush=True)


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
        print("\nMilliseconds of processor time for each MB of inflated records\n")
        show_costs(asked.megabytes)


if __name__ == "__main__":
    main()
