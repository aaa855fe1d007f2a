"""One member of a consumer group (Kafka: ConsumerGroupMember). A value: a change makes another.

`ConsumerGroup` holds members and counts what they subscribe to; decisions make changed copies of
them by `dataclasses.replace`, and records of the difference.

Invariant: a partition is in `assigned` or in `pending_revocation` of one member only, or in none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from mockbroker_protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.clock import TimerTask

# topic id → partition → the member epoch at which it was assigned
Assigned: TypeAlias = "dict[bytes, dict[int, int]]"

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2


class MemberState(IntEnum):
    """How far a member is from its target; the number is what records say."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


_STATES = {state.value: state for state in MemberState}


@dataclass(slots=True)
class ConsumerMember:
    """A member; `classic` is what one of the classic protocol brought, None for all others.

    Never changed once a group has it; an `epoch` of -2 is a static member that has left for a
    while.
    """

    member_id: str
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    topic_regex: str | None = ""
    server_assignor: str | None = None
    assigned: Assigned = field(default_factory=dict)
    pending_revocation: Assigned = field(default_factory=dict)
    classic: ClassicMemberMetadata | None = None

    @property
    def is_classic(self) -> bool:
        """Whether it speaks the classic protocol."""
        return self.classic is not None

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Whether it has all that the target of this epoch gives it, and no more."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def assignment_epoch(self, topic_id: bytes, partition_index: int) -> int | None:
        """Since which epoch it has the partition, be it to give up; None when it has not."""
        for held in (self.assigned, self.pending_revocation):
            epoch = held.get(topic_id, {}).get(partition_index)
            if epoch is not None:
                return epoch
        return None


@dataclass(slots=True)
class MemberTimers:
    """The time-outs of one member, which `timeouts` schedules; `deadline_ms` ends its session."""

    deadline_ms: float = 0.0
    session: TimerTask | None = None
    rebalance: TimerTask | None = None
    join: TimerTask | None = None
    sync: TimerTask | None = None

    def stop(self) -> None:
        """The member is gone."""
        for task in (self.session, self.rebalance, self.join, self.sync):
            if task is not None:
                task.cancel()


def metadata_value(member: ConsumerMember) -> ConsumerGroupMemberMetadataValue:
    """What it subscribes to and who it is, as its record has it."""
    return ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=member.classic,
    )


def assignment_value(member: ConsumerMember) -> ConsumerGroupCurrentMemberAssignmentValue:
    """What it has, as its record has it."""
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_topic_partitions(member.assigned),
        partitions_pending_revocation=_topic_partitions(member.pending_revocation),
    )


def state_of(number: int) -> MemberState:
    """The state that a record names; UNKNOWN for one of a later Kafka."""
    return _STATES.get(number, MemberState.UNKNOWN)


def assigned_of(topics: Iterable[TopicPartitions], member_epoch: int) -> Assigned:
    """What a record says; partitions without epochs, as before 4.3, count from the member's."""
    assigned: Assigned = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        assigned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return assigned


def _topic_partitions(assigned: Assigned) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id, list(partitions), list(partitions.values()))
        for topic_id, partitions in assigned.items()
    ]
