"""A hot partition and four workers, one of which is killed, over TCP and across processes.

One key is slow: its worker holds everything up that a plain consumer of the partition would have
to wait for. Nothing is lost, nothing that was committed comes again, and a key's records stay in
order.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest

from mockbroker.coop.key_filter import slot_of
from mockbroker.coop_client import NotInGroupError, SharedConsumer, TopicPartition
from mockbroker.coop_client.shared_consumer import Settings
from tests.clients.server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

DEADLINE_S = 60.0
SESSION_MS = 4000
"""Longer than a busy machine delays a worker: who takes the slow key over is held up, too."""

PLACE = TopicPartition("orders", 0)
KEYS = [f"customer-{number}" for number in range(16)]
SLOW = KEYS[0]
RECORDS = 240
GROUP: Settings = {
    "auto_offset_reset": "earliest",
    "session_timeout_ms": SESSION_MS,
    "rebalance_timeout_ms": 5000,
    "heartbeat_ms": 50,
}

VICTIM = """
import asyncio, json, sys
from mockbroker.coop_client import SharedConsumer

async def work(bootstrap, settings):
    async with SharedConsumer(
        bootstrap, group_id="workers", topics=["orders"], **settings,
    ) as consumer:
        while True:
            for record in await consumer.poll(0.2, 3):
                print(json.dumps(["got", record.offset]), flush=True)
                consumer.ack(record)
            told = await consumer.commit()
            print(json.dumps(["committed", 0]), flush=True)

asyncio.run(work(sys.argv[1], json.loads(sys.argv[2])))
"""


Protocol = Literal["classic", "consumer"]


class Seen(NamedTuple):
    worker: int
    turn: int
    key: bytes | None
    offset: int


class Run:
    """What all workers saw and committed, in the order of this process."""

    def __init__(self, bootstrap: str, protocol: Protocol) -> None:
        self.bootstrap = bootstrap
        self.settings: Settings = {**GROUP, "group_protocol": protocol}
        self.seen: list[Seen] = []
        self.committed: set[int] = set()
        self.came_again: list[int] = []
        self.gate = asyncio.Event()
        self.ending = asyncio.Event()
        self.changed = asyncio.Event()
        self.parts: dict[int, object] = {}

    def note(self, seen: Seen) -> None:
        if seen.offset in self.committed:
            self.came_again.append(seen.offset)
        self.seen.append(seen)
        self.changed.set()

    async def until(self, offsets: set[int]) -> None:
        while not offsets <= {one.offset for one in self.seen}:
            self.changed.clear()
            await self.changed.wait()

    async def until_all_share(self, workers: int) -> None:
        """Before there is a record: whoever is held up by one cannot join again."""
        while len(set(map(str, self.parts.values()))) < workers:
            self.changed.clear()
            await self.changed.wait()

    def has(self, worker: int, parts: object) -> None:
        self.parts[worker] = parts
        self.changed.set()

    async def work(self, worker: int) -> None:
        settings: Settings = {
            **self.settings,
            "on_ranges": lambda parts: self.has(worker, parts),
        }
        async with SharedConsumer(
            self.bootstrap,
            group_id="workers",
            topics=["orders"],
            **settings,
        ) as consumer:
            while not self.ending.is_set():
                done = []
                for record in await consumer.poll(0.1, 3):
                    self.note(Seen(worker, record.turn, record.key, record.offset))
                    if record.key == SLOW.encode():
                        await self.gate.wait()
                    consumer.ack(record)
                    done.append(record.offset)
                try:
                    await consumer.commit()
                    self.committed.update(done)
                except NotInGroupError:
                    pass

    async def victim(self) -> None:
        """A worker of its own process, which is killed once it has committed something."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            VICTIM,
            self.bootstrap,
            json.dumps(self.settings),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        uncommitted: list[int] = []
        commits = 0
        async for line in process.stdout:
            what, offset = json.loads(line)
            if what == "got":
                self.note(Seen(-1, 0, None, offset))
                uncommitted.append(offset)
                continue
            commits += bool(uncommitted)
            self.committed.update(uncommitted)
            uncommitted.clear()
            if commits == 3:
                process.kill()
        await process.wait()


@pytest.fixture
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    configs = {
        "coop.extension.enable": "true",
        "group.min.session.timeout.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.min.session.timeout.ms": "500",
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "group.consumer.min.heartbeat.interval.ms": "50",
        "group.consumer.heartbeat.interval.ms": "50",
    }
    settings = [f"--set={name}={value}" for name, value in configs.items()]
    folder = tmp_path_factory.mktemp("server")
    with serving(folder, "--topic", "orders:1", *settings) as address:
        yield address


async def produce(bootstrap: str, numbers: range) -> None:
    from aiokafka import AIOKafkaProducer

    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for number in numbers:
            key = KEYS[number % len(KEYS)].encode()
            await producer.send_and_wait("orders", b"order", key=key, partition=0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_workers_share_a_partition(bootstrap: str, protocol: Protocol) -> None:
    run = Run(bootstrap, protocol)
    workers = [asyncio.create_task(run.work(number)) for number in range(3)]
    await asyncio.wait_for(run.until_all_share(3), DEADLINE_S)
    await produce(bootstrap, range(RECORDS))
    # The slow key holds up its own worker alone: the other two finish their thirds meanwhile.
    third = 3 * slot_of(SLOW.encode()) >> 31
    others = {
        number
        for number in range(RECORDS)
        if 3 * slot_of(KEYS[number % len(KEYS)].encode()) >> 31 != third
    }
    await asyncio.wait_for(run.until(others), DEADLINE_S)
    slow = {offset for offset in range(RECORDS) if offset % len(KEYS) == 0}
    assert len(slow & {one.offset for one in run.seen}) < len(slow)
    run.gate.set()
    victim = asyncio.create_task(run.victim())
    more = asyncio.create_task(produce(bootstrap, range(RECORDS, 2 * RECORDS)))
    await asyncio.wait_for(run.until(set(range(RECORDS))), DEADLINE_S)
    # Records go on coming until it has had its share; then it is gone, and its keys go to others.
    await more
    sent = 2 * RECORDS
    while not victim.done():
        await produce(bootstrap, range(sent, sent + len(KEYS)))
        sent += len(KEYS)
    await victim
    await asyncio.wait_for(run.until(set(range(sent))), DEADLINE_S)
    run.ending.set()
    await asyncio.gather(*workers)

    assert run.came_again == []
    by_key: dict[tuple[int, int, bytes | None], list[int]] = {}
    for one in run.seen:
        if one.worker >= 0:
            by_key.setdefault((one.worker, one.turn, one.key), []).append(one.offset)
    assert [offsets for offsets in by_key.values() if offsets != sorted(offsets)] == []
    async with SharedConsumer(bootstrap, group_id="workers") as asking:
        assert (await asking.committed(PLACE)).stable == sent
