"""Classic members of a consumer group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup (KIP-848).

A join is a heartbeat in other words: it takes the member a step towards its target, and is
answered at once with the member's epoch as the generation; nobody leads. A sync gives the member
its partitions, in the consumers' bytes. Where a member of the consumer protocol would learn of a
change by its heartbeat, a classic one gets REBALANCE_IN_PROGRESS and joins again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mockbroker.coordinator.deferred_writes import ignore_error
from mockbroker.coordinator.group.consumer.classic_bytes import (
    MalformedError,
    assignment_bytes,
    parse_subscription,
    version_of,
)
from mockbroker.coordinator.group.consumer.group import CONSUMER_PROTOCOL_TYPE, ConsumerGroup
from mockbroker.coordinator.group.consumer.member import ConsumerMember, MemberState
from mockbroker.coordinator.group.consumer.member_update import UpdateBase, replaced_member
from mockbroker.coordinator.group.consumer.migration import classic_metadata
from mockbroker.coordinator.group.consumer.refusal import Refusal
from mockbroker.metadata.names import random_uuid
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import (
    JoinGroupResponse,
    LeaveGroupResponse,
    MemberResponse,
    SyncGroupResponse,
)
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.versions import JOIN_GROUP_KNOWN_MEMBER_ID

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.fencing import Fencing
    from mockbroker.coordinator.group.consumer.member_update import MemberUpdate, MemberUpdater
    from mockbroker.coordinator.group.consumer.migration import Migration
    from mockbroker.coordinator.group.consumer.settings import ConsumerSettings
    from mockbroker.coordinator.group.consumer.subscriptions import Subscriptions
    from mockbroker.coordinator.group.members import ClientIdentity, JoinCallback, SyncCallback
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolSubscription
    from mockbroker_protocol.messages.group_membership import (
        HeartbeatRequest,
        JoinGroupRequest,
        MemberIdentity,
        SyncGroupRequest,
    )

_SAME = -1


@dataclass(slots=True, eq=False)
class MixedHandler:
    """Decides what becomes of classic requests to a consumer group that has members."""

    _settings: ConsumerSettings
    _subscriptions: Subscriptions
    _updater: MemberUpdater
    _fencing: Fencing
    _migration: Migration
    _rng: Random

    # -- join ------------------------------------------------------------------------------

    def join(
        self,
        shard: GroupShard,
        group: ConsumerGroup,
        request: JoinGroupRequest,
        client: ClientIdentity,
        on_complete: JoinCallback,
    ) -> None:
        """GroupMetadataManager.classicGroupJoinToConsumerGroup."""
        is_stranger = not request.member_id
        member_id = request.member_id or uuid_text(random_uuid(self._rng))
        error = self._refuse_join(group, request, member_id)
        if error is not ErrorCode.NONE:
            on_complete(JoinGroupResponse(error_code=error))
            return
        if (
            is_stranger
            and request.group_instance_id is None
            and client.api_version >= JOIN_GROUP_KNOWN_MEMBER_ID
        ):
            error = ErrorCode.MEMBER_ID_REQUIRED
            on_complete(JoinGroupResponse(error_code=error, member_id=member_id))
            return
        try:
            subscription = parse_subscription(bytes(request.protocols[0].metadata))
        except MalformedError:
            error = ErrorCode.UNKNOWN_SERVER_ERROR
            on_complete(JoinGroupResponse(error_code=error))
            return
        start = _enter(group, request, member_id, is_stranger=is_stranger)
        if isinstance(start, Refusal):
            on_complete(JoinGroupResponse(error_code=start.error))
            return
        updated = _updated(start.base, request, client, subscription)
        update = self._updater.subscribe(start, updated)
        assert not isinstance(update, Refusal)  # it brings no expression
        owned = self._subscriptions.view.partitions_of(subscription.owned_partitions)
        replaced = group.static_member(request.group_instance_id)
        if replaced is not None and self._migration.can_downgrade_with(group, replaced):
            self._join_and_downgrade(shard, update, replaced, owned, on_complete)
        else:
            self._updater.assign(update, owned)
            self._write_join(shard, update, request, client, on_complete)

    def _refuse_join(
        self, group: ConsumerGroup, request: JoinGroupRequest, member_id: str
    ) -> ErrorCode:
        if self._migration.is_disabled:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if len(group.members) >= self._settings.max_size() and member_id not in group.members:
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        names = {protocol.name for protocol in request.protocols}
        if not group.supports_protocols(request.protocol_type, names):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _write_join(
        self,
        shard: GroupShard,
        update: MemberUpdate,
        request: JoinGroupRequest,
        client: ClientIdentity,
        on_complete: JoinCallback,
    ) -> None:
        timeouts, group, member = self._fencing.timeouts, update.start.group, update.member
        member_id = member.member_id
        is_in = False

        def appended() -> None:
            nonlocal is_in
            is_in = True
            old = update.start.old
            if old is not None and old.member_id != member_id:
                timeouts.forget(group, old.member_id)
            timeouts.cancel_rebalance_timeout(group, member_id)
            timeouts.schedule_session_timeout(shard, group, member_id, request.session_timeout_ms)
            timeouts.schedule_sync_timeout(shard, group, member_id, member.rebalance_timeout_ms)
            if update.records:
                self._fencing.moved(group)

        def written(error: ErrorCode) -> None:
            on_complete(JoinGroupResponse(error_code=error) if error else _joined(member))

        shard.write(update.records, written, appended=appended)
        if is_in and update.needs_regex_resolution:
            shard.write(self._subscriptions.resolve(group, client.describes), ignore_error)

    def _join_and_downgrade(
        self,
        shard: GroupShard,
        update: MemberUpdate,
        replaced: ConsumerMember,
        owned: dict[bytes, list[int]],
        on_complete: JoinCallback,
    ) -> None:
        group = update.start.group
        must_rebalance = group.assignment_epoch < update.candidate.group_epoch
        if not must_rebalance:
            self._updater.reconcile(update, group.assignment_epoch, owned)
        made, records = self._migration.downgrade_with(group, update.member, replaced)

        live: ClassicGroup | None = None

        def appended() -> None:
            nonlocal live
            live = self._migration.downgraded(shard, group, made)

        def written(error: ErrorCode) -> None:
            on_complete(JoinGroupResponse(error_code=error) if error else _joined(update.member))

        shard.write([*update.records, *records], written, appended=appended)
        if live is not None and must_rebalance:
            self._migration.rebalance(shard, live)

    # -- sync, heartbeat, leave ------------------------------------------------------------

    def sync(
        self,
        shard: GroupShard,
        group: ConsumerGroup,
        request: SyncGroupRequest,
        on_complete: SyncCallback,
    ) -> None:
        """GroupMetadataManager.classicGroupSyncToConsumerGroup."""
        member = _classic_member(group, request.member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            on_complete(SyncGroupResponse(error_code=member))
            return
        error = self._refuse_sync(shard, group, member, request)
        if error is not ErrorCode.NONE:
            on_complete(SyncGroupResponse(error_code=error))
            return
        assert member.classic is not None
        timeouts = self._fencing.timeouts
        timeouts.cancel_sync_timeout(group, member.member_id)
        timeout_ms = member.classic.session_timeout_ms
        timeouts.schedule_session_timeout(shard, group, member.member_id, timeout_ms)
        named = self._subscriptions.view.named(member.assigned)
        version = version_of(bytes(member.classic.supported_protocols[0].metadata))
        on_complete(
            SyncGroupResponse(
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=assignment_bytes(named, version),
            )
        )

    def _refuse_sync(
        self,
        shard: GroupShard,
        group: ConsumerGroup,
        member: ConsumerMember,
        request: SyncGroupRequest,
    ) -> ErrorCode:
        if request.generation_id != member.epoch:
            return ErrorCode.ILLEGAL_GENERATION
        if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or (
            request.protocol_name not in (None, _protocol_name(member))
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if (
            group.assignment_epoch > member.epoch
            and member.state is not MemberState.UNREVOKED_PARTITIONS
        ):
            self._fencing.timeouts.schedule_join_timeout(shard, group, member.member_id)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def heartbeat(
        self, shard: GroupShard, group: ConsumerGroup, request: HeartbeatRequest
    ) -> ErrorCode:
        """GroupMetadataManager.classicGroupHeartbeatToConsumerGroup."""
        member = _classic_member(group, request.member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            return member
        if request.generation_id != member.epoch:
            return ErrorCode.ILLEGAL_GENERATION
        assert member.classic is not None
        timeouts, member_id = self._fencing.timeouts, member.member_id
        timeouts.schedule_session_timeout(
            shard, group, member_id, member.classic.session_timeout_ms
        )
        if (
            member.epoch < group.assignment_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (
                member.state is MemberState.UNRELEASED_PARTITIONS
                and not group.is_waiting_for_release(member)
            )
        ):
            timeouts.schedule_join_timeout(shard, group, member_id)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def leave(
        self,
        shard: GroupShard,
        group: ConsumerGroup,
        identities: list[MemberIdentity],
        on_complete: Callable[[LeaveGroupResponse], None],
    ) -> None:
        """GroupMetadataManager.classicGroupLeaveToConsumerGroup: of either protocol's members."""
        leaving: dict[str, ConsumerMember] = {}
        results = []
        for identity in identities:
            member = _leaving(group, identity)
            error = ErrorCode.NONE
            if isinstance(member, ErrorCode):
                error = member
            else:
                leaving[member.member_id] = member
            results.append(
                MemberResponse(
                    member_id=identity.member_id,
                    group_instance_id=identity.group_instance_id,
                    error_code=error,
                )
            )

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                on_complete(LeaveGroupResponse(members=results))
            else:
                on_complete(LeaveGroupResponse(error_code=error))

        self._fencing.fence(shard, group, list(leaving.values()), written)


def _enter(
    group: ConsumerGroup, request: JoinGroupRequest, member_id: str, *, is_stranger: bool
) -> UpdateBase | Refusal:
    records: list[CoordinatorRecord] = []
    if request.group_instance_id is None:
        member = group.members.get(member_id)
        return UpdateBase(group, member or ConsumerMember(member_id), member, records)
    owner = group.static_member(request.group_instance_id)
    if not is_stranger:
        if owner is None:
            return Refusal(ErrorCode.UNKNOWN_MEMBER_ID)
        if owner.member_id != member_id:
            return Refusal(ErrorCode.FENCED_INSTANCE_ID)
        return UpdateBase(group, owner, owner, records)
    if owner is None:
        return UpdateBase(group, ConsumerMember(member_id), None, records)
    return UpdateBase(group, replaced_member(group, owner, member_id, records), owner, records)


def _updated(
    member: ConsumerMember,
    request: JoinGroupRequest,
    client: ClientIdentity,
    subscription: ConsumerProtocolSubscription,
) -> ConsumerMember:
    protocols = [(one.name, bytes(one.metadata)) for one in request.protocols]
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == _SAME else timeout_ms,
        topic_names=frozenset(subscription.topics),
        topic_regex="",
        client_id=client.client_id,
        client_host=client.host,
        classic=classic_metadata(request.session_timeout_ms, protocols),
    )


def _joined(member: ConsumerMember) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=member.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=_protocol_name(member),
        member_id=member.member_id,
    )


def _protocol_name(member: ConsumerMember) -> str:
    assert member.classic is not None
    return member.classic.supported_protocols[0].name


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> ConsumerMember | ErrorCode:
    if instance_id is None:
        member = group.members.get(member_id)
    else:
        member = group.static_member(instance_id)
        if member is not None and member.member_id != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    if member is None or not member.is_classic:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember | ErrorCode:
    if identity.group_instance_id is None:
        member = group.members.get(identity.member_id)
    else:
        member = group.static_member(identity.group_instance_id)
        if member is not None and identity.member_id not in ("", member.member_id):
            return ErrorCode.FENCED_INSTANCE_ID
    return member or ErrorCode.UNKNOWN_MEMBER_ID
