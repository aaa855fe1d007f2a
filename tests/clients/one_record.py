"""One record through each Python client, with short time-outs: what the application is told.

Called by the tests of fault rules. `send` gives the name of the error that the application gets,
or None once the record is acknowledged; `read` gives the values that it is handed, and the name of
the error that it is handed instead of the next. Neither takes much longer than its patience.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError as AiokafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Consumer
    from kafka import KafkaConsumer

TOPIC = "orders"
VALUE = b"value"
READ_PATIENCE_MS = 20_000
"""Far beyond what a read takes: it only ends one that hangs."""
KAFKA_PYTHON_POLL_MS = 5_000
"""Longer than joining takes: kafka-python 3 loses an assignment that comes between two polls."""
FETCH_WAIT_MS = 50
GROUP = "readers"
TRANSACTIONAL_ID = "tx"
PASSING = frozenset({"_TRANSPORT", "_ALL_BROKERS_DOWN"})
"""What confluent-kafka tells of while it goes on by itself."""


class Patience(NamedTuple):
    """How long a client waits for one answer, and for a delivery in all."""

    request_ms: int
    whole_ms: int


SHORT = Patience(400, 2_500)
LONG = Patience(15_000, 20_000)


class Read(NamedTuple):
    """What a consumer was handed: values, then an error by name, if one came."""

    values: list[bytes]
    error: str | None


class Client(Protocol):
    """One of the three."""

    def send(
        self, bootstrap: str, *, idempotent: bool = True, patience: Patience = SHORT
    ) -> str | None: ...
    def read(self, bootstrap: str, *, patience: Patience = SHORT) -> Read: ...
    def poll_on(
        self, bootstrap: str, goes_on: Callable[[], bool], told: Callable[[str], object]
    ) -> None:
        """Poll while it goes on; `told` hears what comes: "value", or the name of an error."""
        ...

    def read_in_group(self, bootstrap: str, hook: Callable[[], object]) -> Read:
        """Two records as the only member of GROUP, `hook` is called between; then commit."""
        ...

    def send_in_transaction(self, bootstrap: str, hook: Callable[[], object]) -> str | None:
        """In TRANSACTIONAL_ID, which is initialized before `hook` is called."""
        ...


class KafkaPython:
    """kafka-python, whose time-outs of a request are not below a fetch's wait."""

    def send(
        self, bootstrap: str, *, idempotent: bool = True, patience: Patience = SHORT
    ) -> str | None:
        from kafka import KafkaProducer
        from kafka.errors import KafkaError

        try:
            producer = KafkaProducer(
                bootstrap_servers=bootstrap,
                linger_ms=0,
                acks="all",
                enable_idempotence=idempotent,
                request_timeout_ms=patience.request_ms,
                delivery_timeout_ms=patience.whole_ms,
                max_block_ms=patience.whole_ms,
                bootstrap_timeout_ms=patience.whole_ms,
                reconnect_backoff_max_ms=200,
            )
        except KafkaError as error:
            return type(error).__name__
        try:
            producer.send(TOPIC, VALUE).get(2 * patience.whole_ms / 1000)
        except KafkaError as error:
            return type(error).__name__
        finally:
            producer.close(timeout=0)
        return None

    def read(self, bootstrap: str, *, patience: Patience = SHORT) -> Read:
        from kafka import TopicPartition

        consumer = self._consumer(bootstrap, None, patience)
        consumer.assign([TopicPartition(TOPIC, 0)])
        return self._poll(consumer, 1, lambda: None)

    def poll_on(
        self, bootstrap: str, goes_on: Callable[[], bool], told: Callable[[str], object]
    ) -> None:
        from kafka import TopicPartition
        from kafka.errors import KafkaError

        consumer = self._consumer(bootstrap, None, SHORT)
        consumer.assign([TopicPartition(TOPIC, 0)])
        while goes_on():
            try:
                for records in consumer.poll(timeout_ms=100).values():
                    for _ in records:
                        told("value")
            except KafkaError as error:
                told(type(error).__name__)
        consumer.close()

    def read_in_group(self, bootstrap: str, hook: Callable[[], object]) -> Read:
        consumer = self._consumer(bootstrap, GROUP, LONG)
        consumer.subscribe([TOPIC])
        return self._poll(consumer, 2, hook)

    @staticmethod
    def _consumer(bootstrap: str, group: str | None, patience: Patience) -> KafkaConsumer:
        from kafka import KafkaConsumer

        return KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            request_timeout_ms=patience.request_ms,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            reconnect_backoff_max_ms=200,
        )

    @staticmethod
    def _poll(consumer: KafkaConsumer, count: int, hook: Callable[[], object]) -> Read:
        from kafka.errors import KafkaError

        values: list[bytes] = []
        deadline = time.monotonic() + READ_PATIENCE_MS / 1000
        try:
            while len(values) < count and time.monotonic() < deadline:
                for records in consumer.poll(timeout_ms=KAFKA_PYTHON_POLL_MS).values():
                    values += [record.value for record in records]
                    hook()
            if count > 1:
                consumer.commit()
        except KafkaError as error:
            return Read(values, type(error).__name__)
        finally:
            consumer.close()
        return Read(values, None)

    def send_in_transaction(self, bootstrap: str, hook: Callable[[], object]) -> str | None:
        from kafka import KafkaProducer
        from kafka.errors import KafkaError

        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=TRANSACTIONAL_ID,
            delivery_timeout_ms=SHORT.whole_ms,
            request_timeout_ms=SHORT.request_ms,
            max_block_ms=SHORT.whole_ms,
        )
        try:
            producer.init_transactions()
            hook()
            producer.begin_transaction()
            producer.send(TOPIC, VALUE).get(SHORT.whole_ms / 1000)
            producer.commit_transaction()
        except KafkaError as error:
            return type(error).__name__
        finally:
            producer.close(timeout=0)
        return None


class ConfluentKafka:
    """confluent-kafka, with the checksums looked at."""

    def send(
        self, bootstrap: str, *, idempotent: bool = True, patience: Patience = SHORT
    ) -> str | None:
        from confluent_kafka import Producer

        told: list[str | None] = []
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 0,
                "enable.idempotence": idempotent,
                "socket.timeout.ms": patience.request_ms,
                "request.timeout.ms": patience.request_ms,
                "delivery.timeout.ms": patience.whole_ms,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 100,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        producer.produce(
            TOPIC,
            VALUE,
            callback=lambda error, _message: told.append(error.name() if error else None),
        )
        producer.flush(2 * patience.whole_ms / 1000)
        return told[0]

    def read(self, bootstrap: str, *, patience: Patience = SHORT) -> Read:
        from confluent_kafka import TopicPartition

        consumer = self._consumer(bootstrap, patience)
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        return self._poll(consumer, 1, lambda: None)

    def poll_on(
        self, bootstrap: str, goes_on: Callable[[], bool], told: Callable[[str], object]
    ) -> None:
        from confluent_kafka import TopicPartition

        consumer = self._consumer(bootstrap, SHORT)
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        while goes_on():
            message = consumer.poll(0.1)
            if message is not None:
                error = message.error()
                if error is None or error.name() not in PASSING:
                    told("value" if error is None else error.name())
        consumer.close()

    def read_in_group(self, bootstrap: str, hook: Callable[[], object]) -> Read:
        consumer = self._consumer(bootstrap, SHORT)
        consumer.subscribe([TOPIC])
        return self._poll(consumer, 2, hook)

    @staticmethod
    def _consumer(bootstrap: str, patience: Patience) -> Consumer:
        from confluent_kafka import Consumer

        return Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "socket.timeout.ms": max(patience.request_ms, 1_000),
                "fetch.wait.max.ms": FETCH_WAIT_MS,
                "fetch.error.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "check.crcs": True,
                "log_level": 0,
            }
        )

    @staticmethod
    def _poll(consumer: Consumer, count: int, hook: Callable[[], object]) -> Read:
        from confluent_kafka import KafkaException

        values: list[bytes] = []
        error = None
        deadline = time.monotonic() + READ_PATIENCE_MS / 1000
        while len(values) < count and error is None and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is None:
                continue
            told = message.error()
            if told is None:
                values.append(message.value() or b"")
                hook()
            elif told.name() not in PASSING:
                error = told.name()
        if count > 1:
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as failed:
                error = failed.args[0].name()
        consumer.close()
        return Read(values, error)

    def send_in_transaction(self, bootstrap: str, hook: Callable[[], object]) -> str | None:
        from confluent_kafka import KafkaException, Producer

        producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": TRANSACTIONAL_ID, "log_level": 0}
        )
        patience = SHORT.whole_ms / 1000
        try:
            producer.init_transactions(patience)
            hook()
            producer.begin_transaction()
            producer.produce(TOPIC, VALUE)
            producer.commit_transaction(patience)
        except KafkaException as error:
            return str(error.args[0].name())
        return None


class Aiokafka:
    """aiokafka, which gives a batch up after the time-out of one request."""

    def send(
        self, bootstrap: str, *, idempotent: bool = True, patience: Patience = SHORT
    ) -> str | None:
        return asyncio.run(self._send(bootstrap, patience, idempotent=idempotent))

    async def _send(self, bootstrap: str, patience: Patience, *, idempotent: bool) -> str | None:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            enable_idempotence=idempotent,
            acks="all",
            request_timeout_ms=patience.request_ms,
        )
        try:
            async with asyncio.timeout(patience.whole_ms / 1000):
                await producer.start()
                await producer.send_and_wait(TOPIC, VALUE)
        except (AiokafkaError, TimeoutError) as error:
            return type(error).__name__
        finally:
            with suppress(TimeoutError):
                await asyncio.wait_for(producer.stop(), 0.2)
        return None

    def read(self, bootstrap: str, *, patience: Patience = SHORT) -> Read:
        return asyncio.run(self._read(bootstrap, None, patience, lambda: None))

    def poll_on(
        self, bootstrap: str, goes_on: Callable[[], bool], told: Callable[[str], object]
    ) -> None:
        asyncio.run(self._poll_on(bootstrap, goes_on, told))

    async def _poll_on(
        self, bootstrap: str, goes_on: Callable[[], bool], told: Callable[[str], object]
    ) -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            request_timeout_ms=SHORT.request_ms,
            fetch_max_wait_ms=FETCH_WAIT_MS,
        )
        await consumer.start()
        consumer.assign([TopicPartition(TOPIC, 0)])
        while goes_on():
            try:
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    for _ in records:
                        told("value")
            except AiokafkaError as error:
                told(type(error).__name__)
        await consumer.stop()

    def read_in_group(self, bootstrap: str, hook: Callable[[], object]) -> Read:
        return asyncio.run(self._read(bootstrap, GROUP, LONG, hook))

    async def _read(
        self, bootstrap: str, group: str | None, patience: Patience, hook: Callable[[], object]
    ) -> Read:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            request_timeout_ms=patience.request_ms,
            fetch_max_wait_ms=FETCH_WAIT_MS,
        )
        count = 1 if group is None else 2
        await consumer.start()
        if group is None:
            consumer.assign([TopicPartition(TOPIC, 0)])
        else:
            consumer.subscribe([TOPIC])
        values: list[bytes] = []
        deadline = time.monotonic() + READ_PATIENCE_MS / 1000
        try:
            while len(values) < count and time.monotonic() < deadline:
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    values += [record.value for record in records]
                    hook()
            if count > 1:
                await consumer.commit()
        except AiokafkaError as error:
            return Read(values, type(error).__name__)
        finally:
            await consumer.stop()
        return Read(values, None)

    def send_in_transaction(self, bootstrap: str, hook: Callable[[], object]) -> str | None:
        return asyncio.run(self._send_in_transaction(bootstrap, hook))

    async def _send_in_transaction(self, bootstrap: str, hook: Callable[[], object]) -> str | None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=TRANSACTIONAL_ID)
        try:
            await producer.start()
            hook()
            await producer.begin_transaction()
            await producer.send_and_wait(TOPIC, VALUE)
            await producer.commit_transaction()
        except AiokafkaError as error:
            return type(error).__name__
        finally:
            await producer.stop()
        return None


CLIENTS: dict[str, Client] = {
    "kafka-python": KafkaPython(),
    "confluent-kafka": ConfluentKafka(),
    "aiokafka": Aiokafka(),
}
