"""SyncGroup: the leader brings the assignments, everyone takes theirs.

Order of checks as in GroupMetadataManager.classicGroupSyncToClassicGroup: who asks (25, 82), the
generation (22), the protocol (23), then the state: PreparingRebalance 27, CompletingRebalance
parks until the leader has synced, Stable answers at once and ignores what a leader brings again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockbroker.coordinator.group.rebalance import sync_response
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import GroupMetadataValue
from mockbroker_protocol.messages.group_membership import SyncGroupResponse

if TYPE_CHECKING:
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.members import SyncCallback
    from mockbroker.coordinator.group.rebalance import Rebalancer
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker_protocol.messages.group_membership import SyncGroupRequest


@dataclass(slots=True, eq=False)
class SyncHandler:
    """Decides what becomes of a SyncGroup."""

    _rebalancer: Rebalancer

    def sync(self, shard: GroupShard, request: SyncGroupRequest, on_complete: SyncCallback) -> None:
        """Answer through `on_complete`, now or when the leader has synced."""
        group = shard.groups.get(request.group_id)
        error = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _validate(group, request)
        if group is None or error is not ErrorCode.NONE:
            on_complete(SyncGroupResponse(error_code=error))
        elif group.state is GroupState.STABLE:
            self._rebalancer.synced(group, request.member_id)
            on_complete(sync_response(group, group.members[request.member_id]))
        else:
            self._park(shard, group, request, on_complete)

    def _park(
        self,
        shard: GroupShard,
        group: ClassicGroup,
        request: SyncGroupRequest,
        on_complete: SyncCallback,
    ) -> None:
        member = group.members[request.member_id]
        superseded = group.take_sync(member)
        member.parked_sync = on_complete
        self._rebalancer.synced(group, request.member_id)
        if superseded is not None:
            superseded(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        if group.leader_id == request.member_id:
            self._assign(shard, group, request)

    def _assign(self, shard: GroupShard, group: ClassicGroup, request: SyncGroupRequest) -> None:
        assignments = {one.member_id: bytes(one.assignment) for one in request.assignments}
        generation_id = group.generation_id
        # Members that the leader forgot get empty bytes.
        record = group.metadata_record(group.state_timestamp_ms, assignments)

        def written(error: ErrorCode) -> None:
            is_joined = group.state is GroupState.COMPLETING_REBALANCE
            if not is_joined or group.generation_id != generation_id:
                return  # a rebalance went over it meanwhile, and has answered
            if error is ErrorCode.NONE:
                assert isinstance(record.value, GroupMetadataValue)
                group.apply(record.value)
            self._rebalancer.answer_syncs(shard, group, error)
            if error is not ErrorCode.NONE:
                self._rebalancer.prepare_or_complete(shard, group)

        # The group is Stable once the in-sync replicas have it, so that nobody is told before.
        shard.write([record], written, replay=False)


def _validate(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    # GroupMetadataManager.validateSyncGroup
    if group.state is GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.validate_member(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol_name
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differs(asked: str | None, current: str | None) -> bool:
    # Below version 5 the request does not say.
    return asked is not None and current is not None and asked != current
