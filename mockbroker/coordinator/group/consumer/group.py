"""A consumer group: its members, its target assignment and what both imply (Kafka: ConsumerGroup).

Durable state changes in `replay` alone, record by record, whether a decision has just written them
or a log is loaded. Decisions (`heartbeat`, `fencing`, `mixed`, `migration`) read it. Timers, the
time of the next check of the metadata and that of the last change are volatile.

Invariants: every count here is over `members`; unless an assignor shares partitions, one has one
owner at most; `assignment_epoch` never passes `epoch`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from mockbroker.coordinator.group.consumer.member import (
    LEAVE_EPOCH,
    ConsumerMember,
    assigned_of,
    state_of,
)
from mockbroker_protocol.messages import consumer_group_records as records

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.group.consumer.assignment import Partitions
    from mockbroker.coordinator.group.consumer.member import Assigned, MemberTimers
    from mockbroker.coordinator.records import CoordinatorKey, CoordinatorValue

T = TypeVar("T")

CONSUMER_PROTOCOL_TYPE = "consumer"
NO_ASSIGNMENT_EPOCH = -1
_NEW_GROUP_EPOCH = 1

EMPTY = "Empty"
ASSIGNING = "Assigning"
RECONCILING = "Reconciling"
STABLE = "Stable"


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched at a time of day, under a metadata version."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """One group; `members` by id, the target by member."""

    group_id: str
    epoch: int = _NEW_GROUP_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = NO_ASSIGNMENT_EPOCH
    assignment_timestamp_ms: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    target: dict[str, Partitions] = field(default_factory=dict)
    target_owners: dict[tuple[bytes, int], str] = field(default_factory=dict)
    # What the target gave to who is gone since; until the next one it is nobody else's.
    departed: dict[str, Partitions] = field(default_factory=dict)
    resolved: dict[str, ResolvedRegex] = field(default_factory=dict)
    has_partition_metadata: bool = False
    # Counts over the members.
    name_counts: Counter[str] = field(default_factory=Counter)
    regex_counts: Counter[str] = field(default_factory=Counter)
    assignors: Counter[str] = field(default_factory=Counter)
    classic_protocols: Counter[str] = field(default_factory=Counter)
    classic_count: int = 0
    partition_epochs: dict[tuple[bytes, int], int] = field(default_factory=dict)
    # How many have a partition besides the one whose epoch is there.
    co_holders: Counter[tuple[bytes, int]] = field(default_factory=Counter)
    # Volatile. None: look at the metadata at the next heartbeat.
    timers: dict[str, MemberTimers] = field(default_factory=dict)
    metadata_deadline_ms: float | None = None
    metadata_seen_epoch: int = 0
    bumped_ms: float = float("-inf")

    group_type: ClassVar = "consumer"
    protocol_type: ClassVar = CONSUMER_PROTOCOL_TYPE

    # -- what it is ------------------------------------------------------------------------

    @property
    def state_name(self) -> str:
        """As ListGroups and ConsumerGroupDescribe show it."""
        if not self.members:
            return EMPTY
        if self.epoch > self.assignment_epoch:
            return ASSIGNING
        target_epoch = self.assignment_epoch
        if all(member.is_reconciled_to(target_epoch) for member in self.members.values()):
            return STABLE
        return RECONCILING

    @property
    def is_empty(self) -> bool:
        """Whether it has no member."""
        return not self.members

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Who has this instance id now."""
        member_id = self.static_members.get(instance_id or "")
        return None if member_id is None else self.members[member_id]

    def target_of(self, member_id: str) -> Partitions:
        """What the member shall have."""
        return self.target.get(member_id, {})

    def target_place(self, member_id: str) -> str:
        """Whose place in the target that is: an instance keeps it under another member id."""
        member = self.members.get(member_id)
        return (member.instance_id if member is not None else None) or member_id

    def preferred_assignor(self) -> str | None:
        """The assignor that most members ask for; None when none asks."""
        return preferred(self.assignors)

    def supports_protocols(self, protocol_type: str, names: set[str]) -> bool:
        """Whether a classic member with these fits to the classic members that there are."""
        return protocol_type == CONSUMER_PROTOCOL_TYPE and any(
            self.classic_protocols[name] == self.classic_count for name in names
        )

    def subscribed_topics(self) -> set[str]:
        """Each topic that a member reads by name or by expression."""
        topics = set(self.name_counts)
        for resolved in self.resolved.values():
            topics |= resolved.topics
        return topics

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads `topic`."""
        return topic in self.name_counts or any(
            topic in resolved.topics for resolved in self.resolved.values()
        )

    def is_waiting_for_release(self, member: ConsumerMember) -> bool:
        """Whether another member still has what this one shall have."""
        return any(
            index not in member.assigned.get(topic_id, ())
            and (topic_id, index) in self.partition_epochs
            for topic_id, indexes in self.target_of(member.member_id).items()
            for index in indexes
        )

    def request_metadata_refresh(self) -> None:
        """A topic of the group changed: the next heartbeat computes the metadata hash anew."""
        self.metadata_deadline_ms = None

    def has_metadata_expired(self, now_ms: float) -> bool:
        """Whether it is time to look; also when an epoch that was seen came to nothing."""
        deadline_ms = self.metadata_deadline_ms
        return deadline_ms is None or now_ms >= deadline_ms or self.epoch < self.metadata_seen_epoch

    # -- replay ----------------------------------------------------------------------------

    def replay(self, key: CoordinatorKey, value: CoordinatorValue | None) -> None:
        """Change the state as a record of this group says; its tombstone is the shard's matter."""
        self._replays[type(key)](self, key, value)

    def _replay_epoch(
        self,
        _key: records.ConsumerGroupMetadataKey,
        value: records.ConsumerGroupMetadataValue | None,
    ) -> None:
        if value is not None:
            self.epoch = value.epoch
            self.metadata_hash = value.metadata_hash

    def _replay_partition_metadata(
        self, _key: records.ConsumerGroupPartitionMetadataKey, value: object
    ) -> None:
        # What Kafka 4.0 wrote; a tombstone is due once the metadata is looked at.
        self.has_partition_metadata = value is not None

    def _replay_member(
        self,
        key: records.ConsumerGroupMemberMetadataKey,
        value: records.ConsumerGroupMemberMetadataValue | None,
    ) -> None:
        if value is None:
            self._remove(key.member_id)
            return
        self._put(
            replace(
                self.members.get(key.member_id) or ConsumerMember(key.member_id),
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                topic_names=frozenset(value.subscribed_topic_names),
                topic_regex=value.subscribed_topic_regex,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                server_assignor=value.server_assignor,
                classic=value.classic_member_metadata,
            )
        )

    def _replay_target_epoch(
        self,
        _key: records.ConsumerGroupTargetAssignmentMetadataKey,
        value: records.ConsumerGroupTargetAssignmentMetadataValue | None,
    ) -> None:
        self.departed.clear()
        if value is None:
            self.assignment_epoch, self.assignment_timestamp_ms = NO_ASSIGNMENT_EPOCH, 0
        else:
            self.assignment_epoch = value.assignment_epoch
            self.assignment_timestamp_ms = value.assignment_timestamp

    def _replay_target(
        self,
        key: records.ConsumerGroupTargetAssignmentMemberKey,
        value: records.ConsumerGroupTargetAssignmentMemberValue | None,
    ) -> None:
        member_id = key.member_id
        owners = self.target_owners
        before = self.target.pop(member_id, {})
        for topic_id, indexes in before.items():
            for index in indexes:
                # Whoever got it meanwhile keeps it.
                if owners.get((topic_id, index)) == member_id:
                    del owners[topic_id, index]
        if value is None:
            if before:
                self.departed[self.target_place(member_id)] = before
            return
        self.departed.pop(self.target_place(member_id), None)
        target = self.target[member_id] = {
            topic.topic_id: tuple(topic.partitions) for topic in value.topic_partitions
        }
        for topic_id, indexes in target.items():
            for index in indexes:
                owners[topic_id, index] = member_id

    def _replay_assignment(
        self,
        key: records.ConsumerGroupCurrentMemberAssignmentKey,
        value: records.ConsumerGroupCurrentMemberAssignmentValue | None,
    ) -> None:
        member = self.members.get(key.member_id)
        if value is not None:
            epoch = value.member_epoch
            self._put(
                replace(
                    member or ConsumerMember(key.member_id),
                    epoch=epoch,
                    previous_epoch=value.previous_member_epoch,
                    state=state_of(value.state),
                    assigned=assigned_of(value.assigned_partitions, epoch),
                    pending_revocation=assigned_of(value.partitions_pending_revocation, epoch),
                )
            )
        elif member is not None:
            self._put(
                replace(
                    member,
                    epoch=LEAVE_EPOCH,
                    previous_epoch=LEAVE_EPOCH,
                    assigned={},
                    pending_revocation={},
                )
            )

    def _replay_regex(
        self,
        key: records.ConsumerGroupRegularExpressionKey,
        value: records.ConsumerGroupRegularExpressionValue | None,
    ) -> None:
        if value is None:
            self.resolved.pop(key.regular_expression, None)
        else:
            self.resolved[key.regular_expression] = ResolvedRegex(
                frozenset(value.topics), value.version, value.timestamp
            )

    # -- members ---------------------------------------------------------------------------

    def _put(self, member: ConsumerMember) -> None:
        old = self.members.get(member.member_id)
        if old is not None:
            self._count(old, -1)
        self.members[member.member_id] = member
        self._count(member, 1)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._count(member, -1)
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def _count(self, member: ConsumerMember, step: int) -> None:
        for name in member.topic_names:
            _add(self.name_counts, name, step)
        if member.topic_regex:
            _add(self.regex_counts, member.topic_regex, step)
        if member.server_assignor is not None:
            _add(self.assignors, member.server_assignor, step)
        if member.classic is not None:
            self.classic_count += step
            for protocol in member.classic.supported_protocols:
                _add(self.classic_protocols, protocol.name, step)
        for held in (member.assigned, member.pending_revocation):
            self._count_partitions(held, member.epoch, step)

    def _count_partitions(self, held: Assigned, epoch: int, step: int) -> None:
        epochs = self.partition_epochs
        for topic_id, partitions in held.items():
            for index in partitions:
                owned = topic_id, index
                if step > 0:
                    if owned in epochs:
                        _add(self.co_holders, owned, 1)
                    epochs[owned] = epoch
                elif owned in self.co_holders:
                    _add(self.co_holders, owned, -1)
                else:
                    del epochs[owned]

    _replays: ClassVar[dict[type, Callable[[ConsumerGroup, Any, Any], None]]] = {
        records.ConsumerGroupMetadataKey: _replay_epoch,
        records.ConsumerGroupPartitionMetadataKey: _replay_partition_metadata,
        records.ConsumerGroupMemberMetadataKey: _replay_member,
        records.ConsumerGroupTargetAssignmentMetadataKey: _replay_target_epoch,
        records.ConsumerGroupTargetAssignmentMemberKey: _replay_target,
        records.ConsumerGroupCurrentMemberAssignmentKey: _replay_assignment,
        records.ConsumerGroupRegularExpressionKey: _replay_regex,
    }


def preferred(counts: Counter[str]) -> str | None:
    """The name with the highest count; of equals the one that Kafka's map walks first."""
    if not counts:
        return None
    from mockbroker.coordinator.group.consumer.java_order import ordered_strings

    return max(ordered_strings(counts), key=lambda name: counts[name])


def _add(counts: Counter[T], name: T, step: int) -> None:
    counts[name] += step
    if not counts[name]:
        del counts[name]
