"""A blocking consumer that shares partitions, on confluent-kafka, which cannot send tagged fields.

    lower_half = {TopicPartition("orders", 0): [KeyRange(0, 2**30 - 1)]}
    with BlockingSharedConsumer("localhost:9092", group_id="g", ranges=lower_half) as consumer:
        for record in consumer.poll(1.0):
            handle(record)
            consumer.ack(record)
        consumer.commit()

It takes part by what the broker has for such clients: it adds its ranges to `coop.client.filters`,
under a client id of its own, and takes them away when it closes; and it commits in the text of
metadata, for which `coop.metadata.carrier` must be on. It reads what it is told and is nobody's
member: there are no leases and no rebalances, and nobody fences it.
"""

from __future__ import annotations

import uuid
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeVar

from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.metadata_carrier import read_answer, write_commits
from mockbroker.coop_client.errors import ExtensionMissingError, RefusedError, UnreachableError
from mockbroker.coop_client.reading import Record, TopicPartition, is_mine
from mockbroker.coop_client.share import Committed, Share
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from confluent_kafka import Producer

    from mockbroker.coop.key_filter import KeyRange

T = TypeVar("T")

_FILTERS: Final = "coop.client.filters"
_EXTRA: Final = "a blocking consumer that shares partitions needs confluent-kafka"
_NOWHERE: Final = -1
_TEXT_BYTES: Final = 4000
"""Of one commit: offset.metadata.max.bytes is 4096 unless somebody set it."""


class BlockingSharedConsumer:
    """See the module. `settings` are librdkafka's, beside those that it sets itself."""

    def __init__(
        self,
        bootstrap: str,
        *,
        group_id: str,
        ranges: Mapping[TopicPartition, Sequence[KeyRange]],
        auto_offset_reset: Literal["earliest", "latest"] = "latest",
        isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted",
        timeout: float = 30.0,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """No ranges are a whole partition. Answers are waited for `timeout` seconds."""
        self._client_id = f"mockbroker-{uuid.uuid4().hex[:8]}"
        self._common = {"bootstrap.servers": bootstrap, **(settings or {})}
        self._group_id = group_id
        self._shares = {TopicPartition(*at): Share(tuple(each)) for at, each in ranges.items()}
        self._earliest = auto_offset_reset == "earliest"
        self._isolation = isolation
        self._timeout = timeout
        self._kafka: Any = None
        self._admin: Any = None
        self._consumer: Any = None

    def __enter__(self) -> Self:
        """Connect, and begin where the group stands. Raises ImportError without confluent-kafka."""
        try:
            self._kafka, self._admin = map(
                import_module, ("confluent_kafka", "confluent_kafka.admin")
            )
        except ImportError as error:
            raise ImportError(_EXTRA) from error
        self._alter_filters("APPEND")
        self._consumer = self._kafka.Consumer(
            {
                **self._common,
                "client.id": self._client_id,
                "group.id": self._group_id,
                "isolation.level": self._isolation,
                "auto.offset.reset": "earliest" if self._earliest else "latest",
                "enable.auto.commit": False,
            }
        )
        try:
            for place, share in self._shares.items():
                share.begin(self._standing(place))
            self._consumer.assign(
                [self._at(place, share.stable) for place, share in self._shares.items()]
            )
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        raised: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        try:
            if raised is None:
                self.commit()
        finally:
            self._end()

    def _end(self) -> None:
        consumer, self._consumer = self._consumer, None
        consumer.close()
        self._alter_filters("SUBTRACT")

    def poll(self, seconds: float = 1.0, max_records: int = 500) -> list[Record]:
        """Records to process now; none after so many seconds."""
        found = []
        for message in self._consumer.consume(max_records, seconds):
            error = message.error()
            if error is not None:
                if error.retriable() or error.code() < 0:
                    continue  # librdkafka's own: it connects again
                raise RefusedError(f"fetch of {message.topic()}", error.code())
            place = TopicPartition(message.topic(), message.partition())
            share, offset, key = self._shares[place], message.offset(), message.key()
            if not share.is_done(offset) and (not share.ranges or is_mine(share, key)):
                timestamp, value = message.timestamp()[1], message.value()
                headers = message.headers() or ()
                found.append(Record(*place, offset, timestamp, key, value, headers, 1, 0))
        return found

    def ack(self, record: Record) -> None:
        """This record is done; `commit` makes it last."""
        place = TopicPartition(record.topic, record.partition)
        self._shares[place].ack(record.offset, record.offset)

    def commit(self) -> dict[TopicPartition, Committed]:
        """Commit what is acknowledged; how the group stands. Raises RefusedError."""
        read_committed = self._isolation == "read_committed"
        for place, share in self._shares.items():
            ranges = share.to_commit(len(share.acked))
            for text, some in write_commits(ranges, _TEXT_BYTES, read_committed=read_committed):
                code = self._send(place, max(share.stable, 0), text)
                if code and code != ErrorCode.INVALID_COMMIT_OFFSET_SIZE:
                    raise RefusedError(f"commit of {self._group_id}", code)
                standing = self.committed(place)
                if not code:
                    share.committed(some, standing.stable)
                elif standing.stable <= share.stable:
                    raise RefusedError(f"commit of {self._group_id}", code)
                else:  # too old: its answer was lost, or it is somebody else's
                    share.committed((), standing.stable)
                    return self.commit()
        return {place: self.committed(place) for place in self._shares}

    def send_to_transaction(self, producer: Producer, records: Iterable[Record]) -> None:
        """Commit these with the transaction that a confluent-kafka producer is in; `ack` them not.

        If it is aborted they are not committed, and given to whoever begins anew. Raises
        RefusedError if one of them is committed or in another transaction: abort then.
        """
        done: dict[TopicPartition, IntervalSet] = {}
        for record in records:
            place = TopicPartition(record.topic, record.partition)
            done.setdefault(place, IntervalSet()).add(record.offset, record.offset)
        group = self._consumer.consumer_group_metadata()
        read_committed = self._isolation == "read_committed"
        for place, offsets in done.items():
            stable = max(self._shares[place].stable, 0)
            for text, _ in write_commits([*offsets], _TEXT_BYTES, read_committed=read_committed):
                staged: list[Any] = [self._at(place, stable, text)]
                self._asked(
                    partial(producer.send_offsets_to_transaction, staged, group, self._timeout)
                )

    def committed(self, place: TopicPartition) -> Committed:
        """How the group stands, with as many ranges as metadata has room for; -1: nowhere."""
        (told,) = self._asked(
            lambda: self._consumer.committed([self._at(place)], timeout=self._timeout)
        )
        if told.error is not None:
            raise RefusedError(f"offsets of {self._group_id}", told.error.code())
        if told.offset < 0:
            return Committed(_NOWHERE, ())
        ranges = read_answer(text_of(told))
        if ranges is None:
            raise ExtensionMissingError("coop.metadata.carrier of the broker must be on")
        return Committed(told.offset, tuple(ranges))

    def _standing(self, place: TopicPartition) -> Committed:
        """Where the group is, or agrees to begin: whoever says it first has it."""
        (told,) = self._asked(
            lambda: self._consumer.committed([self._at(place)], timeout=self._timeout)
        )
        beginning = None
        if told.error is None and told.offset < 0:
            low, high = self._asked(
                lambda: self._consumer.get_watermark_offsets(self._at(place), self._timeout)
            )
            beginning = low if self._earliest else high
        ((text, _),) = write_commits([], _TEXT_BYTES, beginning=beginning)
        code = self._send(place, max(told.offset, 0), text)
        if code:
            raise RefusedError(f"commit of {self._group_id}", code)
        return self.committed(place)

    def _send(self, place: TopicPartition, stable: int, text: str) -> int:
        """Commit this text; the error code."""
        try:
            (told,) = self._consumer.commit(
                offsets=[self._at(place, stable, text)], asynchronous=False
            )
        except self._kafka.KafkaException as error:
            return self._code(error)
        return 0 if told.error is None else int(told.error.code())

    def _asked(self, asking: Callable[[], T]) -> T:
        try:
            return asking()
        except self._kafka.KafkaException as error:
            raise RefusedError(self._group_id, self._code(error)) from error

    def _code(self, error: Exception) -> int:
        """The broker's; librdkafka's own are below 0. Raises UnreachableError for those."""
        code = int(error.args[0].code())
        if code < 0:
            raise UnreachableError(str(error)) from error
        return code

    def _at(self, place: TopicPartition, *more: object) -> object:
        return self._kafka.TopicPartition(*place, *more)

    def _alter_filters(self, how: str) -> None:
        """Have the brokers filter what this client fetches, or leave it alone again."""
        entries = list(self._filters())
        if not entries:
            return
        words = self._admin
        admin = words.AdminClient(dict(self._common))
        operation = words.AlterConfigOpType[how]
        change = words.ConfigEntry(_FILTERS, ",".join(entries), incremental_operation=operation)
        try:
            for node in admin.list_topics(timeout=self._timeout).brokers:
                broker = words.ConfigResource(
                    words.ResourceType.BROKER, str(node), incremental_configs=[change]
                )
                for altered in admin.incremental_alter_configs([broker]).values():
                    altered.result(self._timeout)
        except self._kafka.KafkaException as error:
            code = self._code(error)
            if code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST):
                raise ExtensionMissingError(str(error)) from error
            raise RefusedError(_FILTERS, code) from error

    def _filters(self) -> Iterable[str]:
        for place, share in self._shares.items():
            if share.ranges:
                slots = "+".join(f"{lo}-{hi}" for lo, hi in share.ranges)
                yield f"{self._client_id}={place.topic}-{place.partition}:{slots}"


class HasMetadata(Protocol):
    """A confluent-kafka TopicPartition."""

    @property
    def metadata(self) -> str | None:
        """Its text; raises UnicodeDecodeError."""


def text_of(told: HasMetadata) -> str | None:
    """The metadata of one that was read.

    confluent-kafka reads on behind the end of the text, until a zero; what stands there may be no
    UTF-8, and ends the text.
    """
    try:
        return told.metadata
    except UnicodeDecodeError as error:
        return error.object[: error.start].decode()
