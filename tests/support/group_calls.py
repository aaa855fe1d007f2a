"""Group requests over the core's verbs, for tests of the handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from tests.support.core import CoreClient


def join_request(
    member_id: str = "", group_id: str = "g", instance: str | None = None
) -> JoinGroupRequest:
    """A consumer with one assignor."""
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"\x00\x00\x00\x00\x00\x00")],
    )


def join_group(client: CoreClient, group_id: str = "g") -> JoinGroupResponse:
    """Come in as the only one: two requests, as KIP-394 has it."""
    first = client.call(join_request(group_id=group_id), 9, JoinGroupResponse)
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    return client.call(join_request(first.member_id, group_id), 9, JoinGroupResponse)


def stable_group(client: CoreClient, group_id: str = "g", assignment: bytes = b"a") -> str:
    """A stable group of one member in generation 1; its id."""
    member_id = join_group(client, group_id).member_id
    request = SyncGroupRequest(
        group_id=group_id,
        generation_id=1,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id, assignment)],
    )
    assert client.call(request, 5, SyncGroupResponse).assignment == assignment
    return member_id


def consumer_heartbeat(
    client: CoreClient, member_id: str, epoch: int = 0, topics: list[str] | None = None
) -> ConsumerGroupHeartbeatResponse:
    """A heartbeat of the consumer protocol (KIP-848) in group g; epoch 0 joins."""
    joins = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if joins else -1,
        subscribed_topic_names=topics,
        topic_partitions=[] if joins else None,
    )
    return client.call(request, 1, ConsumerGroupHeartbeatResponse)
