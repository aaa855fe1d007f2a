"""ConsumerGroupDescribe over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from tests.support.core import Core


@pytest.mark.parametrize("version", [0, 1])
def test_every_version_describes(version: int) -> None:
    client = Core(topics={"t": 2}).client("consumer")
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    client.call(request, 1, ConsumerGroupHeartbeatResponse)
    ask = ConsumerGroupDescribeRequest(["g", "none"], include_authorized_operations=True)
    response = client.call(ask, version, ConsumerGroupDescribeResponse)
    group, missing = response.groups
    assert (group.group_state, group.group_epoch, group.assignor_name) == ("Stable", 2, "uniform")
    assert group.authorized_operations > 0
    (member,) = group.members
    assert (member.client_id, member.member_type) == ("consumer", 1 if version else -1)
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert missing.authorized_operations == -(2**31)
