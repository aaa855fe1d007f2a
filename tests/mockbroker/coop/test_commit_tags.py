"""The bytes of the tagged fields of commits."""

from __future__ import annotations

import pytest

from mockbroker.coop.commit_tags import (
    AskedCommit,
    commit_fields,
    read_commit,
    read_offset_ranges,
    read_want,
    standing_fields,
    write_offset_ranges,
)
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.errors import ProtocolError

PACKED = bytes.fromhex("03 000000000000002d 000000000000002f 0000000000000032 0000000000000032")


def test_what_a_client_sends() -> None:
    fields = commit_fields([(45, 47), (50, 50)], 43, read_committed=True)
    assert fields == {
        Tag.COMMIT_RANGES: PACKED,
        Tag.INITIAL_OFFSET: (43).to_bytes(8, "big"),
        Tag.ISOLATION: b"\x01",
    }
    assert read_commit(fields) == AskedCommit([(45, 47), (50, 50)], 43, True)
    assert read_commit(commit_fields([])) == AskedCommit([], None, False)
    assert read_commit({}) is None


def test_many_ranges_have_a_longer_count() -> None:
    ranges = [(at, at) for at in range(300)]
    assert read_offset_ranges(write_offset_ranges(ranges) + b"later") == ranges


@pytest.mark.parametrize(
    "cut",
    [
        {Tag.COMMIT_RANGES: PACKED[:-1]},
        {Tag.COMMIT_RANGES: b""},
        {Tag.COMMIT_RANGES: PACKED, Tag.INITIAL_OFFSET: b"\x00"},
        {Tag.COMMIT_RANGES: PACKED, Tag.ISOLATION: b""},
    ],
)
def test_what_is_cut_is_no_field(cut: dict[int, bytes]) -> None:
    with pytest.raises(ProtocolError):
        read_commit(cut)


def test_how_a_partition_stands() -> None:
    assert standing_fields(48, 2) == {
        Tag.STABLE_OFFSET: (48).to_bytes(8, "big"),
        Tag.RANGE_COUNT: (2).to_bytes(4, "big"),
    }
    assert [read_want(data) for data in (None, b"", b"\x01", b"\x02")] == [0, 0, 1, 2]
