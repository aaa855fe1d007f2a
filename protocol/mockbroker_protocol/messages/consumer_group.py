"""ConsumerGroupHeartbeat: the one call of the consumer group protocol of KIP-848.

Member epoch 0 joins, -1 leaves, -2 leaves for a while as a static member.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import ZERO_UUID, V, int16, int32, message, struct, uuid


@message(api_key=68)
class ConsumerGroupHeartbeatRequest:
    """Join, stay or leave; None says that a field is as it was."""

    group_id: str = ""
    member_id: str = ""
    member_epoch: int32 = 0
    instance_id: Annotated[str | None, V(nullable=0)] = None
    rack_id: Annotated[str | None, V(nullable=0)] = None
    rebalance_timeout_ms: int32 = -1
    subscribed_topic_names: Annotated[list[str] | None, V(nullable=0)] = None
    subscribed_topic_regex: Annotated[str | None, V(since=1, nullable=1)] = None
    server_assignor: Annotated[str | None, V(nullable=0)] = None
    topic_partitions: Annotated[list[HeartbeatTopicPartitions] | None, V(nullable=0)] = None


@struct
class HeartbeatTopicPartitions:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[int32] = []


@message(api_key=68)
class ConsumerGroupHeartbeatResponse:
    """The epoch, and the assignment when it changed."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = None
    member_id: Annotated[str | None, V(nullable=0)] = None
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    assignment: Annotated[Assignment | None, V(nullable=0)] = None


@struct
class Assignment:
    """Partitions that the member shall have."""

    topic_partitions: list[HeartbeatTopicPartitions] = []
