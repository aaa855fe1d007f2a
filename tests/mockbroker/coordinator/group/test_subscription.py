"""Which topics consumers read, from their metadata."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.subscription import subscribed_topics
from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from mockbroker_protocol.plan import encode
from tests.support.groups import subscription


def test_topics_of_all_members_are_united() -> None:
    assert subscribed_topics([subscription("a", "b"), subscription("b", "c")]) == frozenset("abc")
    assert subscribed_topics([]) == frozenset()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_is_read(version: int) -> None:
    body = b"".join(encode(ConsumerProtocolSubscription(topics=["a"]), version))
    assert subscribed_topics([version.to_bytes(2, "big") + body]) == frozenset("a")


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00", b"\x00\x00\xff\xff\xff\xff", b"range"])
def test_what_is_no_subscription_makes_the_topics_unknown(data: bytes) -> None:
    assert subscribed_topics([subscription("a"), data]) is None
