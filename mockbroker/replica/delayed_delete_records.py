"""One partition of a DeleteRecords: done when all live replicas have moved their log start.

It waits in a `DelayedEntries` while a follower has not told, by a fetch, that its log starts at the
offset asked for; the leader's log start has moved all the same (Kafka: DelayedDeleteRecords).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from mockbroker.replica.partition import Partition

INVALID_LOW_WATERMARK: Final = -1
HIGH_WATERMARK: Final = -1
"""The offset that asks for all that is committed."""


class DeletedEntry:
    """A partition whose leader has moved its log start to `offset`, and what became of it."""

    __slots__ = ("error", "low_watermark", "offset", "partition")

    def __init__(self, partition: Partition, offset: int) -> None:
        self.partition = partition
        self.offset = partition.high_watermark if offset == HIGH_WATERMARK else offset
        self.low_watermark = partition.low_watermark()
        self.error = ErrorCode.NONE

    def is_done(self) -> bool:
        """Whether it has its answer, be it an error."""
        partition = self.partition
        if partition.deleted or not partition.is_leader:
            self.low_watermark = INVALID_LOW_WATERMARK
            self.error = (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if partition.deleted
                else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
            return True
        low_watermark = partition.low_watermark()
        if low_watermark < self.offset:
            return False
        self.low_watermark = low_watermark
        return True
