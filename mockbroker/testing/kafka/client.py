"""What the views of a Kafka cluster ask of it, by confluent-kafka. Safe from several threads.

`config` are properties of librdkafka, which has Kafka's own names for security (`sasl.mechanism`).
Kafka's answers to an admin are true of its controller: a broker hears of a topic a moment later, so
making and deleting one wait until the brokers that are asked agree.
"""

from __future__ import annotations

from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mockbroker.state.groups import Group, GroupError, Member
from mockbroker.state.reading import READ_COMMITTED, READ_UNCOMMITTED, Record
from mockbroker.state.writing import NewRecord, Position, TopicError
from mockbroker.testing.not_supported import NotSupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    Offsets = dict[tuple[str, int], int]

__tracebackhide__ = True

T = TypeVar("T")

TIMEOUT_SECONDS: Final = 30.0
ATTEMPT_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.02
_STATES: Final = {
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
}
"""Kafka's words where confluent-kafka has others."""
_DEAD: Final = "Dead"
_GONE: Final = (
    "UNKNOWN_TOPIC_OR_PART",
    "_UNKNOWN_TOPIC",
    "_UNKNOWN_PARTITION",
    "GROUP_ID_NOT_FOUND",
)
_TO_COME: Final = ("_TIMED_OUT", "_WAIT_COORD", "COORDINATOR_LOAD_IN_PROGRESS")


def _library() -> Any:  # noqa: ANN401 -- half of its classes are typed
    try:
        from confluent_kafka import admin
    except ImportError:
        why = "confluent-kafka not found; install mockbroker[kafka]"
        raise NotSupported("Kafka.connect", why) from None
    return admin


class KafkaClient:
    """One cluster, by its bootstrap servers."""

    def __init__(self, bootstrap_servers: str, config: Mapping[str, object]) -> None:
        self._library = _library()
        self._config = {
            "bootstrap.servers": bootstrap_servers,
            "socket.connection.setup.timeout.ms": 10_000,
            "log_level": 2,
            **config,
        }
        self._admin = self._library.AdminClient(self._config)
        self._producer: Any = None
        self._has_coordinators = False
        self.cluster_id = str(self._metadata().cluster_id)

    # -- topics ----------------------------------------------------------------------------

    def topics(self) -> dict[str, int]:
        """Partitions by topic, without those of the coordinators."""
        found = self._metadata().topics.values()
        return {
            one.topic: len(one.partitions)
            for one in sorted(found, key=lambda one: str(one.topic))
            if one.error is None and not one.topic.startswith("__")
        }

    def partitions(self, topic: str) -> int | None:
        """How many partitions a topic has; None when there is none."""
        found = self._metadata().topics.get(topic)
        if found is None or found.error is not None:
            return None
        return len(found.partitions)

    def create_topic(
        self, name: str, partitions: int | None, replicas: int | None, config: Mapping[str, str]
    ) -> None:
        """Make a topic, and wait until it has leaders. Raises TopicError."""
        wanted = self._library.NewTopic(name, partitions or -1, replicas or -1, config=dict(config))
        self._topic_call(name, self._admin.create_topics([wanted]))
        self._agree(lambda: self._is_led(name))

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until it is gone. Raises TopicError."""
        self._topic_call(name, self._admin.delete_topics([name]))
        self._agree(lambda: self.partitions(name) is None)

    def delete_records(self, name: str) -> None:
        """Delete every record. Raises TopicError."""
        from confluent_kafka import TopicPartition

        ends = [TopicPartition(name, at, end) for at, (_, end) in self.bounds(name).items()]
        if ends:
            for future in self._admin.delete_records(ends).values():
                self._topic_call(name, {name: future})

    def topic_config(self, name: str) -> dict[str, str]:
        """The configs that were set on a topic."""
        resource = self._library.ConfigResource(self._library.ResourceType.TOPIC, name)
        (future,) = self._admin.describe_configs([resource]).values()
        set_here = self._library.ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        found = _result(future, TopicError)
        return {one.name: one.value for one in found.values() if one.source == set_here}

    def bounds(self, name: str, isolation: str = READ_UNCOMMITTED) -> dict[int, tuple[int, int]]:
        """First offset, and the one behind the last that may be read, by partition."""
        from confluent_kafka import IsolationLevel, TopicPartition

        level = (
            IsolationLevel.READ_COMMITTED
            if isolation == READ_COMMITTED
            else IsolationLevel.READ_UNCOMMITTED
        )
        wanted = [TopicPartition(name, at) for at in range(self.partitions(name) or 0)]
        if not wanted:
            return {}
        sides = [
            {
                at.partition: _result(future, TopicError).offset
                for at, future in self._admin.list_offsets(
                    dict.fromkeys(wanted, spec), isolation_level=level
                ).items()
            }
            for spec in (self._library.OffsetSpec.earliest(), self._library.OffsetSpec.latest())
        ]
        return {at: (start, sides[1][at]) for at, start in sorted(sides[0].items())}

    # -- records ---------------------------------------------------------------------------

    def read(self, name: str, starts: Mapping[int, int], isolation: str) -> list[Record]:
        """The records from these offsets on, by partition and offset, up to the present ends."""
        from confluent_kafka import Consumer, TopicPartition

        ends = {
            at: (max(starts[at], start), end)
            for at, (start, end) in self.bounds(name, isolation).items()
            if at in starts and max(starts[at], start) < end
        }
        if not ends:
            return []
        consumer = Consumer(
            {
                **self._config,
                "group.id": "mockbroker-reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
            }
        )
        try:
            consumer.assign([TopicPartition(name, at, start) for at, (start, _) in ends.items()])
            found = list(_consume(consumer, {at: end for at, (_, end) in ends.items()}))
        finally:
            consumer.close()
        return sorted(found, key=lambda one: (one.partition, one.offset))

    def put(self, name: str, records: Sequence[NewRecord]) -> list[Position]:
        """Produce, and wait until all are acknowledged. Raises TopicError."""
        from confluent_kafka import KafkaException, Producer

        if self._producer is None:
            self._producer = Producer(
                {"linger.ms": 0, "partitioner": "murmur2_random", **self._config, "acks": "all"}
            )
        placed: dict[int, Position] = {}
        errors: list[str] = []

        def delivered(at: int, error: Any, message: Any) -> None:  # noqa: ANN401 -- theirs
            if error is not None:
                errors.append(error.str())
            else:
                position = message.partition(), message.offset(), message.timestamp()[1]
                placed[at] = Position(name, *position)

        for at, record in enumerate(records):
            more: dict[str, Any] = {}
            if record.partition is not None:
                more["partition"] = record.partition
            if record.timestamp is not None:
                more["timestamp"] = record.timestamp
            try:
                self._producer.produce(
                    name,
                    record.value,
                    record.key,
                    headers=list(record.headers),
                    on_delivery=lambda error, message, at=at: delivered(at, error, message),
                    **more,
                )
            except (KafkaException, BufferError) as error:
                raise TopicError(f"topic {name}: {error}") from None
        self._producer.flush(TIMEOUT_SECONDS)
        if errors or len(placed) < len(records):
            raise TopicError(f"topic {name}: {errors[0] if errors else 'no answer in time'}")
        return [placed[at] for at in range(len(records))]

    # -- groups ----------------------------------------------------------------------------

    def groups(self) -> list[str]:
        """The ids of the groups."""
        found = _result(self._admin.list_consumer_groups(), GroupError)
        return sorted(one.group_id for one in found.valid)

    def describe_group(self, group_id: str) -> Group:
        """The group now. Kafka's admin protocol does not tell its generation: that is -1."""
        found = self._of_group(lambda: self._admin.describe_consumer_groups([group_id]))
        if found is None:
            return Group(group_id, _DEAD, -1, "", [])
        name = found.state.name
        state = _STATES.get(name, name.title())
        members = [_member(one) for one in found.members]
        return Group(group_id, state, -1, found.partition_assignor, members, _type(found))

    def committed(self, group_id: str) -> Offsets:
        """Committed offsets by (topic, partition)."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        wanted = [ConsumerGroupTopicPartitions(group_id)]
        found = self._of_group(lambda: self._admin.list_consumer_group_offsets(wanted))
        partitions = () if found is None else found.topic_partitions
        return {
            (one.topic, one.partition): one.offset
            for one in sorted(partitions, key=lambda one: (one.topic, one.partition))
            if one.offset >= 0
        }

    def commit(self, group_id: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commit for a group that has no members. Raises GroupError."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        partitions = [TopicPartition(topic, at, offset) for (topic, at), offset in offsets.items()]
        wanted = [ConsumerGroupTopicPartitions(group_id, partitions)]
        ask = self._admin.alter_consumer_group_offsets
        if self._of_group(lambda: ask(wanted), _check_partitions) is None:
            raise GroupError(f"group {group_id}: there is no such group")

    def delete_groups(self, group_ids: Sequence[str]) -> None:
        """Forget groups; one that is not there is none to forget. Raises GroupError."""
        for group_id in group_ids:
            self._of_group(partial(self._admin.delete_consumer_groups, [group_id]))

    def lag(self, group_id: str) -> Offsets:
        """Records behind the high watermark, of what it committed or has assigned."""
        committed = self.committed(group_id)
        wanted = dict.fromkeys(committed)
        for member in self.describe_group(group_id).members:
            for topic, indexes in member.assignment.items():
                wanted.update(dict.fromkeys((topic, at) for at in indexes))
        bounds = {topic: self.bounds(topic) for topic in {topic for topic, _ in wanted}}
        lag: Offsets = {}
        for topic, at in sorted(wanted):
            start, end = bounds[topic].get(at, (0, 0))
            lag[topic, at] = max(0, end - committed.get((topic, at), start))
        return lag

    # -- asking ----------------------------------------------------------------------------

    def _metadata(self) -> Any:  # noqa: ANN401 -- theirs
        """Of all topics: who asks for one by its name has it made by brokers that do so."""
        from confluent_kafka import KafkaException

        try:
            return self._admin.list_topics(timeout=TIMEOUT_SECONDS)
        except KafkaException as error:
            where = self._config["bootstrap.servers"]
            raise ConnectionError(f"{where}: {error.args[0].str()}") from None

    def _is_led(self, name: str) -> bool:
        found = self._metadata().topics.get(name)
        if found is None or found.error is not None or not found.partitions:
            return False
        return all(one.leader >= 0 for one in found.partitions.values())

    def _agree(self, is_so: Callable[[], bool]) -> None:
        deadline = monotonic() + TIMEOUT_SECONDS
        while not is_so() and monotonic() < deadline:
            sleep(_PAUSE_SECONDS)

    def _topic_call(self, name: str, futures: Mapping[str, Future[Any]]) -> None:
        (future,) = futures.values()
        try:
            _result(future, TopicError)
        except TopicError as error:
            if isinstance(error.__cause__, _Missing):
                names = ", ".join(self.topics()) or "none"
                raise TopicError(f"there is no topic {name!r}; topics: {names}") from None
            raise TopicError(f"topic {name}: {error}") from None

    def _of_group(
        self,
        ask: Callable[[], Mapping[str, Future[Any]]],
        check: Callable[[Any], None] = lambda _: None,
    ) -> Any:  # noqa: ANN401
        """What comes of a question about one group; None when there is no such group.

        It is asked again while the group's coordinator is being found, as the answer tells or its
        `check`. Raises GroupError.
        """
        deadline = monotonic() + TIMEOUT_SECONDS
        if not self._has_coordinators:
            self._await_coordinators(deadline)
        while True:
            ((group_id, future),) = ask().items()
            try:
                found = _result(future, GroupError)
                check(found)
                return found
            except GroupError as error:
                cause = error.__cause__
                if isinstance(cause, _Missing):
                    return None
                if not isinstance(cause, _Transient) or monotonic() > deadline:
                    raise GroupError(f"group {group_id}: {error}") from None
            sleep(_PAUSE_SECONDS)

    def _await_coordinators(self, deadline: float) -> None:
        """Wait until the cluster has made its topic of offsets, which the first question begins.

        librdkafka's client for admins that is told three times that there is no coordinator waits
        without end, and its end waits for that; a consumer asks again each second.
        """
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        consumer = Consumer({**self._config, "group.id": "mockbroker-reader"})
        try:
            while not self._has_coordinators and monotonic() < deadline:
                try:
                    consumer.committed([TopicPartition("__consumer_offsets", 0)], ATTEMPT_SECONDS)
                except KafkaException as error:
                    if error.args[0].name() in _TO_COME:
                        continue
                # Found, or refused for a reason that the question itself will have told.
                self._has_coordinators = True
        finally:
            consumer.close()


class _Transient(Exception):  # noqa: N818 -- never seen: the cause of an error that is
    """A coordinator is being found."""


class _Missing(Exception):  # noqa: N818 -- never seen: the cause of an error that is
    """What was asked about is not there."""


def _check_partitions(found: Any) -> None:  # noqa: ANN401
    """A coordinator that has just begun, or ceased, says so of each partition."""
    for one in found.topic_partitions:
        if one.error is not None:
            cause = _Transient() if "COORDINATOR" in one.error.name() else None
            raise GroupError(one.error.str()) from cause


def _result(future: Future[T], kind: type[Exception]) -> T:
    from confluent_kafka import KafkaException

    try:
        return future.result(TIMEOUT_SECONDS)
    except TimeoutError:
        raise kind(f"no answer in {TIMEOUT_SECONDS:g} s; ask again") from None
    except KafkaException as error:
        reason = error.args[0]
        name = reason.name()
        cause = _Missing() if name in _GONE else _Transient() if "COORDINATOR" in name else None
        raise kind(reason.str().rstrip(": ") + f" ({name})") from cause


def _consume(consumer: Any, ends: Mapping[int, int]) -> Iterator[Record]:  # noqa: ANN401 -- theirs
    """What the consumer gives below `ends`, until each partition was read so far."""
    from confluent_kafka import KafkaError

    left = set(ends)
    deadline = monotonic() + TIMEOUT_SECONDS
    while left:
        if monotonic() > deadline:
            raise TimeoutError(f"partitions {sorted(left)} were not read in {TIMEOUT_SECONDS:g} s")
        for message in consumer.consume(1000, 0.2):
            at = message.partition()
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 -- its public name
                    left.discard(at)
                elif error.name() in _GONE:
                    return
                continue
            if message.offset() < ends[at]:
                yield _record(message)
            if message.offset() + 1 >= ends[at]:
                left.discard(at)


def _record(message: Any) -> Record:  # noqa: ANN401 -- theirs
    headers = [(name, value) for name, value in message.headers() or ()]
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        headers,
    )


def _member(found: Any) -> Member:  # noqa: ANN401 -- theirs
    assignment: dict[str, list[int]] = {}
    for one in found.assignment.topic_partitions:
        assignment.setdefault(one.topic, []).append(one.partition)
    return Member(
        found.member_id,
        found.client_id,
        found.host,
        found.group_instance_id,
        {topic: sorted(indexes) for topic, indexes in sorted(assignment.items())},
    )


def _type(found: Any) -> str:  # noqa: ANN401 -- theirs
    name: str = found.type.name.lower()
    return name if name in ("classic", "consumer") else "classic"


def names_with(prefix: str | None, names: Iterable[str], before: set[str]) -> list[str]:
    """Those that a scope takes away: that begin with the prefix (None: any) and were not there."""
    return [name for name in names if name not in before and name.startswith(prefix or "")]
