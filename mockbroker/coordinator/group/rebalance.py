"""When a classic group moves from one generation to the next, and whom it waits for.

`join`, `sync` and `sessions` change the membership and then ask `Rebalancer` to move on
(GroupMetadataManager.prepareRebalance, completeClassicGroupJoin, expirePendingSync). Sessions and
the three time-outs of a group (initial delay, rebalance, sync) run on the broker's timer.

Invariants: a group in PreparingRebalance has `join_task` pending, unless its rebalance completes
in this very step; one in CompletingRebalance has `sync_task` pending until all have synced. State
changes before answers go out, so an answer never sees a group halfway.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mockbroker.coordinator.deferred_writes import ignore_error
from mockbroker.coordinator.group.classic_group import group_metadata_record
from mockbroker.coordinator.group.states import GroupState
from mockbroker.coordinator.group.subscription import subscribed_topics
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import GroupMetadataValue
from mockbroker_protocol.messages.group_membership import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from collections.abc import Container

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.members import ClassicMember, JoinCallback, SyncCallback
    from mockbroker.coordinator.group.shard import GroupShard

# How long an id handed out holds up the first rebalance of a group without initial delay. A client
# that is alive comes back within a round trip; one that comes later starts another rebalance.
PENDING_MEMBER_GRACE_MS = 500
# How long a FindCoordinator for the group does: its client is about to join, and whoever joins
# after a generation began waits for the others' next heartbeat.
ANNOUNCED_GRACE_MS = 100
# How long a group does of which no topic exists yet: a client that does not watch its topics
# (kafka-go) would keep an assignment of nothing. Apache Kafka's own initial delay.
MISSING_TOPICS_GRACE_MS = 3000
# A client that asks on one connection, closes it and asks again on another (librdkafka) is one
# member: the second time takes the place of the first, when that is older than this.
RECONNECT_MS = 10
# A round in which a group waits for its static members, where their time-outs are shorter.
_LEAST_ROUND_MS = 1000
# For so many groups the clients that sent FindCoordinator are kept.
_MOST_ANNOUNCED = 1000


class FindingClient(Protocol):
    """The client of a FindCoordinator; `apis.context.RequestContext` is one."""

    @property
    def client_id(self) -> str: ...
    @property
    def peer(self) -> str: ...
    @property
    def connected(self) -> bool: ...


@dataclass(slots=True, eq=False)
class Rebalancer:
    """Moves groups on."""

    clock: Clock
    timer: Timer
    config: BrokerConfig
    _topics: Container[str]
    # By group: when FindCoordinator came for it, and from whom, before its first rebalance.
    announced: dict[str, list[tuple[float, FindingClient]]] = field(default_factory=dict)
    # By group: until when its first rebalance waits for topics that do not exist.
    awaiting_topics: dict[str, tuple[float, GroupShard, ClassicGroup]] = field(default_factory=dict)

    # -- joining ---------------------------------------------------------------------------

    def prepare_or_complete(self, shard: GroupShard, group: ClassicGroup) -> None:
        """Begin a rebalance, or go on with the one that is being joined."""
        if group.can_rebalance:
            self.prepare(shard, group)
        else:
            self.complete_if_joined(shard, group)

    def prepare(self, shard: GroupShard, group: ClassicGroup) -> None:
        """Everyone must join again (GroupMetadataManager.prepareRebalance)."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            for member in group.members.values():
                member.assignment = b""
        flushed = self._take_syncs(group)
        group.pending_syncs.clear()
        _cancel_sync_task(group)
        is_initial = group.state is GroupState.EMPTY
        group.transition(GroupState.PREPARING_REBALANCE, self.clock.wall_ms())
        for member, parked in flushed:
            self.touch_session(shard, group, member)
            parked(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        if is_initial and self._initial_delay_ms() > 0:
            self._delay_initial(shard, group)
        elif is_initial:
            self._complete_initial(shard, group)
        elif group.has_all_members_joined:
            self.complete(shard, group)
        else:
            self._schedule_completion(shard, group, group.rebalance_timeout_ms())

    def complete_if_joined(self, shard: GroupShard, group: ClassicGroup) -> None:
        """Complete the rebalance when it waits for nobody (maybeCompleteJoinPhase)."""
        if group.state is not GroupState.PREPARING_REBALANCE or not group.has_all_members_joined:
            return
        if group.previous_state is GroupState.EMPTY and self._initial_delay_ms() > 0:
            return  # the first rebalance takes its whole delay
        if group.previous_state is GroupState.EMPTY:
            self._complete_initial(shard, group)
        else:
            self.complete(shard, group)

    def _complete_initial(self, shard: GroupShard, group: ClassicGroup) -> None:
        """The first rebalance without a delay: at once, unless somebody or something is to come.

        Kafka completes it with whoever is there, and the others wait for a heartbeat of those.
        """
        timeout_ms = self._waits_for_topics_ms(shard, group)
        if group.pending_joins:
            timeout_ms = max(timeout_ms, PENDING_MEMBER_GRACE_MS)
        elif len(group.members) < len(self.announced.get(group.group_id, ())):
            latest_ms = self.announced[group.group_id][-1][0]
            timeout_ms = max(timeout_ms, latest_ms + ANNOUNCED_GRACE_MS - self.clock.now_ms)
        if timeout_ms > 0:
            self._schedule_completion(shard, group, timeout_ms)
        else:
            self.complete(shard, group)

    def _waits_for_topics_ms(self, shard: GroupShard, group: ClassicGroup) -> float:
        """How long there is nothing to assign: none of the topics exists that members name.

        Once it waits, it waits for all of them.
        """
        awaiting = self.awaiting_topics.get(group.group_id)
        topics = _topics_named_by(group)
        missing = [name for name in topics if name not in self._topics]
        if not missing or (awaiting is None and len(missing) < len(topics)):
            return 0.0
        now_ms = self.clock.now_ms
        if awaiting is None:
            awaiting = now_ms + MISSING_TOPICS_GRACE_MS, shard, group
            self.awaiting_topics[group.group_id] = awaiting
        return awaiting[0] - now_ms

    def topic_created(self, name: str) -> None:
        """First rebalances that waited for this topic go on, after the step that made it."""
        for _, shard, group in list(self.awaiting_topics.values()):
            if name in _topics_named_by(group) and not self._waits_for_topics_ms(shard, group):
                timeout_ms = PENDING_MEMBER_GRACE_MS if group.pending_joins else 0.0
                self._schedule_completion(shard, group, timeout_ms)

    def announce(self, group_id: str, client: FindingClient) -> None:
        """A client found the group's coordinator by FindCoordinator, and may join soon."""
        announced = self.announced.setdefault(group_id, [])
        now_ms = self.clock.now_ms
        if announced and announced[-1][0] + ANNOUNCED_GRACE_MS <= now_ms:
            announced.clear()
        for index, (asked_ms, before) in enumerate(announced):
            if (
                asked_ms + RECONNECT_MS <= now_ms
                and before.client_id == client.client_id
                and before.peer == client.peer
                and not before.connected
            ):
                del announced[index]
                break
        announced.append((now_ms, client))
        if len(self.announced) > _MOST_ANNOUNCED:
            del self.announced[next(iter(self.announced))]

    def complete(self, shard: GroupShard, group: ClassicGroup) -> None:
        """Who joined is the next generation (GroupMetadataManager.completeClassicGroupJoin).

        Dynamic members that did not come are dropped, static ones stay (KIP-345).
        """
        if group.join_task is not None:
            group.join_task.cancel()
            group.join_task = None
        self.announced.pop(group.group_id, None)
        self.awaiting_topics.pop(group.group_id, None)
        for member in list(group.members.values()):
            if member.parked_join is None and not member.is_static:
                self.remove(group, member)
        if not group.members:
            self._begin_empty_generation(shard, group)
        elif group.elect_joined_leader():
            self._begin_generation(shard, group)
        else:  # only static members are left, and none of them came: wait another round
            timeout_ms = max(group.rebalance_timeout_ms(), _LEAST_ROUND_MS)
            self._schedule_completion(shard, group, timeout_ms)

    def _initial_delay_ms(self) -> int:
        return self.config.int("group.initial.rebalance.delay.ms")

    def _schedule_completion(
        self, shard: GroupShard, group: ClassicGroup, timeout_ms: float
    ) -> None:
        if group.join_task is not None:
            group.join_task.cancel()
        group.join_task = self.timer.schedule(
            self.clock.now_ms + timeout_ms, lambda: self.complete(shard, group)
        )

    def _delay_initial(self, shard: GroupShard, group: ClassicGroup) -> None:
        delay_ms = self._initial_delay_ms()
        remaining_ms = max(group.rebalance_timeout_ms() - delay_ms, 0)
        self._schedule_initial(shard, group, delay_ms, remaining_ms)

    def _schedule_initial(
        self, shard: GroupShard, group: ClassicGroup, delay_ms: int, remaining_ms: int
    ) -> None:
        group.join_task = self.timer.schedule(
            self.clock.now_ms + delay_ms,
            lambda: self._initial_delay_over(shard, group, delay_ms, remaining_ms),
        )

    def _initial_delay_over(
        self, shard: GroupShard, group: ClassicGroup, delay_ms: int, remaining_ms: int
    ) -> None:
        # tryCompleteInitialRebalanceElseSchedule: each new member buys another delay.
        if not group.new_member_added or remaining_ms == 0:
            self.complete(shard, group)
            return
        group.new_member_added = False
        next_delay_ms = min(self._initial_delay_ms(), remaining_ms)
        self._schedule_initial(shard, group, next_delay_ms, max(remaining_ms - delay_ms, 0))

    def _begin_empty_generation(self, shard: GroupShard, group: ClassicGroup) -> None:
        value = GroupMetadataValue(
            protocol_type=group.protocol_type or "",
            generation=group.generation_id + 1,
            protocol=None,
            leader=None,
            current_state_timestamp=self.clock.wall_ms(),
            members=[],
        )

        group.apply(value)  # as Kafka does: a lost record is no reason to hang
        record = group_metadata_record(group.group_id, value)
        shard.write([record], ignore_error, replay=False)

    def _begin_generation(self, shard: GroupShard, group: ClassicGroup) -> None:
        group.begin_generation(self.clock.wall_ms())
        group.new_member_added = False
        answers: list[tuple[JoinCallback, JoinGroupResponse]] = []
        for member in group.members.values():
            self.touch_session(shard, group, member)
            member.is_new = False
            parked = group.take_join(member)
            if parked is not None:
                answers.append((parked, join_response(group, member.member_id)))
        generation_id = group.generation_id
        group.sync_task = self.timer.schedule(
            self.clock.now_ms + group.rebalance_timeout_ms(),
            lambda: self._sync_expired(shard, group, generation_id),
        )
        for parked, response in answers:
            parked(response)

    # -- syncing ---------------------------------------------------------------------------

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """The member has synced in this generation (removePendingSyncMember)."""
        group.pending_syncs.pop(member_id, None)
        if not group.pending_syncs:
            _cancel_sync_task(group)

    def answer_syncs(self, shard: GroupShard, group: ClassicGroup, error: ErrorCode) -> None:
        """Answer the parked syncs, each with its assignment or all with `error`."""
        for member, parked in self._take_syncs(group):
            self.touch_session(shard, group, member)
            if error is ErrorCode.NONE:
                parked(sync_response(group, member))
            else:
                parked(SyncGroupResponse(error_code=error))

    def _take_syncs(self, group: ClassicGroup) -> list[tuple[ClassicMember, SyncCallback]]:
        taken = [(member, group.take_sync(member)) for member in group.members.values()]
        return [(member, parked) for member, parked in taken if parked is not None]

    def _sync_expired(self, shard: GroupShard, group: ClassicGroup, generation_id: int) -> None:
        # GroupMetadataManager.expirePendingSync: who never synced is out, static or not.
        group.sync_task = None
        if group.generation_id != generation_id or not group.can_rebalance:
            return
        for member_id in list(group.pending_syncs):
            self.remove(group, group.members[member_id])
        self.prepare(shard, group)

    # -- members ---------------------------------------------------------------------------

    def remove(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Take a member out; what is parked for it is answered with UNKNOWN_MEMBER_ID.

        Kafka forgets the parked sync of a member that an admin removes; here none is forgotten.
        """
        parked = group.take_join(member), group.take_sync(member)
        group.remove(member.member_id)
        answer_parked(*parked, ErrorCode.UNKNOWN_MEMBER_ID)

    def touch_session(
        self,
        shard: GroupShard,
        group: ClassicGroup,
        member: ClassicMember,
        timeout_ms: float | None = None,
    ) -> None:
        """The member showed life: its session lasts another time-out, by default its own.

        The timer's task stays where it is while the deadline moves away from it, and renews itself
        when it runs too early: a heartbeat costs no timer work.
        """
        if timeout_ms is None:
            timeout_ms = member.session_timeout_ms
        deadline_ms = self.clock.now_ms + timeout_ms
        member.session_deadline_ms = deadline_ms
        task = member.session_task
        if task is None or not task.pending or task.tick_ms >= deadline_ms + 1:
            self._arm_session(shard, group, member)

    def _arm_session(self, shard: GroupShard, group: ClassicGroup, member: ClassicMember) -> None:
        member.cancel_session()
        member.session_task = self.timer.schedule(
            member.session_deadline_ms, lambda: self._session_due(shard, group, member)
        )

    def _session_due(self, shard: GroupShard, group: ClassicGroup, member: ClassicMember) -> None:
        if member.session_deadline_ms > self.clock.now_ms:
            self._arm_session(shard, group, member)
            return
        member.session_task = None
        # expireClassicGroupMemberHeartbeat: it cannot show life while we owe it an answer.
        if group.members.get(member.member_id) is not member or member.is_waiting:
            return
        self.remove(group, member)
        self.member_gone(shard, group)

    def add_pending(
        self, shard: GroupShard, group: ClassicGroup, member_id: str, timeout_ms: int
    ) -> None:
        """An id was handed out (KIP-394); it is good for `timeout_ms`."""

        def expired() -> None:
            group.pending_joins.pop(member_id, None)
            self.pending_gone(shard, group)

        group.pending_joins[member_id] = self.timer.schedule(
            self.clock.now_ms + timeout_ms, expired
        )

    def pending_gone(self, shard: GroupShard, group: ClassicGroup) -> None:
        """A pending id was dropped: nobody waits for it any more."""
        if group.state is GroupState.PREPARING_REBALANCE and group.has_all_members_joined:
            self.complete(shard, group)

    def member_gone(self, shard: GroupShard, group: ClassicGroup) -> None:
        """A member was removed (removeMemberAndUpdateClassicGroup)."""
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self.prepare(shard, group)
        else:
            self.pending_gone(shard, group)

    # -- the end ---------------------------------------------------------------------------

    def kill(self, group: ClassicGroup, error: ErrorCode) -> None:
        """The group is gone from here: stop its time-outs, answer what is parked with `error`."""
        group.state = GroupState.DEAD
        for task in (group.join_task, group.sync_task, *group.pending_joins.values()):
            if task is not None:
                task.cancel()
        for member in group.members.values():
            member.cancel_session()
        self.awaiting_topics.pop(group.group_id, None)
        self.release(group, error)

    def release(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Answer what is parked with `error`; the group stays as it is."""
        for member in list(group.members.values()):
            parked = group.take_join(member), group.take_sync(member)
            answer_parked(*parked, error, member.member_id)


def answer_parked(
    join: JoinCallback | None, sync: SyncCallback | None, error: ErrorCode, member_id: str = ""
) -> None:
    """Answer the join and the sync that a member had parked with `error`."""
    if join is not None:
        join(JoinGroupResponse(error_code=error, member_id=member_id))
    if sync is not None:
        sync(SyncGroupResponse(error_code=error))


def _topics_named_by(group: ClassicGroup) -> frozenset[str]:
    """The topics of all who join, by the protocol that each likes best."""
    if not group.is_of_consumers:
        return frozenset()
    named = subscribed_topics(member.protocols[0][1] for member in group.members.values())
    return named or frozenset()


def join_response(
    group: ClassicGroup, member_id: str, *, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The current generation as `member_id` sees it: the members are for the leader only."""
    members: list[JoinGroupResponseMember] = []
    if group.leader_id == member_id:
        protocol = group.protocol_name
        assert protocol is not None
        members = [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(protocol),
            )
            for member in group.members.values()
        ]
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def sync_response(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    """The member's assignment in the current generation."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def _cancel_sync_task(group: ClassicGroup) -> None:
    if group.sync_task is not None:
        group.sync_task.cancel()
        group.sync_task = None
