"""An entry carries the outcome of its append."""

from __future__ import annotations

from mockbroker.log.results import AppendResult, RecordErrors
from mockbroker.replica.append_entry import AppendEntry
from mockbroker_protocol.errors import ErrorCode


def test_an_entry_takes_what_the_log_answered() -> None:
    entry = AppendEntry(3, None, b"")
    assert (entry.error, entry.base_offset, entry.log_start_offset) == (0, -1, -1)
    errors = RecordErrors([1], [], "no key")
    entry.take(AppendResult(ErrorCode.INVALID_RECORD, 5, 7, 99, 2, errors, "refused"))
    assert entry.error is ErrorCode.INVALID_RECORD
    assert (entry.base_offset, entry.last_offset, entry.log_start_offset) == (5, 7, 2)
    assert (entry.log_append_time_ms, entry.error_message) == (99, "refused")
    assert entry.record_errors is errors
