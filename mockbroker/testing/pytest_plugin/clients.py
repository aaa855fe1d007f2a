"""Ready-made clients of the three libraries, with what tests want: short backoffs, from the start.

`Clients` makes them for one broker, connected as its `client_config` says, TLS and logins included,
and closes them in reverse order at its end. A
consumer that it returns has its partitions. Libraries are imported when one of theirs is asked for.
"""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import ModuleType, TracebackType

ASSIGNMENT_TIMEOUT_SECONDS: Final = 10.0
CLOSE_TIMEOUT_SECONDS: Final = 5.0
_BACKOFF_MS: Final = 20
_POLL_MS: Final = 50


class Clients:
    """Makes clients; what a caller gives in `config` wins over what is set here."""

    def __init__(self, config_of: Callable[[str], dict[str, Any]]) -> None:
        """`config_of` is what a client of a kind connects with, such as `client_config`."""
        self._config_of = config_of
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    # -- kafka-python ------------------------------------------------------------------------

    def kafka_producer(self, **config: Any) -> Any:
        """A KafkaProducer."""
        producer = _module("kafka", "kafka-python").KafkaProducer(**self._kafka(config))
        self._stack.callback(producer.close, timeout=CLOSE_TIMEOUT_SECONDS)
        return producer

    def kafka_consumer(self, *topics: str, group_id: str | None = None, **config: Any) -> Any:
        """A KafkaConsumer of these topics, from their start unless its group has committed.

        Without a group it gets all partitions.
        """
        kafka = _module("kafka", "kafka-python")
        settings = {"auto_offset_reset": "earliest", "group_id": group_id, **config}
        consumer = kafka.KafkaConsumer(**self._kafka(settings))
        self._stack.callback(consumer.close)
        if group_id is None:
            consumer.assign(
                [
                    kafka.TopicPartition(topic, index)
                    for topic in topics
                    for index in sorted(consumer.partitions_for_topic(topic) or _missing(topic))
                ]
            )
            return consumer
        consumer.subscribe(list(topics))
        # It joins at once, and a leader of a group without metadata assigns nothing to anybody. Nor
        # must metadata come right after: it would join again for it, and if a poll ended amid that
        # it would read on, but send no heartbeats and never commit.
        consumer.topics()
        self._until_assigned(consumer.assignment, lambda: _peek_kafka(consumer))
        return consumer

    def kafka_admin(self, **config: Any) -> Any:
        """A KafkaAdminClient."""
        admin = _module("kafka", "kafka-python").KafkaAdminClient(**self._kafka(config))
        self._stack.callback(admin.close)
        return admin

    def _kafka(self, config: dict[str, Any]) -> dict[str, Any]:
        return {
            **self._config_of("kafka-python"),
            "retry_backoff_ms": _BACKOFF_MS,
            "reconnect_backoff_ms": _BACKOFF_MS,
            **config,
        }

    # -- confluent-kafka ---------------------------------------------------------------------

    def confluent_producer(self, config: dict[str, Any] | None = None) -> Any:
        """A Producer; `config` under librdkafka's names."""
        confluent = _module("confluent_kafka", "confluent-kafka")
        settings = {"linger.ms": 0, **(config or {})}
        producer = confluent.Producer(self._confluent(settings))
        # One that lives on could make a topic of the test anew after it. Early releases have no
        # `close`, and of an open transaction it waits without end: pytest lets go of those later.
        if hasattr(producer, "close") and "transactional.id" not in settings:
            self._stack.callback(_close, producer)
        self._stack.callback(_flush, producer, confluent.KafkaException)
        return producer

    def confluent_consumer(
        self, *topics: str, group_id: str | None = None, config: dict[str, Any] | None = None
    ) -> Any:
        """A Consumer of these topics, from their start unless its group has committed.

        Without a group it gets all partitions.
        """
        confluent = _module("confluent_kafka", "confluent-kafka")
        settings = {
            "auto.offset.reset": "earliest",
            "group.id": group_id or "mockbroker-unused",
            **({} if group_id else {"enable.auto.commit": False}),
            **(config or {}),
        }
        consumer = confluent.Consumer(self._confluent(settings))
        self._stack.callback(consumer.close)
        if group_id is None:
            known = {topic: consumer.list_topics(topic, CLOSE_TIMEOUT_SECONDS) for topic in topics}
            consumer.assign(
                [
                    confluent.TopicPartition(topic, index, confluent.OFFSET_BEGINNING)
                    for topic, metadata in known.items()
                    for index in sorted(metadata.topics[topic].partitions or _missing(topic))
                ]
            )
            return consumer
        assigned: list[Any] = []
        consumer.subscribe(list(topics), on_assign=lambda _, got: assigned.extend(got))
        self._until_assigned(lambda: assigned, lambda: _peek_confluent(consumer))
        return consumer

    def confluent_admin(self, config: dict[str, Any] | None = None) -> Any:
        """An AdminClient."""
        _module("confluent_kafka", "confluent-kafka")
        from confluent_kafka.admin import AdminClient

        return AdminClient(self._confluent(config or {}))

    def _confluent(self, config: dict[str, Any]) -> dict[str, Any]:
        return {
            **self._config_of("confluent"),
            "retry.backoff.ms": _BACKOFF_MS,
            "reconnect.backoff.ms": _BACKOFF_MS,
            **config,
        }

    # -- aiokafka ----------------------------------------------------------------------------

    @asynccontextmanager
    async def aiokafka_producer(self, **config: Any) -> AsyncIterator[Any]:
        """An AIOKafkaProducer, started; `async with` closes it."""
        producer = _module("aiokafka", "aiokafka").AIOKafkaProducer(**self._aiokafka(config))
        await producer.start()
        try:
            yield producer
        finally:
            await producer.stop()

    @asynccontextmanager
    async def aiokafka_consumer(
        self, *topics: str, group_id: str | None = None, **config: Any
    ) -> AsyncIterator[Any]:
        """An AIOKafkaConsumer of these topics, started and assigned; `async with` closes it."""
        settings = {"auto_offset_reset": "earliest", "group_id": group_id, **config}
        make = _module("aiokafka", "aiokafka").AIOKafkaConsumer
        consumer = make(*topics, **self._aiokafka(settings))
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()

    @asynccontextmanager
    async def aiokafka_admin(self, **config: Any) -> AsyncIterator[Any]:
        """An AIOKafkaAdminClient, started; `async with` closes it."""
        _module("aiokafka", "aiokafka")
        from aiokafka.admin import AIOKafkaAdminClient

        admin = AIOKafkaAdminClient(**self._aiokafka(config))
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    def _aiokafka(self, config: dict[str, Any]) -> dict[str, Any]:
        return {
            **self._config_of("aiokafka"),
            "retry_backoff_ms": _BACKOFF_MS,
            **config,
        }

    def _until_assigned(self, assigned: Callable[[], Any], peek: Callable[[], None]) -> None:
        from time import monotonic

        deadline = monotonic() + ASSIGNMENT_TIMEOUT_SECONDS
        while not assigned():
            peek()
            if monotonic() > deadline:
                message = f"no partitions were assigned within {ASSIGNMENT_TIMEOUT_SECONDS:g} s"
                raise TimeoutError(message)


def _flush(producer: Any, failure: type[Exception]) -> None:
    """What a producer that is fenced could not send is the test's own business."""
    with suppress(failure, RuntimeError):  # a RuntimeError: the test has closed it
        producer.flush(CLOSE_TIMEOUT_SECONDS)


def _close(producer: Any) -> None:
    """What was not sent by now is dropped."""
    with suppress(RuntimeError):  # the test has closed it
        producer.purge()
    producer.close()


def _peek_kafka(consumer: Any) -> None:
    """Let the consumer work; records that come are left for the test."""
    for partition, records in consumer.poll(_POLL_MS).items():
        consumer.seek(partition, records[0].offset)


def _peek_confluent(consumer: Any) -> None:
    from confluent_kafka import TopicPartition

    message = consumer.poll(_POLL_MS / 1000)
    if message is not None and message.error() is None:
        consumer.seek(TopicPartition(message.topic(), message.partition(), message.offset()))


def _missing(topic: str) -> list[int]:
    message = f"there is no topic {topic!r} to consume"
    raise LookupError(message)


def _module(name: str, distribution: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        pytest.fail(
            f"this fixture needs {distribution}: pip install 'mockbroker[clients]'", pytrace=False
        )
