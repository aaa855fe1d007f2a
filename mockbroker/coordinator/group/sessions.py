"""Heartbeat and LeaveGroup: staying in a group, and going.

A heartbeat costs a few look-ups and no timer work, whatever the size of the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.rebalance import Rebalancer
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker_protocol.messages.group_membership import HeartbeatRequest, MemberIdentity

# The error code of a heartbeat from a member of the current generation.
_HEARTBEAT_ANSWERS = {
    GroupState.EMPTY: ErrorCode.UNKNOWN_MEMBER_ID,
    GroupState.PREPARING_REBALANCE: ErrorCode.REBALANCE_IN_PROGRESS,
    GroupState.COMPLETING_REBALANCE: ErrorCode.NONE,
    GroupState.STABLE: ErrorCode.NONE,
    GroupState.DEAD: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


@dataclass(slots=True, eq=False)
class SessionHandler:
    """Decides what becomes of a Heartbeat and a LeaveGroup."""

    _rebalancer: Rebalancer

    def heartbeat(self, shard: GroupShard, request: HeartbeatRequest) -> ErrorCode:
        """GroupMetadataManager.classicGroupHeartbeat."""
        group = shard.groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.validate_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalancer.touch_session(shard, group, group.members[request.member_id])
        return _HEARTBEAT_ANSWERS[group.state]

    def leave(
        self, shard: GroupShard, group_id: str, identities: list[MemberIdentity]
    ) -> LeaveGroupResponse:
        """GroupMetadataManager.classicGroupLeave; one rebalance at most, for all who leave."""
        group = shard.groups.get(group_id)
        results = [
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=(
                    ErrorCode.UNKNOWN_MEMBER_ID if group is None else self._leave(group, identity)
                ),
            )
            for identity in identities
        ]
        if group is not None and any(not result.error_code for result in results):
            if group.state is GroupState.PREPARING_REBALANCE:
                self._rebalancer.complete_if_joined(shard, group)
            elif group.can_rebalance and group.state is not GroupState.EMPTY:
                self._rebalancer.prepare(shard, group)
        return LeaveGroupResponse(members=results)

    def _leave(self, group: ClassicGroup, identity: MemberIdentity) -> ErrorCode:
        member_id, group_instance_id = identity.member_id, identity.group_instance_id
        if not member_id:  # an admin removes a static member by its instance id (KIP-345)
            known = group.static_members.get(group_instance_id or "")
            if group_instance_id is None or known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = known
        elif member_id in group.pending_joins:
            group.forget_pending(member_id)
            return ErrorCode.NONE
        else:
            error = group.validate_member(member_id, group_instance_id)
            if error is not ErrorCode.NONE:
                return error
        self._rebalancer.remove(group, group.members[member_id])
        return ErrorCode.NONE
