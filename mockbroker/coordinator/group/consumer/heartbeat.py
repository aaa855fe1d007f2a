"""ConsumerGroupHeartbeat: join, stay, leave (GroupMetadataManager.consumerGroupHeartbeat).

| epoch    | from                          | outcome                                  |
|----------|-------------------------------|------------------------------------------|
| 0        | a stranger                    | a new member                             |
| 0        | a member                      | starts over                              |
| 0        | a new id for a known instance | takes over if the old one left; else 111 |
| its own  | a member                      | a step towards its target                |
| its last | a member that lost an answer  | the same, if it has no more than it may  |
| another  | a member                      | 110                                      |
| > 0      | a stranger                    | 25; without a group 69                   |
| -1       | a member                      | it is gone                               |
| -2       | a static member               | keeps its partitions until it comes back |

A group of the classic protocol is upgraded by the first member that joins it here: see
`migration`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mockbroker.coordinator.deferred_writes import ignore_error
from mockbroker.coordinator.group.classic_group import group_metadata_record
from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.group_records import assignment_record
from mockbroker.coordinator.group.consumer.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    MemberState,
)
from mockbroker.coordinator.group.consumer.member_update import UpdateBase, replaced_member
from mockbroker.coordinator.group.consumer.refusal import (
    Refusal,
    fenced_epoch,
    fenced_instance,
    group_not_found,
    not_a_consumer_group,
    unknown_instance,
    unknown_member,
    unknown_state,
    unreleased_instance,
)
from mockbroker.coordinator.group.states import GroupState
from mockbroker.metadata.names import random_uuid
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.versions import CONSUMER_GROUP_HEARTBEAT_MEMBER_ID

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from typing import TypeAlias

    from mockbroker.coordinator.group.consumer.fencing import Fencing
    from mockbroker.coordinator.group.consumer.member import Assigned
    from mockbroker.coordinator.group.consumer.member_update import MemberUpdate, MemberUpdater
    from mockbroker.coordinator.group.consumer.migration import Migration
    from mockbroker.coordinator.group.consumer.reconcile import Owned
    from mockbroker.coordinator.group.consumer.settings import ConsumerSettings
    from mockbroker.coordinator.group.consumer.subscriptions import Subscriptions
    from mockbroker.coordinator.group.members import ClientIdentity
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest

    HeartbeatCallback: TypeAlias = Callable[[ConsumerGroupHeartbeatResponse], None]

_SAME = -1


@dataclass(slots=True, eq=False)
class HeartbeatHandler:
    """Decides what becomes of a ConsumerGroupHeartbeat."""

    _settings: ConsumerSettings
    _subscriptions: Subscriptions
    _updater: MemberUpdater
    _fencing: Fencing
    _migration: Migration
    _rng: Random

    def heartbeat(
        self,
        shard: GroupShard,
        request: ConsumerGroupHeartbeatRequest,
        client: ClientIdentity,
        on_complete: HeartbeatCallback,
    ) -> None:
        """Answer through `on_complete`, once what was decided is written."""
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            self._leave(shard, request, on_complete)
            return
        start = self._enter(shard, request)
        if isinstance(start, Refusal):
            on_complete(refused(start))
            return
        if start.base.state is MemberState.UNKNOWN and request.topic_partitions != []:
            # CurrentAssignmentBuilder: it may own what nobody knows of, until it says otherwise.
            on_complete(refused(unknown_state()))
            return
        updated = _updated(start.base, request, client)
        update = self._updater.subscribe(start, updated)
        if isinstance(update, Refusal):
            on_complete(refused(update))
            return
        self._updater.assign(update, _owned(request))

        response: ConsumerGroupHeartbeatResponse | None = None

        def appended() -> None:
            nonlocal response
            response = self._updated_answer(shard, request, update)

        def written(error: ErrorCode) -> None:
            on_complete(refused(Refusal(error)) if response is None or error else response)

        shard.write(update.records, written, appended=appended)
        if response is not None and update.needs_regex_resolution:
            group = shard.consumer_groups[request.group_id]
            shard.write(self._subscriptions.resolve(group, client.describes), ignore_error)

    def _updated_answer(
        self, shard: GroupShard, request: ConsumerGroupHeartbeatRequest, update: MemberUpdate
    ) -> ConsumerGroupHeartbeatResponse:
        group = shard.consumer_groups[request.group_id]
        member, timeouts = update.member, self._fencing.timeouts
        if group is not update.start.group:
            self._migration.upgraded(shard, group, update.start.group)
        if update.start.old is not None and update.start.old.member_id != member.member_id:
            timeouts.forget(group, update.start.old.member_id)
        if update.records:
            self._fencing.moved(group)
        if update.reconciled:
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                timeouts.schedule_rebalance_timeout(shard, group, member.member_id)
            else:
                timeouts.cancel_rebalance_timeout(group, member.member_id)
        timeout_ms = self._settings.session_timeout_ms(group.group_id)
        timeouts.schedule_session_timeout(shard, group, member.member_id, timeout_ms)
        if update.needs_regex_resolution:
            self._fencing.moved(group)
        is_full = (
            request.rebalance_timeout_ms != _SAME
            and (
                request.subscribed_topic_names is not None
                or request.subscribed_topic_regex is not None
            )
            and request.topic_partitions is not None
        )
        shows = (
            request.member_epoch == JOIN_EPOCH
            or is_full
            or member.assigned != update.start.base.assigned
        )
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._settings.heartbeat_interval_ms(group, member),
            assignment=_assignment(member.assigned) if shows else None,
        )

    # -- coming in -------------------------------------------------------------------------

    def _enter(
        self, shard: GroupShard, request: ConsumerGroupHeartbeatRequest
    ) -> UpdateBase | Refusal:
        records: list[CoordinatorRecord] = []
        group = self._group(shard, request, records)
        if isinstance(group, Refusal):
            return group
        member_id = request.member_id
        if len(group.members) >= self._settings.max_size() and member_id not in group.members:
            return Refusal(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                "The consumer group has reached its maximum capacity of "
                f"{self._settings.max_size()} members.",
            )
        if not member_id:
            member_id = uuid_text(random_uuid(self._rng))
        if request.instance_id is None:
            return _enter_dynamic(group, request, member_id, records)
        return _enter_static(group, request, member_id, request.instance_id, records)

    def _group(
        self,
        shard: GroupShard,
        request: ConsumerGroupHeartbeatRequest,
        records: list[CoordinatorRecord],
    ) -> ConsumerGroup | Refusal:
        # GroupMetadataManager.getOrMaybeCreateConsumerGroup
        group_id = request.group_id
        group = shard.consumer_groups.get(group_id)
        if group is not None:
            return group
        classic = shard.groups.get(group_id)
        joins = request.member_epoch == JOIN_EPOCH
        if classic is None:
            return ConsumerGroup(group_id) if joins else group_not_found(group_id)
        if not joins:
            return not_a_consumer_group(group_id)
        if classic.state is GroupState.EMPTY:
            records.append(group_metadata_record(group_id, None))
            return ConsumerGroup(group_id)
        return self._migration.upgrade(classic, records)

    # -- going -----------------------------------------------------------------------------

    def _leave(
        self,
        shard: GroupShard,
        request: ConsumerGroupHeartbeatRequest,
        on_complete: HeartbeatCallback,
    ) -> None:
        group = shard.consumer_groups.get(request.group_id)
        if group is None:
            refusal = not_a_consumer_group(request.group_id)
            if request.group_id not in shard.groups:
                refusal = Refusal(refusal.error, f"Group {request.group_id} not found.")
            on_complete(refused(refusal))
            return
        member = _leaving(group, request)
        if isinstance(member, Refusal):
            on_complete(refused(member))
            return
        answer = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )

        def written(error: ErrorCode) -> None:
            on_complete(answer if error is ErrorCode.NONE else refused(Refusal(error)))

        if request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is not None:
            # The member that comes in its place may commit to its partitions from epoch 0 on.
            left = replace(
                member,
                epoch=STATIC_LEAVE_EPOCH,
                pending_revocation={},
                assigned={
                    topic_id: dict.fromkeys(indexes, 0)
                    for topic_id, indexes in member.assigned.items()
                },
            )
            shard.write([assignment_record(group.group_id, left)], written)
        else:
            self._fencing.fence(shard, group, [member], written)


def refused(refusal: Refusal) -> ConsumerGroupHeartbeatResponse:
    """The answer to a heartbeat that is refused."""
    return ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


def check_request(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: tuple[str, ...]
) -> Refusal | None:
    """What is wrong with the request itself, whatever the group (GroupCoordinatorService)."""
    epoch = request.member_epoch
    wants_id = (
        api_version >= CONSUMER_GROUP_HEARTBEAT_MEMBER_ID
        or epoch > JOIN_EPOCH
        or epoch == LEAVE_EPOCH
    )
    message = None
    if wants_id and not request.member_id.strip():
        message = "MemberId can't be empty."
    elif not request.group_id.strip():
        message = "GroupId can't be empty."
    elif request.instance_id is not None and not request.instance_id.strip():
        message = "InstanceId can't be empty."
    elif request.rack_id is not None and not request.rack_id.strip():
        message = "RackId can't be empty."
    elif epoch == JOIN_EPOCH:
        message = _check_join(request)
    elif epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        message = "InstanceId can't be null."
    elif epoch < STATIC_LEAVE_EPOCH:
        message = "MemberEpoch is invalid."
    if message is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, message)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return Refusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )
    return None


def _check_join(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == _SAME:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return (
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )
    return None


def _enter_dynamic(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    records: list[CoordinatorRecord],
) -> UpdateBase | Refusal:
    member = group.members.get(member_id)
    if member is None:
        if request.member_epoch != JOIN_EPOCH:
            return unknown_member(group.group_id, member_id)
        return UpdateBase(group, ConsumerMember(member_id), None, records)
    refusal = _check_epoch(member, request)
    return refusal or UpdateBase(group, member, member, records)


def _enter_static(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    instance_id: str,
    records: list[CoordinatorRecord],
) -> UpdateBase | Refusal:
    owner = group.static_member(instance_id)
    if request.member_epoch != JOIN_EPOCH:
        if owner is None:
            return unknown_instance(instance_id)
        if owner.member_id != member_id:
            return fenced_instance(instance_id, member_id, owner.member_id)
        return _check_epoch(owner, request) or UpdateBase(group, owner, owner, records)
    if owner is None:
        known = group.members.get(member_id)
        return UpdateBase(group, known or ConsumerMember(member_id), known, records)
    if not owner.is_classic and owner.epoch != STATIC_LEAVE_EPOCH:
        return unreleased_instance(instance_id, member_id, owner.member_id)
    return UpdateBase(group, replaced_member(group, owner, member_id, records), owner, records)


def _check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> Refusal | None:
    # GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid
    received = request.member_epoch
    if received in (JOIN_EPOCH, member.epoch):
        return None
    if received > member.epoch:
        return fenced_epoch("greater", received, member.epoch)
    if received == member.previous_epoch and _has_no_more_than(member.assigned, request):
        return None  # it did not get the answer that raised its epoch
    return fenced_epoch("smaller", received, member.epoch)


def _has_no_more_than(assigned: Assigned, request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.topic_partitions is not None and all(
        topic.topic_id in assigned
        and all(index in assigned[topic.topic_id] for index in topic.partitions)
        for topic in request.topic_partitions
    )


def _leaving(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember | Refusal:
    if request.instance_id is None:
        member = group.members.get(request.member_id)
        return member or unknown_member(group.group_id, request.member_id)
    owner = group.static_member(request.instance_id)
    if owner is None:
        return unknown_instance(request.instance_id)
    if owner.member_id != request.member_id:
        return fenced_instance(request.instance_id, request.member_id, owner.member_id)
    return owner


def _updated(
    member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, client: ClientIdentity
) -> ConsumerMember:
    """The member with what the request says; None and -1 leave a field as it is."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    if (
        request.instance_id == member.instance_id
        and request.rack_id is None
        and request.server_assignor is None
        and names is None
        and regex is None
        and request.rebalance_timeout_ms == _SAME
        and not member.is_classic
        and (client.client_id, client.host) == (member.client_id, member.client_host)
    ):
        return member
    return replace(
        member,
        instance_id=_new_or(request.instance_id, member.instance_id),
        rack_id=_new_or(request.rack_id, member.rack_id),
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms
            if request.rebalance_timeout_ms == _SAME
            else request.rebalance_timeout_ms
        ),
        server_assignor=_new_or(request.server_assignor, member.server_assignor),
        topic_names=member.topic_names if names is None else frozenset(names),
        topic_regex=_new_or(regex, member.topic_regex),
        client_id=client.client_id,
        client_host=client.host,
        classic=None,
    )


def _new_or(new: str | None, current: str | None) -> str | None:
    return current if new is None else new


def _owned(request: ConsumerGroupHeartbeatRequest) -> Owned | None:
    if request.topic_partitions is None:
        return None
    owned: dict[bytes, list[int]] = {}
    for topic in request.topic_partitions:
        owned.setdefault(topic.topic_id, []).extend(topic.partitions)
    return owned


def _assignment(assigned: Assigned) -> Assignment:
    return Assignment(
        [
            HeartbeatTopicPartitions(topic_id, sorted(indexes))
            for topic_id, indexes in assigned.items()
        ]
    )
