"""Partitions that a target gives to several members, as no assignor of Apache Kafka does.

An assignor of an extension may share a partition; which part of it is whose, the extension says
from the target's owners. So what a member has of it changes with every target: each member gives a
shared partition up before it has it at a newer target's epoch, and nobody takes it while another
has it from before.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mockbroker.coordinator.group.consumer.assignment import Assignments, Partitions
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup


def shared_partitions(targets: Iterable[Partitions]) -> frozenset[tuple[bytes, int]]:
    """The partitions that several of these have."""
    owners = Counter(
        (topic_id, index)
        for partitions in targets
        for topic_id, indexes in partitions.items()
        for index in indexes
    )
    return frozenset(owned for owned, count in owners.items() if count > 1)


def unshared(current: Assignments, shared: frozenset[tuple[bytes, int]]) -> Assignments:
    """The target without what is shared, for an assignor that keeps what members have."""
    if not shared:
        return current
    return {
        member_id: {
            topic_id: tuple(index for index in indexes if (topic_id, index) not in shared)
            for topic_id, indexes in partitions.items()
        }
        for member_id, partitions in current.items()
    }


class Sharing:
    """How a member comes to what it shares by the target of an epoch."""

    __slots__ = ("_epoch", "_group", "_own_ids", "_shared")

    def __init__(
        self,
        group: ConsumerGroup,
        own_ids: Collection[str],
        epoch: int,
        shared: frozenset[tuple[bytes, int]],
    ) -> None:
        self._group = group
        self._own_ids = own_ids
        self._epoch = epoch
        self._shared = shared

    def counts(self, topic_id: bytes, index: int) -> bool:
        """Whether the partition is shared, by the target or by those who have it still."""
        owned = topic_id, index
        return owned in self._shared or owned in self._group.co_holders

    def is_free(self, topic_id: bytes, index: int) -> bool:
        """Whether nobody else has it from before the target; of one that is not shared, at all."""
        is_shared = (topic_id, index) in self._shared
        for member_id, member in self._group.members.items():
            if member_id in self._own_ids:
                continue
            epoch = member.assigned.get(topic_id, {}).get(index)
            if index in member.pending_revocation.get(topic_id, ()) or (
                epoch is not None and not (is_shared and epoch >= self._epoch)
            ):
                return False
        return True
