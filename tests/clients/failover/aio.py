"""aiokafka under the scenarios of a failover: tasks of one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaError,
    OutOfOrderSequenceNumber,
)

from tests.clients.failover.ledger import (
    DEADLINE_S,
    GROUP,
    PAUSE_S,
    TOPIC,
    WINDOW,
    key_of,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tests.clients.failover.teller import Teller

MEMBERS = 3
POLL_MS = 200


class AioClient:
    """What a program does."""

    def __init__(self, bootstrap: str, teller: Teller) -> None:
        self.bootstrap = bootstrap
        self.teller = teller
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.producer: AIOKafkaProducer | None = None
        self.paused = asyncio.Event()
        self.is_desynchronised = False
        self.work: list[Any] = []
        self.left: set[int] = set()
        self.sent = 0

    def produce(self) -> None:
        self._begin(self._send())

    def pause(self) -> None:
        self.loop.call_soon_threadsafe(self.paused.set)

    def join(self, member: int) -> None:
        self._begin(self._read(member))

    def leave(self, member: int) -> None:
        self.left.add(member)

    def close(self) -> None:
        """Whatever state it is in."""
        self.pause()
        self.left.update(range(MEMBERS))
        for work in self.work:
            work.result(DEADLINE_S)
        if self.producer is not None:
            asyncio.run_coroutine_threadsafe(self.producer.stop(), self.loop).result(DEADLINE_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(DEADLINE_S)
        self.loop.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            try:
                await work
            except BaseException as error:  # noqa: BLE001 - raised where the scenario waits
                self.teller.fail(repr(error))

        self.work.append(asyncio.run_coroutine_threadsafe(run(), self.loop))

    async def _new_producer(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, enable_idempotence=True, linger_ms=2
        )
        await producer.start()
        return producer

    async def _is_paused(self) -> bool:
        """Rests before it says so."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.paused.wait(), PAUSE_S)
        return self.paused.is_set()

    async def _send(self) -> None:
        if self.producer is None:
            self.producer = await self._new_producer()
        self.paused.clear()
        while not await self._is_paused():
            if self.is_desynchronised:
                # After a log was cut it refuses all that it sends there, and never recovers.
                await self.producer.stop()
                self.producer = await self._new_producer()
                self.is_desynchronised = False
            if self.sent - self.teller.answered < WINDOW:
                number = self.sent
                self.sent += 1
                future = await self.producer.send(TOPIC, str(number).encode(), key_of(number))
                future.add_done_callback(lambda done, number=number: self._sent(number, done))
        await self.producer.flush()
        self.teller.paused()

    def _sent(self, number: int, done: asyncio.Future[Any]) -> None:
        error = done.exception()
        if error is not None:
            self.is_desynchronised |= isinstance(error, OutOfOrderSequenceNumber)
            self.teller.refuse(number, type(error).__name__)
        else:
            self.teller.acknowledge(number, done.result().partition, done.result().offset)

    async def _read(self, member: int) -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            client_id=f"member-{member}",
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=300,
            fetch_max_wait_ms=100,
        )
        consumer.subscribe([TOPIC])
        await consumer.start()
        try:
            while member not in self.left:
                ends = {}
                batches = await consumer.getmany(timeout_ms=POLL_MS)
                for partition, records in batches.items():
                    for one in records:
                        self.teller.read(member, one.partition, one.offset, int(one.value))
                        ends[partition.partition] = one.offset + 1
                if ends:
                    self.teller.try_commit(ends)
                    if await self._commit(consumer, ends):
                        self.teller.committed(ends)
        finally:
            await consumer.stop()
        self.teller.left(member)

    async def _commit(self, consumer: AIOKafkaConsumer, ends: dict[int, int]) -> bool:
        """False: a rebalance took the partitions away first, or the coordinator is lost."""
        try:
            await consumer.commit({TopicPartition(TOPIC, part): end for part, end in ends.items()})
        except (CommitFailedError, IllegalStateError):
            return False
        except KafkaError as error:
            if error.retriable:
                return False
            raise
        return True


def make_client(bootstrap: str, teller: Teller, protocol: str) -> AioClient:
    assert protocol == "classic"
    return AioClient(bootstrap, teller)
