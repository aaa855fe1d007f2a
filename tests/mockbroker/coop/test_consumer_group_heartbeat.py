"""Heartbeats with the extension's fields; what comes of them is in `test_krange`."""

from __future__ import annotations

import pytest

from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.mockbroker.coop.test_fetch import ON
from tests.support.core import Core


def joining(assignor: str | None, caps: bytes | None) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"],
        server_assignor=assignor,
        topic_partitions=[],
    )
    if caps is not None:
        tags.tag(request, {Tag.HEARTBEAT_CAPS: caps})
    return request


@pytest.mark.parametrize(
    ("assignor", "caps", "error"),
    [
        ("krange", b"\x01", ErrorCode.NONE),
        ("krange", b"\x06", ErrorCode.UNSUPPORTED_ASSIGNOR),
        ("krange", None, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ("uniform", b"\x01", ErrorCode.NONE),
        (None, b"\x01", ErrorCode.NONE),
        ("krange", b"", ErrorCode.INVALID_REQUEST),
    ],
)
def test_who_may_ask_for_it(assignor: str | None, caps: bytes | None, error: ErrorCode) -> None:
    client = Core(topics={"t": 1}, config=ON).client()
    answer = client.call(joining(assignor, caps), 1, ConsumerGroupHeartbeatResponse)
    assert answer.error_code == error
    assert not tags.tagged_fields(answer)


def test_the_refusal_names_what_an_ordinary_broker_has() -> None:
    texts = [
        Core(topics={"t": 1}, config=config)
        .client()
        .call(joining("krange", None), 1, ConsumerGroupHeartbeatResponse)
        .error_message
        for config in (ON, {})
    ]
    assert texts[0] == texts[1]
