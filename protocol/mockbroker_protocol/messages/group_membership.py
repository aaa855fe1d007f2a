"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: the classic group protocol.

Metadata and assignments are opaque to the broker; consumers put the schemas of
`mockbroker_protocol.messages.consumer_protocol` there.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, int16, int32, message, struct


@message(api_key=11)
class JoinGroupRequest:
    """Join a group, or join again after a rebalance began."""

    group_id: str = ""
    session_timeout_ms: int32 = 0
    rebalance_timeout_ms: Annotated[int32, V(since=1, ignorable=True)] = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=5, nullable=5)] = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: Annotated[str | None, V(since=8, nullable=8, ignorable=True)] = None


@struct
class JoinGroupRequestProtocol:
    """An assignor that the member offers, with its metadata."""

    name: str = ""
    metadata: bytes = b""


@message(api_key=11)
class JoinGroupResponse:
    """Generation, leader and, for the leader, all members."""

    throttle_time_ms: Annotated[int32, V(since=2, ignorable=True)] = 0
    error_code: int16 = 0
    generation_id: int32 = -1
    protocol_type: Annotated[str | None, V(since=7, nullable=7, ignorable=True)] = None
    protocol_name: Annotated[str | None, V(nullable=7)] = ""
    leader: str = ""
    skip_assignment: Annotated[boolean, V(since=9)] = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = []


@struct
class JoinGroupResponseMember:
    """A member as the leader sees it."""

    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None
    metadata: bytes = b""


@message(api_key=14)
class SyncGroupRequest:
    """The leader brings the assignments; the others bring none."""

    group_id: str = ""
    generation_id: int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=3, nullable=3)] = None
    protocol_type: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None
    protocol_name: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None
    assignments: list[SyncGroupRequestAssignment] = []


@struct
class SyncGroupRequestAssignment:
    """What one member gets."""

    member_id: str = ""
    assignment: bytes = b""


@message(api_key=14)
class SyncGroupResponse:
    """What this member gets."""

    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    error_code: int16 = 0
    protocol_type: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None
    protocol_name: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None
    assignment: bytes = b""


@message(api_key=12)
class HeartbeatRequest:
    """Sign of life of a member in a generation."""

    group_id: str = ""
    generation_id: int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, V(since=3, nullable=3)] = None


@message(api_key=12)
class HeartbeatResponse:
    """REBALANCE_IN_PROGRESS here tells the member to join again."""

    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    error_code: int16 = 0


@message(api_key=13)
class LeaveGroupRequest:
    """Leave: one member up to v2, a list from v3 on (KIP-345)."""

    group_id: str = ""
    member_id: Annotated[str, V(until=2)] = ""
    members: Annotated[list[MemberIdentity], V(since=3)] = []


@struct
class MemberIdentity:
    """A member by id, or by group instance id with an empty member id."""

    member_id: str = ""
    group_instance_id: Annotated[str | None, V(nullable=3)] = None
    reason: Annotated[str | None, V(since=5, nullable=5, ignorable=True)] = None


@message(api_key=13)
class LeaveGroupResponse:
    """What became of each member."""

    throttle_time_ms: Annotated[int32, V(since=1, ignorable=True)] = 0
    error_code: int16 = 0
    members: Annotated[list[MemberResponse], V(since=3)] = []


@struct
class MemberResponse:
    """Success or error for one member."""

    member_id: str = ""
    group_instance_id: Annotated[str | None, V(nullable=3)] = ""
    error_code: int16 = 0
