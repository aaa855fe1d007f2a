"""Results say what they are when a test or a log line prints them."""

from __future__ import annotations

from mockbroker.log.offsets import LogOffsetMetadata
from mockbroker.log.results import KEYLESS, AppendResult, ReadResult, RecordError, RecordErrors
from mockbroker_protocol.errors import ErrorCode


def test_an_append_result_without_more_says_that_nothing_was_stored() -> None:
    result = AppendResult(ErrorCode.CORRUPT_MESSAGE)
    assert (result.base_offset, result.last_offset, result.log_start_offset) == (-1, -1, -1)
    assert (result.log_append_time_ms, result.error_message) == (-1, None)
    assert not list(result.record_errors)
    assert "CORRUPT_MESSAGE" in repr(result)


def test_record_errors_tell_which_record_fails_for_what() -> None:
    errors = RecordErrors(range(1, 5), [2, 4], "late")
    assert len(errors) == 4
    told = [(1, "late"), (2, KEYLESS), (3, "late"), (4, KEYLESS)]
    assert list(errors) == list(errors) == [RecordError(*one) for one in told]


def test_results_print_what_matters() -> None:
    result = ReadResult(LogOffsetMetadata(1, 0, 2), [b"abc"], 3, None)
    assert "3 bytes in 1 chunks" in repr(result)
