"""One partition of a produce: the bytes to append, then what became of them.

`apis.produce` makes entries, `ReplicaManager.append_records` fills them in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.log.results import AppendResult, Buffer, RecordError
    from mockbroker.replica.partition import Partition


class AppendEntry:
    """What goes to one partition. An `error` set beforehand is kept, and nothing is appended.

    `partition` is None when it is not hosted here. Afterwards `error` and the fields below it are
    those of the answer; an error found while waiting for replicas leaves `base_offset` in place.
    """

    __slots__ = (
        "base_offset",
        "error",
        "error_message",
        "index",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "partition",
        "record_errors",
        "records",
    )

    def __init__(
        self,
        index: int,
        partition: Partition | None,
        records: Buffer,
        error: ErrorCode = ErrorCode.NONE,
    ) -> None:
        self.index = index
        self.partition = partition
        self.records = records
        self.error = error
        self.error_message: str | None = None
        self.base_offset = -1
        self.last_offset = -1
        self.log_append_time_ms = -1
        self.log_start_offset = -1
        self.record_errors: Sequence[RecordError] = ()

    def take(self, result: AppendResult) -> None:
        """What the log answered."""
        self.error = result.error
        self.error_message = result.error_message
        self.record_errors = result.record_errors
        self.base_offset = result.base_offset
        self.last_offset = result.last_offset
        self.log_append_time_ms = result.log_append_time_ms
        self.log_start_offset = result.log_start_offset
