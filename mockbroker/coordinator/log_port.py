"""How a coordinator's records reach its internal topic: as batches in the partition's own log.

`cluster` makes one `InternalLog` a topic and gives its `append` to the coordinator, so that a
console consumer of `__consumer_offsets` reads what the coordinator decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.replica.append_entry import AppendEntry
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from mockbroker.clock import Clock
    from mockbroker.replica.manager import ReplicaManager

_ACKS_ALL = -1


class InternalLog:
    """Appends to one internal topic through the node's replica manager (an `AppendPort`)."""

    __slots__ = ("_clock", "_replicas", "_topic")

    def __init__(self, topic: str, replicas: ReplicaManager, clock: Clock) -> None:
        self._topic = topic
        self._replicas = replicas
        self._clock = clock

    def append(
        self, partition_index: int, records: list[tuple[bytes, bytes | None]]
    ) -> tuple[ErrorCode, int]:
        """Append (key, value) pairs as one batch; returns (error, first record's offset)."""
        from protocol.records.batch import build_batch
        from protocol.records.record_codec import Record

        partition = self._replicas.partition(self._topic, partition_index)
        if partition is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
        now_ms = self._clock.wall_ms()
        batch = build_batch(
            [Record(delta, now_ms, key, value) for delta, (key, value) in enumerate(records)]
        )
        entry = AppendEntry(partition_index, partition, batch)
        partition.append(entry, _ACKS_ALL)
        return entry.error, entry.base_offset
