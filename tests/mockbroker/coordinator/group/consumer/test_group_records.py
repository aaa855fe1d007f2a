"""The records as bytes, as Apache Kafka writes them."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.consumer import group_records
from mockbroker.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from mockbroker.coordinator.group.consumer.member import ConsumerMember, MemberState
from mockbroker.coordinator.records import CoordinatorRecord, decode_record, encode_record

ONE = bytes(range(16))
MEMBER = ConsumerMember(
    "m",
    epoch=3,
    previous_epoch=2,
    state=MemberState.UNREVOKED_PARTITIONS,
    client_id="c",
    client_host="/h",
    topic_names=frozenset(["t"]),
    rebalance_timeout_ms=5,
    assigned={ONE: {0: 3}},
)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            group_records.epoch_record("g", 2, 1),
            "0003 0001 67",
            "0000 00000002 01 00 08 0000000000000001",
        ),
        (
            group_records.member_record("g", MEMBER),
            "0005 0001 67 0001 6d",
            # A member of the new protocol: the classic metadata is a null, uvarint 0, in tag 0.
            "0000 00 00 02 63 03 2f68 02 02 74 01 00000005 00 01 00 01 00",
        ),
        (
            group_records.target_epoch_record("g", 2, 9),
            "0006 0001 67",
            "0000 00000002 01 00 08 0000000000000009",
        ),
        (
            group_records.target_record("g", "m", {ONE: (0, 1)}),
            "0007 0001 67 0001 6d",
            f"0000 02 {ONE.hex()} 03 00000000 00000001 00 00",
        ),
        (
            group_records.assignment_record("g", MEMBER),
            "0008 0001 67 0001 6d",
            f"0000 00000003 00000002 01 02 {ONE.hex()} 02 00000000 01 00 05 02 00000003 01 00",
        ),
        (
            group_records.regex_record("g", "a", ResolvedRegex(frozenset(["t"]), 7, 8)),
            "0010 0001 67 0001 61",
            "0000 02 02 74 0000000000000007 0000000000000008 00",
        ),
    ],
)
def test_the_bytes_are_kafkas(record: CoordinatorRecord, key: str, value: str) -> None:
    encoded_key, encoded_value = encode_record(record)
    assert encoded_key.hex() == key.replace(" ", "")
    assert encoded_value is not None
    assert encoded_value.hex() == value.replace(" ", "")
    assert decode_record(encoded_key, encoded_value) == record


def test_tombstones_name_all_there_is() -> None:
    group = ConsumerGroup("g")
    for record in (
        group_records.member_record("g", MEMBER),
        group_records.regex_record("g", "a", ResolvedRegex(frozenset(), 0, 0)),
    ):
        group.replay(record.key, record.value)
    tombstones = group_records.group_tombstones(group, {"m": "n"})
    numbers = [int.from_bytes(encode_record(one)[0][:2], "big") for one in tombstones]
    assert numbers == [8, 7, 6, 5, 16, 4, 3]
    assert all(one.value is None for one in tombstones)
    assert b"n" in encode_record(tombstones[0])[0]
