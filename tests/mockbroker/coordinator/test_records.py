"""Coordinator records and their bytes."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.records import CoordinatorRecord, decode_record, encode_record
from mockbroker_protocol.messages.coordinator_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)

OFFSET_KEY = OffsetCommitKey("g", "t", 3)
GROUP_KEY = GroupMetadataKey("g")
MEMBER = MemberMetadata("m", "i", "c", "/127.0.0.1", 60_000, 10_000, b"sub", b"assigned")


@pytest.mark.parametrize(
    "record",
    [
        CoordinatorRecord(OFFSET_KEY, OffsetCommitValue(5, 7, "note", 1_000), 4),
        CoordinatorRecord(OFFSET_KEY, OffsetCommitValue(5, 7, "", 1_000, -1, b"i" * 16), 4),
        CoordinatorRecord(OFFSET_KEY, OffsetCommitValue(5, -1, "", 1_000, 2_000), 1),
        CoordinatorRecord(OFFSET_KEY, None),
        CoordinatorRecord(
            GROUP_KEY, GroupMetadataValue("consumer", 2, "range", "m", 1_000, [MEMBER]), 3
        ),
        CoordinatorRecord(GROUP_KEY, GroupMetadataValue("", 0, None, None, -1, []), 3),
        CoordinatorRecord(GROUP_KEY, None),
    ],
    ids=repr,
)
def test_records_survive_their_bytes(record: CoordinatorRecord) -> None:
    assert decode_record(*encode_record(record)) == record


def test_the_bytes_are_those_of_kafka() -> None:
    value = OffsetCommitValue(5, 7, "n", 1_000)
    assert encode_record(CoordinatorRecord(OFFSET_KEY, value, 3)) == (
        bytes.fromhex("0001 0001 67 0001 74 00000003"),
        bytes.fromhex("0003 0000000000000005 00000007 0001 6e 00000000000003e8"),
    )
    assert encode_record(CoordinatorRecord(GROUP_KEY, None)) == (
        bytes.fromhex("0002 0001 67"),
        None,
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\x00", None),
        (b"\x00\x63abc", b"x"),
        (b"\x00\x01\x00\x05g", None),
        (bytes.fromhex("0002 0001 67"), bytes.fromhex("0063")),
        (bytes.fromhex("0002 0001 67"), bytes.fromhex("ffff")),
        (bytes.fromhex("0002 0001 67"), bytes.fromhex("0003 00")),
        (bytes.fromhex("0002 0001 67"), b""),
    ],
)
def test_what_is_not_understood_is_passed_over(key: bytes | None, value: bytes | None) -> None:
    assert decode_record(key, value) is None


def test_records_compare_by_value() -> None:
    record = CoordinatorRecord(GROUP_KEY, None)
    assert record == CoordinatorRecord(GroupMetadataKey("g"), None)
    assert record != CoordinatorRecord(GroupMetadataKey("h"), None)
    assert record != object()
