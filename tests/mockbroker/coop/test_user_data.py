"""The bytes in UserData (AS-09)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop.user_data import (
    Subscribed,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from mockbroker_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from mockbroker.coop.assignor import Assignment

NOTHING = bytes.fromhex("434358310300000000")
HALF = bytes.fromhex(
    "43435831 00000001 0001 74 00000001 00000000 00000001 0000000000000000 000000003fffffff"
)


def test_as_09_byte_for_byte() -> None:
    assert write_subscription(3, {}) == NOTHING
    assert (len(NOTHING), len(HALF)) == (9, 39)
    assert write_assignment({"t": {0: (KeyRange(0, 1073741823),)}}) == HALF


def test_what_is_written_is_read() -> None:
    ranges: Assignment = {"t": {0: (KeyRange(1, 2), KeyRange(4, 5)), 3: ()}, "ü": {1: ()}}
    assert read_assignment(write_assignment(ranges)) == ranges
    assert read_subscription(write_subscription(5, ranges)) == Subscribed(5, ranges)


@pytest.mark.parametrize("other", [None, b"", b"CCX", b"CCX2\x00\x00\x00\x00\x00"])
def test_what_others_put_there_is_not_looked_at(other: bytes | None) -> None:
    assert read_assignment(other) is None
    assert read_subscription(other) is None


@pytest.mark.parametrize("cut", range(4, len(HALF)))
def test_what_is_cut(cut: int) -> None:
    with pytest.raises(ProtocolError):
        read_assignment(HALF[:cut])


@pytest.mark.parametrize("cut", range(4, len(NOTHING)))
def test_a_subscription_that_is_cut(cut: int) -> None:
    with pytest.raises(ProtocolError):
        read_subscription(NOTHING[:cut])
