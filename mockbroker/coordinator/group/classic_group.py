"""A classic group: its members, votes and generation (Kafka: ClassicGroup).

Only state and what follows from it; when to move on is decided by `rebalance`, `join`, `sync` and
`sessions`, which are the callers. The durable half is what `apply` takes from a GroupMetadata
record and `metadata_record` puts there; parked answers, pending ids and timers are volatile.

Invariants: the leader is a member, and there is one exactly when there are members (while a
generation is not empty); each member supports a protocol that all support; `awaiting_joins`
counts the members with a parked join; a pending id is no member; `generation_id` never falls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coordinator.group.members import ClassicMember
from mockbroker.coordinator.group.states import VALID_PREVIOUS_STATES, GroupState
from mockbroker.coordinator.group.subscription import subscribed_topics
from mockbroker.coordinator.records import CoordinatorRecord
from mockbroker.coordinator.runtime import java_hash
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.clock import TimerTask
    from mockbroker.coordinator.group.members import JoinCallback, Protocols, SyncCallback

CONSUMER_PROTOCOL_TYPE = "consumer"
# The highest version without tagged fields, as Kafka 4 writes it.
GROUP_METADATA_VALUE_VERSION = 3


@dataclass(slots=True, eq=False)
class ClassicGroup:
    """One group. Error codes are returned, never raised; times of day are wall time in ms."""

    group_id: str
    state: GroupState = GroupState.EMPTY
    previous_state: GroupState = GroupState.DEAD
    state_timestamp_ms: int | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    generation_id: int = 0
    leader_id: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_joins: dict[str, TimerTask] = field(default_factory=dict)
    # Members of this generation that have not synced yet.
    pending_syncs: dict[str, None] = field(default_factory=dict)
    protocol_counts: dict[str, int] = field(default_factory=dict)
    awaiting_joins: int = 0
    # None: unknown, as for a group that is not of consumers.
    subscribed_topics: frozenset[str] | None = None
    new_member_added: bool = False
    join_task: TimerTask | None = None
    sync_task: TimerTask | None = None

    group_type = "classic"

    # -- the durable half ------------------------------------------------------------------

    def metadata_record(
        self, timestamp_ms: int | None, assignments: dict[str, bytes] | None = None
    ) -> CoordinatorRecord:
        """This generation as a record; `assignments` replace the members' own, missing: empty."""
        protocol = self.protocol_name
        members = []
        for member in self.members.values():
            assert protocol is not None
            assignment = member.assignment
            if assignments is not None:
                assignment = assignments.get(member.member_id, b"")
            members.append(
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(protocol),
                    assignment=assignment,
                )
            )
        return group_metadata_record(
            self.group_id,
            GroupMetadataValue(
                protocol_type=self.protocol_type or "",
                generation=self.generation_id,
                protocol=protocol,
                leader=self.leader_id,
                current_state_timestamp=-1 if timestamp_ms is None else timestamp_ms,
                members=members,
            ),
        )

    def apply(self, value: GroupMetadataValue) -> None:
        """Take over what a record says (GroupMetadataManager.replay of GroupMetadataValue).

        A member that is here already keeps what is volatile about it, and the protocols that it did
        not speak in this generation; one that the record does not name is gone. The state is what
        the record implies: Empty, or Stable with its members.
        """
        stored = {member.member_id for member in value.members}
        for member_id in [one for one in self.members if one not in stored]:
            self.remove(member_id)
        self.protocol_type = value.protocol_type or None
        self.protocol_name = value.protocol
        self.generation_id = value.generation
        self.leader_id = value.leader
        for member in value.members:
            self._load(member, value.protocol or "")
        timestamp_ms = value.current_state_timestamp
        self.state_timestamp_ms = None if timestamp_ms == -1 else timestamp_ms
        state = GroupState.STABLE if value.members else GroupState.EMPTY
        if state is not self.state:
            self.previous_state, self.state = self.state, state
        self.subscribed_topics = self.compute_subscribed_topics()

    def _load(self, stored: MemberMetadata, protocol_name: str) -> None:
        rebalance_timeout_ms = stored.rebalance_timeout
        if rebalance_timeout_ms == -1:  # written below version 1
            rebalance_timeout_ms = stored.session_timeout
        live = self.members.get(stored.member_id)
        if live is not None:
            protocols = live.protocols
            if (protocol_name, stored.subscription) not in protocols:  # of an earlier record
                protocols = [(protocol_name, bytes(stored.subscription))]
            self.update(live, protocols, rebalance_timeout_ms, stored.session_timeout)
            live.assignment = bytes(stored.assignment)
            return
        member = ClassicMember(
            stored.member_id,
            stored.group_instance_id,
            stored.client_id,
            stored.client_host,
            rebalance_timeout_ms,
            stored.session_timeout,
            [(protocol_name, bytes(stored.subscription))],
            bytes(stored.assignment),
        )
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._count_protocols(member, 1)

    # -- state -----------------------------------------------------------------------------

    def transition(self, state: GroupState, now_wall_ms: int) -> None:
        """Move to `state`, which must be reachable from here."""
        assert self.state in VALID_PREVIOUS_STATES[state], f"{self.state} → {state}"
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = now_wall_ms

    @property
    def state_name(self) -> str:
        """As ListGroups and DescribeGroups show it."""
        return self.state.value

    @property
    def is_empty(self) -> bool:
        """Whether it has no generation with members, and none is being joined."""
        return self.state is GroupState.EMPTY

    @property
    def is_of_consumers(self) -> bool:
        """Whether its members speak the consumers' protocol, so that their topics are known."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance can begin: none is being joined now."""
        return self.state in VALID_PREVIOUS_STATES[GroupState.PREPARING_REBALANCE]

    @property
    def has_all_members_joined(self) -> bool:
        """Whether a rebalance need not wait for anyone."""
        return len(self.members) == self.awaiting_joins and not self.pending_joins

    def begin_generation(self, now_wall_ms: int) -> None:
        """The members that joined are the next generation (ClassicGroup.initNextGeneration)."""
        assert self.members
        self.generation_id += 1
        self.protocol_name = self.select_protocol()
        self.subscribed_topics = self.compute_subscribed_topics()
        self.transition(GroupState.COMPLETING_REBALANCE, now_wall_ms)
        self.pending_syncs = dict.fromkeys(self.members)

    def rebalance_timeout_ms(self) -> int:
        """How long a rebalance waits: the longest of the members' time-outs."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- members ---------------------------------------------------------------------------

    def add(self, member: ClassicMember, parked: JoinCallback) -> None:
        """A new member whose join is parked; the first one gives the group its protocol type."""
        assert member.member_id not in self.members
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        self.forget_pending(member.member_id)
        self.park_join(member, parked)

    def add_converted(self, member: ClassicMember) -> None:
        """A member that comes from a consumer group, with nothing parked (KIP-848)."""
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._count_protocols(member, 1)

    def remove(self, member_id: str) -> ClassicMember | None:
        """Forget a member, or a pending id; the next member in line leads if it did."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            member.cancel_session()
            if member.parked_join is not None:
                self.awaiting_joins -= 1
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.forget_pending(member_id)
        self.pending_syncs.pop(member_id, None)
        return member

    def forget_pending(self, member_id: str) -> None:
        """The id was used, or will not be."""
        task = self.pending_joins.pop(member_id, None)
        if task is not None:
            task.cancel()

    def replace_static(self, old: ClassicMember, member_id: str) -> ClassicMember:
        """The static member comes back under a new id and keeps the place of the old one (KIP-345).

        The caller has answered what was parked for the old id.
        """
        assert old.group_instance_id is not None
        assert old.parked_join is None
        assert old.parked_sync is None
        old.cancel_session()
        member = old.replaced_by(member_id)
        self.members = {
            member.member_id if one is old else one.member_id: member if one is old else one
            for one in self.members.values()
        }
        if old.member_id in self.pending_syncs:
            del self.pending_syncs[old.member_id]
            self.pending_syncs[member_id] = None
        if self.leader_id == old.member_id:
            self.leader_id = member_id
        self.static_members[old.group_instance_id] = member_id
        return member

    def update(
        self,
        member: ClassicMember,
        protocols: Protocols,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """The member joined again with these."""
        if protocols != member.protocols:
            self._count_protocols(member, -1)
            member.protocols = protocols
            self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def elect_joined_leader(self) -> bool:
        """Whether someone who joined leads now (ClassicGroup.maybeElectNewJoinedLeader)."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].parked_join is not None:
            return True
        for member in self.members.values():
            if member.parked_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def validate_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """25 for a stranger, 82 for an id that its static member no longer has."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE

    # -- parked answers --------------------------------------------------------------------

    def park_join(self, member: ClassicMember, parked: JoinCallback) -> None:
        """Its join waits for the rebalance; an earlier one must have been taken before."""
        assert member.parked_join is None
        member.parked_join = parked
        self.awaiting_joins += 1

    def take_join(self, member: ClassicMember) -> JoinCallback | None:
        """Its parked join, which the caller answers now."""
        parked = member.parked_join
        if parked is not None:
            member.parked_join = None
            self.awaiting_joins -= 1
        return parked

    def take_sync(self, member: ClassicMember) -> SyncCallback | None:
        """Its parked sync, which the caller answers now."""
        parked, member.parked_sync = member.parked_sync, None
        return parked

    # -- protocols -------------------------------------------------------------------------

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these fits in: the same type, and a protocol that all know."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        count = len(self.members)
        return self.protocol_type == protocol_type and any(
            self.protocol_counts.get(name, 0) == count for name in names
        )

    def select_protocol(self) -> str:
        """The protocol of most votes among those that all members support."""
        count = len(self.members)
        candidates = [name for name, have in self.protocol_counts.items() if have == count]
        votes: dict[str, int] = {}
        for member in self.members.values():
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        return min(votes, key=lambda name: (-votes[name], _hash_map_order(name)))

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """The topics that the members subscribe to, where they are consumers."""
        if not self.is_of_consumers:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        return subscribed_topics(
            member.metadata(self.protocol_name) for member in self.members.values()
        )

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads `topic`; a group of consumers that cannot be read reads all."""
        if self.subscribed_topics is None:
            return self.is_of_consumers
        return topic in self.subscribed_topics

    def _count_protocols(self, member: ClassicMember, step: int) -> None:
        counts = self.protocol_counts
        for name in dict.fromkeys(name for name, _ in member.protocols):  # named twice: one vote
            count = counts.get(name, 0) + step
            if count:
                counts[name] = count
            else:
                del counts[name]


def group_metadata_record(group_id: str, value: GroupMetadataValue | None) -> CoordinatorRecord:
    """The record that says `value` of a group; None is its tombstone."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), value, GROUP_METADATA_VALUE_VERSION)


def _hash_map_order(name: str) -> int:
    # Kafka counts votes in a java.util.HashMap and takes the first of equals as it iterates: by
    # bucket, of which there are 16 below 13 names.
    value = java_hash(name) & 0xFFFFFFFF
    return (value ^ value >> 16) & 15
