"""How a coordinator's records reach its internal topic: as batches in the partition's own log.

`cluster` makes one `InternalLog` a topic and gives it, or its `append`, to the coordinator, so
that a console consumer of `__consumer_offsets` reads what the coordinator decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mockbroker.log.results import AppendOrigin
from mockbroker.replica.append_entry import AppendEntry
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.clock import Clock
    from mockbroker.coordinator.partition_load import LoggedEntry
    from mockbroker.coordinator.runtime import AppendPort, MarkerPort
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker.replica.manager import ReplicaManager

_ACKS_ALL = -1
_NO_PRODUCER_ID = -1
_NO_PRODUCER_EPOCH = -1
_CONTROL_COMMIT = 1


class GroupLog(Protocol):
    """What the group coordinator wants of its topic: `InternalLog`."""

    @property
    def append(self) -> AppendPort:
        """Append a batch; (error, first record's offset)."""

    @property
    def append_marker(self) -> MarkerPort:
        """Append the end of a transaction; (error, its offset)."""


class InternalLog:
    """Appends to one internal topic through the node's replica manager (an `AppendPort`)."""

    __slots__ = ("_clock", "_replicas", "_topic")

    def __init__(self, topic: str, replicas: ReplicaManager, clock: Clock) -> None:
        self._topic = topic
        self._replicas = replicas
        self._clock = clock

    def append(
        self,
        partition_index: int,
        records: list[tuple[bytes, bytes | None]],
        producer_id: int = _NO_PRODUCER_ID,
        producer_epoch: int = _NO_PRODUCER_EPOCH,
    ) -> tuple[ErrorCode, int]:
        """Append (key, value) pairs as one batch; returns (error, first record's offset).

        With a producer it is part of its transaction, without sequence numbers.
        """
        from mockbroker_protocol.records.batch import build_batch
        from mockbroker_protocol.records.record_codec import Record

        now_ms = self._clock.wall_ms()
        batch = build_batch(
            [Record(delta, now_ms, key, value) for delta, (key, value) in enumerate(records)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=producer_id != _NO_PRODUCER_ID,
        )
        return self._append(partition_index, batch)

    def append_marker(
        self, partition_index: int, marker: TransactionMarker
    ) -> tuple[ErrorCode, int]:
        """Append the end of a transaction; returns (error, its offset)."""
        return self._append(partition_index, b"", marker)

    def read(self, partition_index: int, start_offset: int = 0) -> Iterator[LoggedEntry]:
        """What is in a partition's log from there on, as `CoordinatorRuntime.load` wants it."""
        from mockbroker.coordinator.partition_load import EndOfTransaction
        from mockbroker_protocol.records.batch import iterate_records, parse_control_record

        partition = self._replicas.partition(self._topic, partition_index)
        log = None if partition is None else partition.log
        if log is None:
            return
        for header, batch in log.iterate_batches(max(start_offset, log.log_start_offset)):
            producer_id = header.producer_id if header.is_transactional else _NO_PRODUCER_ID
            for record in iterate_records(batch, 0, header):
                if record.offset < start_offset:
                    continue
                if header.is_control:
                    kind, _ = parse_control_record(record)
                    yield EndOfTransaction(record.offset, producer_id, kind == _CONTROL_COMMIT)
                else:
                    yield record.offset, producer_id, record.key, record.value

    def _append(
        self, partition_index: int, batch: bytes, marker: TransactionMarker | None = None
    ) -> tuple[ErrorCode, int]:
        partition = self._replicas.partition(self._topic, partition_index)
        if partition is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
        entry = AppendEntry(partition_index, partition, batch, marker=marker)
        entry.append_to(partition, _ACKS_ALL, AppendOrigin.COORDINATOR)
        return entry.error, entry.base_offset
