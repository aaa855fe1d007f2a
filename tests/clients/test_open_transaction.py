"""read_committed readers of three libraries do not go past an open transaction."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.clients.open_transaction import DEADLINE_S, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(120),
    pytest.mark.parametrize("commit", [True, False]),
]

POLL_S = 0.2
# So many polls that bring nothing, one after another, mean that no more comes.
IDLE_POLLS = 6


class Polling:
    """A follower that is polled."""

    def __init__(self, poll: Callable[[], list[bytes]]) -> None:
        self.poll = poll

    def read(self, count: int) -> list[str]:
        deadline = time.monotonic() + DEADLINE_S
        found: list[str] = []
        idle = 0
        while len(found) < count or idle < IDLE_POLLS:
            assert time.monotonic() < deadline, found
            some = self.poll()
            found += [value.decode() for value in some]
            idle = 0 if some else idle + 1
        return found


@contextmanager
def confluent_follower(bootstrap: str, topic: str) -> Iterator[Polling]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": "read_committed"}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])

    def poll() -> list[bytes]:
        messages: list[Any] = consumer.consume(100, timeout=POLL_S)
        assert [message.error() for message in messages if message.error()] == []
        return [message.value() for message in messages]

    yield Polling(poll)
    consumer.close()


@contextmanager
def kafka_python_follower(bootstrap: str, topic: str) -> Iterator[Polling]:
    import kafka

    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)

    def poll() -> list[bytes]:
        batches = consumer.poll(timeout_ms=int(POLL_S * 1000))
        return [record.value for records in batches.values() for record in records]

    yield Polling(poll)
    consumer.close()


@contextmanager
def aiokafka_follower(bootstrap: str, topic: str) -> Iterator[Polling]:
    with asyncio.Runner() as runner:

        async def start() -> Any:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=bootstrap, isolation_level="read_committed"
            )
            await consumer.start()
            partition = TopicPartition(topic, 0)
            consumer.assign([partition])
            consumer.seek(partition, 0)
            return consumer

        consumer = runner.run(start())

        def poll() -> list[bytes]:
            batches = runner.run(consumer.getmany(timeout_ms=int(POLL_S * 1000)))
            return [record.value for records in batches.values() for record in records]

        yield Polling(poll)
        runner.run(consumer.stop())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("follower", [confluent_follower, kafka_python_follower, aiokafka_follower])
def test_no_reader_goes_past_it(
    server_process: str, topic: str, follower: Any, commit: bool
) -> None:
    with ExitStack() as stack:
        check(
            server_process,
            topic,
            lambda: stack.enter_context(follower(server_process, topic)),
            commit=commit,
        )
