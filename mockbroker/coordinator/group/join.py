"""JoinGroup: who may come in, and under which id (GroupMetadataManager.classicGroupJoin).

| who joins                          | outcome                                                   |
|------------------------------------|-----------------------------------------------------------|
| stranger, v4+                      | MEMBER_ID_REQUIRED with an id that is pending (KIP-394)   |
| stranger, v0–v3; a pending id      | a new member                                              |
| new group.instance.id              | a new static member, at once (KIP-345)                    |
| known group.instance.id, no id     | replaces its old id; Stable and same protocol: no rebalance |
| member, rebalance being joined     | updated; waits                                            |
| member, CompletingRebalance        | same protocols: the same answer again; else a rebalance   |
| follower, Stable, same protocols   | the current generation                                    |
| leader or changed, Stable          | a rebalance                                               |

Each join is answered exactly once; one that is superseded by a later join of the same member is
answered with REBALANCE_IN_PROGRESS, where Kafka forgets it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coordinator.group.members import ClassicMember
from mockbroker.coordinator.group.rebalance import answer_parked, join_response
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import JoinGroupResponse
from mockbroker_protocol.versions import (
    JOIN_GROUP_KNOWN_MEMBER_ID,
    JOIN_GROUP_SKIP_ASSIGNMENT,
)

if TYPE_CHECKING:
    from random import Random

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.members import ClientIdentity, JoinCallback, Protocols
    from mockbroker.coordinator.group.rebalance import Rebalancer
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker_protocol.messages.group_membership import JoinGroupRequest


# A new member's parked join keeps it this long without a heartbeat
# (GroupCoordinatorConfig.CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS).
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000


@dataclass(slots=True, eq=False)
class Join:
    """One JoinGroup on its way: the request with what it means under its version."""

    shard: GroupShard
    group: ClassicGroup
    request: JoinGroupRequest
    client: ClientIdentity
    parked: JoinCallback
    protocols: Protocols = field(init=False)

    def __post_init__(self) -> None:
        self.protocols = [(one.name, bytes(one.metadata)) for one in self.request.protocols]

    def fail(self, error: ErrorCode, member_id: str = "") -> None:
        """Answer with an error."""
        self.parked(JoinGroupResponse(error_code=error, member_id=member_id))


@dataclass(slots=True, eq=False)
class JoinHandler:
    """Decides what becomes of a JoinGroup."""

    _rebalancer: Rebalancer
    _rng: Random

    def join(
        self,
        shard: GroupShard,
        request: JoinGroupRequest,
        client: ClientIdentity,
        on_complete: JoinCallback,
    ) -> None:
        """Answer through `on_complete`, now or when the rebalance completes."""
        member_id = request.member_id
        group = shard.groups.get(request.group_id)
        if group is not None:
            self._join_group(Join(shard, group, request, client, on_complete))
            return
        if member_id:
            error = ErrorCode.UNKNOWN_MEMBER_ID
            on_complete(JoinGroupResponse(error_code=error, member_id=member_id))
            return

        def created(error: ErrorCode) -> None:
            group = shard.groups.get(request.group_id)
            if error is ErrorCode.NONE and group is None:  # deleted meanwhile
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            if group is None or error is not ErrorCode.NONE:
                on_complete(JoinGroupResponse(error_code=error))
                return
            self._join_group(Join(shard, group, request, client, on_complete))

        group_id = request.group_id
        records = [shard.create_group(group_id, self._rebalancer.clock.wall_ms())]
        if group_id in shard.consumer_groups:  # an empty one: it is a classic group from now on
            records = [*shard.group_tombstones(group_id), *records]
        shard.write(records, created)

    def _join_group(self, join: Join) -> None:
        group, request = join.group, join.request
        if not self._has_room(group, request.member_id):
            self._turn_away(join)
        elif not group.supports(request.protocol_type, [name for name, _ in join.protocols]):
            join.fail(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        elif request.member_id:
            self._join_known(join)
        elif request.group_instance_id is not None:
            self._join_static(join, request.group_instance_id)
        else:
            self._join_dynamic(join)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        # GroupMetadataManager.acceptJoiningMember; while joining, those count who have joined.
        max_size = self._rebalancer.config.int("group.max.size")
        member = group.members.get(member_id)
        if group.state is GroupState.EMPTY:
            return True
        if group.state is GroupState.PREPARING_REBALANCE:
            joined = member is not None and member.parked_join is not None
            return joined or group.awaiting_joins < max_size
        return member is not None or len(group.members) < max_size

    def _turn_away(self, join: Join) -> None:
        group, member_id = join.group, join.request.member_id
        group.forget_pending(member_id)
        member = group.members.get(member_id)
        if member is not None:
            self._rebalancer.remove(group, member)
        join.fail(ErrorCode.GROUP_MAX_SIZE_REACHED)

    # -- new members -----------------------------------------------------------------------

    def _join_static(self, join: Join, group_instance_id: str) -> None:
        member_id = f"{group_instance_id}-{self._new_uuid()}"
        old_id = join.group.static_members.get(group_instance_id)
        if old_id is None:
            self._add_member(join, member_id)
        else:
            self._replace_static(join, join.group.members[old_id], member_id)

    def _join_dynamic(self, join: Join) -> None:
        member_id = f"{join.client.client_id}-{self._new_uuid()}"
        if join.client.api_version < JOIN_GROUP_KNOWN_MEMBER_ID:
            self._add_member(join, member_id)
            return
        self._rebalancer.add_pending(
            join.shard, join.group, member_id, join.request.session_timeout_ms
        )
        join.fail(ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _add_member(self, join: Join, member_id: str) -> None:
        group, request = join.group, join.request
        member = ClassicMember(
            member_id,
            request.group_instance_id,
            join.client.client_id,
            join.client.host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            join.protocols,
        )
        member.is_new = True
        member.join_reason = request.reason
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and group.previous_state is GroupState.EMPTY
        ):
            group.new_member_added = True
        if not group.members:
            group.protocol_type = request.protocol_type
        group.add(member, join.parked)
        self._rebalancer.touch_session(join.shard, group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalancer.prepare_or_complete(join.shard, group)

    def _new_uuid(self) -> str:
        # A version 4 UUID, from the dice that were passed in.
        bits = self._rng.getrandbits(128)
        bits = bits & ~(0xF << 76) | 0x4 << 76
        bits = bits & ~(0x3 << 62) | 0x2 << 62
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    # -- members that come back ------------------------------------------------------------

    def _join_known(self, join: Join) -> None:
        group, request = join.group, join.request
        member_id = request.member_id
        if member_id in group.pending_joins:
            if request.group_instance_id is not None:
                # Kafka throws IllegalStateException: ids are never pending for static members.
                join.fail(ErrorCode.UNKNOWN_SERVER_ERROR)
            else:
                self._add_member(join, member_id)
            return
        error = group.validate_member(member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            join.fail(error, member_id)
            return
        member = group.members[member_id]
        if self._must_rebalance(join, member):
            self._rejoin(join, member)
        else:
            member.join_reason = request.reason
            join.parked(join_response(group, member_id))

    def _must_rebalance(self, join: Join, member: ClassicMember) -> bool:
        group = join.group
        if group.state is GroupState.PREPARING_REBALANCE or member.protocols != join.protocols:
            return True
        return group.state is GroupState.STABLE and group.leader_id == member.member_id

    def _rejoin(self, join: Join, member: ClassicMember) -> None:
        # GroupMetadataManager.updateMemberThenRebalanceOrCompleteJoin
        group, request = join.group, join.request
        superseded = group.take_join(member)
        group.update(
            member, join.protocols, request.rebalance_timeout_ms, request.session_timeout_ms
        )
        member.join_reason = request.reason
        group.park_join(member, join.parked)
        if superseded is not None:
            superseded(
                JoinGroupResponse(
                    error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id
                )
            )
        self._rebalancer.prepare_or_complete(join.shard, group)

    # -- static members under a new id (KIP-345) ---------------------------------------------

    def _replace_static(self, join: Join, old: ClassicMember, member_id: str) -> None:
        # GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin
        group, request = join.group, join.request
        leader_before = group.leader_id
        fenced = group.take_join(old), group.take_sync(old)
        member = group.replace_static(old, member_id)
        old_terms = member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
        self._rebalancer.touch_session(join.shard, group, member)
        group.update(
            member, join.protocols, request.rebalance_timeout_ms, request.session_timeout_ms
        )
        member.join_reason = request.reason
        group.park_join(member, join.parked)
        answer_parked(*fenced, ErrorCode.FENCED_INSTANCE_ID, old.member_id)
        if group.state is not GroupState.STABLE:
            if group.state is GroupState.COMPLETING_REBALANCE:
                self._rebalancer.prepare(join.shard, group)
            else:
                self._rebalancer.complete_if_joined(join.shard, group)
        elif group.select_protocol() == group.protocol_name:
            self._keep_generation(join, member, leader_before, old.member_id, old_terms)
        else:
            self._rebalancer.prepare(join.shard, group)

    def _keep_generation(
        self,
        join: Join,
        member: ClassicMember,
        leader_before: str | None,
        old_id: str,
        old_terms: tuple[Protocols, int, int],
    ) -> None:
        """The same place under a new id changes nothing for the others: write it, and answer."""
        group = join.group

        def written(error: ErrorCode) -> None:
            parked = group.take_join(member)
            if parked is None:
                return  # it is gone, or in the next generation, and was answered
            if error is not ErrorCode.NONE:
                group.update(member, *old_terms)
                reverted = group.replace_static(member, old_id)
                self._rebalancer.touch_session(join.shard, group, reverted)
                parked(
                    JoinGroupResponse(
                        error_code=error,
                        generation_id=group.generation_id,
                        protocol_type=group.protocol_type,
                        protocol_name=group.protocol_name,
                        leader=leader_before or "",
                    )
                )
                return
            parked(self._kept_response(join, member.member_id, leader_before))

        join.shard.write([group.metadata_record(group.state_timestamp_ms)], written)

    def _kept_response(
        self, join: Join, member_id: str, leader_before: str | None
    ) -> JoinGroupResponse:
        group = join.group
        is_leader = group.leader_id == member_id
        if join.client.api_version >= JOIN_GROUP_SKIP_ASSIGNMENT:
            return join_response(group, member_id, skip_assignment=is_leader)
        # KIP-814: below v9 a leader cannot be told to keep the assignment, so it is named by its
        # old id and acts as a follower.
        response = join_response(group, member_id)
        response.leader = leader_before or ""
        response.members = []
        return response
