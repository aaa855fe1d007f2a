"""ConsumerGroupHeartbeat over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.support.core import Core


@pytest.mark.parametrize("version", [0, 1])
def test_every_version_joins_stays_and_leaves(version: int) -> None:
    client = Core(topics={"t": 2}).client("consumer")
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m" if version else "",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    response = client.call(request, version, ConsumerGroupHeartbeatResponse)
    assert (response.error_code, response.member_epoch) == (0, 2)
    assert response.assignment is not None
    assert response.assignment.topic_partitions[0].partitions == [0, 1]
    member_id = response.member_id or ""
    stay = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=2)
    assert client.call(stay, version, ConsumerGroupHeartbeatResponse).assignment is None
    leave = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=-1)
    assert client.call(leave, version, ConsumerGroupHeartbeatResponse).member_epoch == -1


def test_a_bad_request_is_answered() -> None:
    client = Core().client()
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m")
    response = client.call(request, 1, ConsumerGroupHeartbeatResponse)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == "RebalanceTimeoutMs must be provided in first request."
