"""What the log answers: the outcome of an append, the outcome of a read.

Errors that a client must see are values here; the log raises none for them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.named_tuple import NamedTuple
from mockbroker_protocol.native import mypyc_attr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.log.aborted import CompletedTransaction
    from mockbroker.log.offsets import LogOffsetMetadata

Buffer = bytes | bytearray | memoryview
Stored = bytes | memoryview
"""A batch on its way into a segment: bytes are copied, as a small one is fastest."""


class AppendOrigin(IntEnum):
    """Who appends, which decides how much is checked (Kafka: AppendOrigin)."""

    CLIENT = 0
    COORDINATOR = 1
    REPLICATION = 2


class RecordError(NamedTuple):
    """One record that the validator refused: its index in the batch, and why."""

    batch_index: int
    message: str


KEYLESS: Final = "a compacted topic takes no record without a key"


class RecordErrors:
    """The records that made a batch fail, each told when it is looked at: there may be a million.

    `indexes` are those of all of them, ascending; `keyless`, among them, lack a key, and the others
    fail for `reason`.
    """

    __slots__ = ("_indexes", "_keyless", "_reason")

    def __init__(
        self, indexes: Sequence[int] = (), keyless: Sequence[int] = (), reason: str = ""
    ) -> None:
        self._indexes = indexes
        self._keyless = keyless
        self._reason = reason

    def __len__(self) -> int:
        return len(self._indexes)

    def __iter__(self) -> Iterator[RecordError]:
        keyless = iter(self._keyless)
        without = next(keyless, -1)
        for index in self._indexes:
            if index == without:
                without = next(keyless, -1)
                yield RecordError(index, KEYLESS)
            else:
                yield RecordError(index, self._reason)


NO_RECORD_ERRORS: Final = RecordErrors()


@mypyc_attr(acyclic=True, free_list_len=1)
class AppendResult:
    """What became of an append; with an error nothing was appended.

    `log_append_time_ms` is -1 under CreateTime; for a duplicate it is the max timestamp of the
    batch that was stored. `log_start_offset` is -1 for the errors where Kafka does not tell it.
    """

    __slots__ = (
        "base_offset",
        "duplicate",
        "error",
        "error_message",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
    )

    def __init__(
        self,
        error: ErrorCode,
        base_offset: int = -1,
        last_offset: int = -1,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: RecordErrors = NO_RECORD_ERRORS,
        error_message: str | None = None,
        duplicate: bool = False,
    ) -> None:
        self.error = error
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = record_errors
        self.error_message = error_message
        self.duplicate = duplicate

    def __repr__(self) -> str:
        return (
            f"AppendResult({self.error.name}, {self.base_offset}..{self.last_offset}, "
            f"time={self.log_append_time_ms}, start={self.log_start_offset}, "
            f"errors={list(self.record_errors)}, message={self.error_message!r}, "
            f"duplicate={self.duplicate})"
        )


@mypyc_attr(acyclic=True, free_list_len=1)
class ReadResult:
    """What a read found. May be shared between readers: look, do not touch.

    `chunks` are the stored bytes in place, `size_bytes` together; `next_offset` is behind the last
    batch that is whole in them, -1 without bytes. `aborted` is None unless the reader is
    read_committed. With an error (OFFSET_OUT_OF_RANGE, or UNKNOWN_SERVER_ERROR for a
    negative limit) there is nothing else, and `offset_metadata` says so.
    """

    __slots__ = (
        "aborted",
        "chunks",
        "error",
        "first_entry_incomplete",
        "next_offset",
        "offset_metadata",
        "size_bytes",
    )

    def __init__(
        self,
        offset_metadata: LogOffsetMetadata,
        chunks: list[Buffer],
        size_bytes: int,
        aborted: list[CompletedTransaction] | None,
        next_offset: int = -1,
        first_entry_incomplete: bool = False,
        error: ErrorCode = ErrorCode.NONE,
    ) -> None:
        self.offset_metadata = offset_metadata
        self.chunks = chunks
        self.size_bytes = size_bytes
        self.aborted = aborted
        self.first_entry_incomplete = first_entry_incomplete
        self.error = error
        self.next_offset = next_offset

    def __repr__(self) -> str:
        return (
            f"ReadResult({self.error.name}, {self.offset_metadata}, {self.size_bytes} bytes in "
            f"{len(self.chunks)} chunks, aborted={self.aborted}, "
            f"first_entry_incomplete={self.first_entry_incomplete})"
        )
