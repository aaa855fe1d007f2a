"""The opaque bytes of classic consumers."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.consumer.classic_bytes import (
    MalformedError,
    assignment_bytes,
    parse_assignment,
    parse_subscription,
    version_of,
)
from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from mockbroker_protocol.plan import encode
from tests.support.consumer_groups import classic_subscription


@pytest.mark.parametrize("version", range(4))
def test_assignments_are_read_back(version: int) -> None:
    data = assignment_bytes([("t", [0, 2])], version)
    assert version_of(data) == version
    (one,) = parse_assignment(data)
    assert (one.topic, one.partitions) == ("t", [0, 2])
    assert parse_assignment(b"") == []


def test_a_subscription_of_a_later_version_is_read_as_the_latest() -> None:
    data = classic_subscription("t", owned={"t": [1]}, version=3)
    parsed = parse_subscription(b"\x00\x09" + data[2:])
    assert parsed.topics == ["t"]
    assert parsed.owned_partitions[0].partitions == [1]
    assert version_of(assignment_bytes([], 9)) == 3


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x00\x00", b"\x00\x01\xff"])
def test_what_is_no_consumers_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError, match="malformed"):
        parse_subscription(data)


def test_what_a_custom_assignor_would_lose_is_refused() -> None:
    message = ConsumerProtocolAssignment([], b"mine")
    with pytest.raises(MalformedError, match="custom assignor"):
        parse_assignment(b"\x00\x01" + b"".join(encode(message, 1)))
