"""Offsets together with where they lie, as the purgatory and the fetch path compare them.

Made by `UnifiedLog`, read by `Partition` and `DelayedFetch`. Values: nothing changes one after
it was made, so they may be shared and kept.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from mockbroker_protocol.named_tuple import NamedTuple
from mockbroker_protocol.native import mypyc_attr

UNKNOWN_OFFSET: Final = -1


class FetchIsolation(IntEnum):
    """Up to where a reader may read (Kafka: FetchIsolation)."""

    LOG_END = 0
    """Followers and future replicas."""
    HIGH_WATERMARK = 1
    """Consumers with isolation level read_uncommitted."""
    TXN_COMMITTED = 2
    """Consumers with isolation level read_committed: up to the last stable offset."""


@mypyc_attr(acyclic=True, free_list_len=1)
class LogOffsetMetadata:  # noqa: PLW1641 -- what is compared has no hash
    """An offset, the base offset of its segment and the position of its batch there.

    The position is that of the first byte of the batch that holds the offset; the end of the
    segment's bytes for the log end offset (Kafka: LogOffsetMetadata).
    """

    __slots__ = ("message_offset", "relative_position", "segment_base_offset")

    def __init__(
        self, message_offset: int, segment_base_offset: int, relative_position: int
    ) -> None:
        self.message_offset = message_offset
        self.segment_base_offset = segment_base_offset
        self.relative_position = relative_position

    def position_diff(self, that: LogOffsetMetadata) -> int:
        """Bytes from `that` to this, both on one segment."""
        assert self.segment_base_offset == that.segment_base_offset
        return self.relative_position - that.relative_position

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LogOffsetMetadata):
            return NotImplemented
        return (
            self.message_offset == other.message_offset
            and self.segment_base_offset == other.segment_base_offset
            and self.relative_position == other.relative_position
        )

    def __repr__(self) -> str:
        return (
            f"LogOffsetMetadata({self.message_offset}, {self.segment_base_offset}, "
            f"{self.relative_position})"
        )


UNKNOWN_OFFSET_METADATA: Final = LogOffsetMetadata(UNKNOWN_OFFSET, UNKNOWN_OFFSET, -1)
"""Stands for a read that did not reach the log (Kafka: UNKNOWN_OFFSET_METADATA)."""


class TimestampAndOffset(NamedTuple):
    """An answer to a look-up by timestamp; -1 where there is none (Kafka: TimestampAndOffset)."""

    timestamp: int
    offset: int
    leader_epoch: int
