"""How one member gets from what it has to what it shall have (Kafka: CurrentAssignmentBuilder).

| state                 | moves on when                         | to                        |
|-----------------------|---------------------------------------|---------------------------|
| STABLE                | there is a newer target               | any, by what must change  |
| UNREVOKED_PARTITIONS  | it does not name what it must give up | any, by the latest target |
| UNRELEASED_PARTITIONS | always                                | STABLE once all is free   |
| UNKNOWN               | it has nothing, else it is fenced     | any, by the latest target |

A member first gives up what is not in its target, and keeps its epoch until it has; then it takes
what is free, at the target's epoch; what others still hold it waits for. A partition is never
given to two members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.group.consumer.member import ConsumerMember, MemberState

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from mockbroker.coordinator.group.consumer.assignment import Partitions
    from mockbroker.coordinator.group.consumer.member import Assigned
    from mockbroker.coordinator.group.consumer.sharing import Sharing

    # topic id → partitions
    Owned = Mapping[bytes, Container[int]]


class Target(NamedTuple):
    """What the member shall have, since which group epoch, and the topics it reads at all.

    `sharing` where the target gives partitions to several.
    """

    epoch: int
    partitions: Partitions
    topic_ids: frozenset[bytes]
    sharing: Sharing | None = None


def reconcile(
    member: ConsumerMember,
    target: Target,
    partition_epochs: Container[tuple[bytes, int]],
    owned: Owned | None,
    *,
    subscription_changed: bool,
) -> ConsumerMember:
    """The member a step further; itself when there is nothing to do.

    `owned` is what the member says that it has, None when it did not say; `partition_epochs` has
    every partition that a member still holds.
    """
    if member.is_reconciled_to(target.epoch) and not subscription_changed:
        return member
    step = _Step(member, target, partition_epochs, owned)
    if member.state is MemberState.STABLE:
        if member.epoch != target.epoch:
            return step.towards_target(member.epoch)
        return step.within_subscription()
    if member.state is MemberState.UNREVOKED_PARTITIONS and step.still_owns(
        member.pending_revocation
    ):
        return step.within_subscription() if subscription_changed else member
    if member.state is MemberState.UNKNOWN:
        # Written by a Kafka that knows more; the heartbeat made sure that it owns nothing.
        return step.towards_target(target.epoch)
    return step.towards_target(member.epoch)


@dataclass(slots=True, eq=False)
class _Step:
    _member: ConsumerMember
    _target: Target
    _partition_epochs: Container[tuple[bytes, int]]
    _owned: Owned | None

    def still_owns(self, revoked: Assigned) -> bool:
        """Whether the member has not given all of this up; one that does not say has not."""
        if self._owned is None:
            return True
        return any(
            index in self._owned[topic_id]
            for topic_id, indexes in revoked.items()
            if topic_id in self._owned
            for index in indexes
        )

    def within_subscription(self) -> ConsumerMember:
        """Give up the topics that the member no longer reads, and change nothing else."""
        member = self._member
        kept: Assigned = {}
        revoked: Assigned = {
            topic_id: dict(indexes) for topic_id, indexes in member.pending_revocation.items()
        }
        for topic_id, indexes in member.assigned.items():
            if topic_id in self._target.topic_ids:
                kept[topic_id] = indexes
            else:
                revoked.setdefault(topic_id, {}).update(indexes)
        if len(kept) == len(member.assigned):
            return member
        if self.still_owns(revoked):
            return self._unrevoked(member.epoch, kept, revoked)
        return replace(member, previous_epoch=member.epoch, assigned=kept)

    def towards_target(self, member_epoch: int) -> ConsumerMember:
        """Revoke, or else take what is free."""
        member = self._member
        kept: Assigned = {}
        revoked: Assigned = {}
        free: dict[bytes, list[int]] = {}
        is_waiting = False
        wanted = {
            topic_id: indexes
            for topic_id, indexes in self._target.partitions.items()
            if topic_id in self._target.topic_ids
        }
        for topic_id in dict.fromkeys((*wanted, *member.assigned)):
            target = wanted.get(topic_id, ())
            assigned = member.assigned.get(topic_id, {})
            for index, epoch in assigned.items():
                keeps = index in target and not self._is_overtaken(topic_id, index, epoch)
                (kept if keeps else revoked).setdefault(topic_id, {})[index] = epoch
            for index in target:
                if index in kept.get(topic_id, ()):
                    continue
                if self._is_free(topic_id, index):
                    free.setdefault(topic_id, []).append(index)
                else:
                    is_waiting = True
        if revoked and self.still_owns(revoked):
            return self._unrevoked(member_epoch, kept, revoked)
        epoch = self._target.epoch
        for topic_id, indexes in free.items():
            kept[topic_id] = {**kept.get(topic_id, {}), **dict.fromkeys(indexes, epoch)}
        return replace(
            member,
            state=MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE,
            epoch=epoch,
            previous_epoch=member.epoch,
            assigned=kept,
            pending_revocation={},
        )

    def _is_overtaken(self, topic_id: bytes, index: int, epoch: int) -> bool:
        """Whether the member has a shared partition as an earlier target gave it."""
        sharing = self._target.sharing
        return (
            sharing is not None and epoch < self._target.epoch and sharing.counts(topic_id, index)
        )

    def _is_free(self, topic_id: bytes, index: int) -> bool:
        sharing = self._target.sharing
        if sharing is not None and sharing.counts(topic_id, index):
            return sharing.is_free(topic_id, index)
        # What the member itself is about to give up is as good as free.
        return (topic_id, index) not in self._partition_epochs or (
            index in self._member.pending_revocation.get(topic_id, ())
        )

    def _unrevoked(self, member_epoch: int, kept: Assigned, revoked: Assigned) -> ConsumerMember:
        return replace(
            self._member,
            state=MemberState.UNREVOKED_PARTITIONS,
            epoch=member_epoch,
            previous_epoch=self._member.epoch,
            assigned=kept,
            pending_revocation=revoked,
        )
