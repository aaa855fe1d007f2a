from __future__ import annotations

from mockbroker_protocol.errors import ErrorCode, known_error


def test_codes_run_from_unknown_server_error_to_the_last_of_kafka_4_4() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 137))


def test_codes_have_kafkas_names() -> None:
    assert ErrorCode(0) is ErrorCode.NONE
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ErrorCode(71) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert ErrorCode(134) is ErrorCode.GROUP_DELETION_FAILED


def test_a_code_can_be_written_as_an_int16() -> None:
    assert ErrorCode.UNKNOWN_TOPIC_ID.to_bytes(2, "big") == b"\0\x64"


def test_old_producers_are_told_of_their_epoch() -> None:
    fenced, epoch = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
    for key, first in ((22, 4), (24, 2), (25, 2), (26, 2)):
        assert known_error(key, first - 1, fenced) is epoch
        assert known_error(key, first, fenced) is fenced
    assert known_error(0, 0, fenced) is fenced
    assert known_error(22, 0, ErrorCode.NOT_COORDINATOR) is ErrorCode.NOT_COORDINATOR
