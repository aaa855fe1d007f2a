"""Coordinator records and their bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.coordinator.records import (
    CoordinatorRecord,
    decode_record,
    encode_as,
    encode_record,
)
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


TEXTS = st.text(max_size=5) | st.sampled_from(["", "é" * 100, "n" * 126, "n" * 127, "n" * 4096])


@given(
    key=st.builds(OffsetCommitKey, group=TEXTS, topic=TEXTS, partition=st.integers(0, 2**31 - 1)),
    value=st.builds(
        OffsetCommitValue,
        offset=st.integers(-(2**63), 2**63 - 1),
        leader_epoch=st.integers(-1, 2**31 - 1),
        metadata=TEXTS,
        commit_timestamp=st.integers(-1, 2**63 - 1),
        expire_timestamp=st.sampled_from([-1, 5]),
        topic_id=st.sampled_from([bytes(16), b"i" * 16]),
    ),
    tags=st.sampled_from([None, {7: b"seven"}]),
)
def test_a_position_by_hand_is_what_the_plan_makes(
    key: OffsetCommitKey, value: OffsetCommitValue, tags: dict[int, bytes] | None
) -> None:
    value.unknown_tags = tags  # type: ignore[attr-defined]
    record = CoordinatorRecord(key, value, 4)
    assert encode_record(record) == encode_as(1, record)


@pytest.mark.parametrize("key", [OffsetCommitKey("g" * 32768, "t", 0), OffsetCommitKey("\ud800")])
def test_a_text_that_no_record_can_hold_is_an_error(key: OffsetCommitKey) -> None:
    with pytest.raises((ValueError, struct.error)):
        encode_record(CoordinatorRecord(key, OffsetCommitValue(5, 7, "n", 1_000), 4))


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
