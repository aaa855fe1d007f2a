"""The records of individual commits as bytes."""

from __future__ import annotations

import pytest

from mockbroker.coop.ic_records import (
    IndividualCommitKey,
    IndividualCommitValue,
    decode,
    encode,
    tombstone,
)
from mockbroker.coop.interval_set import OffsetRange
from mockbroker.coordinator.records import CoordinatorRecord

KEY = IndividualCommitKey("g", "t", 0, 45, 50)
VALUE = IndividualCommitValue(3, 1_700_000_000_000, "m1", 1)
KEY_BYTES = bytes.fromhex("000000016700017400000000000000000000002d0000000000000032")


def test_the_bytes_of_a_key() -> None:
    """LG-02."""
    assert encode(tombstone("g", "t", 0, OffsetRange(45, 50))) == (KEY_BYTES, None)


def test_what_is_written_is_read() -> None:
    key, value = encode(CoordinatorRecord(KEY, VALUE))
    assert key == KEY_BYTES
    assert value == bytes.fromhex("0000 00000003 0000018bcfe56800 0002 6d31 01")
    assert decode(key, value) == CoordinatorRecord(KEY, VALUE)
    assert decode(key, None) == CoordinatorRecord(KEY, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\x00\x01" + KEY_BYTES[2:], None),
        (KEY_BYTES[:9], None),
        (KEY_BYTES, b"\x00\x01" + bytes(20)),
        (KEY_BYTES, b"\x00\x00\x01"),
    ],
)
def test_what_is_not_known_is_passed_over(key: bytes | None, value: bytes | None) -> None:
    assert decode(key, value) is None
