"""The walk through Java's hash tables."""

from __future__ import annotations

from mockbroker.coordinator.group.consumer.java_order import (
    ordered_ints,
    ordered_strings,
    ordered_uuids,
    uuid_hash,
)


def test_strings_go_by_bucket() -> None:
    # Hashes 97 to 100: buckets 1 to 4 of 16, whatever the order they came in.
    assert ordered_strings(["d", "b", "a", "c"]) == ["a", "b", "c", "d"]
    # "q" is 113 and falls into the bucket of "a": the elder comes first.
    assert ordered_strings(["q", "b", "a"]) == ["q", "a", "b"]


def test_a_table_doubles_above_three_quarters() -> None:
    twelve = [chr(97 + number) for number in (16, *range(11))]
    assert ordered_strings(twelve)[0] == "q"  # 113 & 15 is 1
    assert ordered_strings([*twelve, "l"])[0] == "a"  # 113 & 31 is 17


def test_numbers_are_ascending_while_they_are_few_and_low() -> None:
    assert ordered_ints([3, 1, 2]) == [1, 2, 3]
    assert ordered_ints([17, 2]) == [17, 2]  # 17 & 15 is 1


def test_a_copy_has_more_room_than_a_table_that_grew() -> None:
    # 12 entries: a table that grew has 16 buckets, a copy 32.
    numbers = [*range(2, 13), 17]
    assert ordered_ints(numbers) == numbers


def test_ids_are_hashed_as_two_longs() -> None:
    high, low = bytes(7) + b"\x01", bytes(4) + b"\x00\x00\x01\x00"
    assert uuid_hash(high + low) == 0x101
    assert ordered_uuids([high + low, bytes(15) + b"\x02"]) == [high + low, bytes(15) + b"\x02"]
