"""The extension's own APIs."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages import cooperation
from mockbroker_protocol.plan import encode
from tests.support.message_checks import check_message, versions_of


@pytest.mark.parametrize(("cls", "version"), versions_of(cooperation))
def test_messages_round_trip(cls: type, version: int) -> None:
    check_message(cls, version)


def test_ranges_are_packed_and_a_key_may_be_null() -> None:
    part = cooperation.RegisterKeyRangeFilterRequestPartition(
        ranges=[(0).to_bytes(8, "big") + (9).to_bytes(8, "big")], keys=[b"a", None]
    )
    topics = [cooperation.RegisterKeyRangeFilterRequestTopic("t", [part])]
    body = b"".join(encode(cooperation.RegisterKeyRangeFilterRequest("me", topics), 0))
    packed = "02 0000000000000000 0000000000000009"
    assert body == bytes.fromhex(f"036d65 02 0274 02 00000000 {packed} 03 0261 00 00 00 00")
