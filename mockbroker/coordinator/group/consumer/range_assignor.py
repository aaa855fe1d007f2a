"""The `range` assignor: of each topic a run of neighbouring partitions for each subscriber.

Static members come first, by instance id, then the others by member id, so that the same member
gets the same range of every topic with as many partitions and subscribers: co-partitioned topics
stay together. Racks do not count (Kafka: RangeAssignor).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.coordinator.group.consumer.assignment import Assignments, GroupSpec, Partitions


class _Topic:
    """What is left of one topic; the first `extra` subscribers get one partition more."""

    __slots__ = ("extra", "next", "quota")

    def __init__(self, partition_count: int, subscriber_count: int) -> None:
        self.quota, self.extra = divmod(partition_count, subscriber_count)
        self.next = 0

    def take(self) -> tuple[int, ...]:
        """The next subscriber's range."""
        size = self.quota
        if self.extra:
            self.extra -= 1
            size += 1
        start = self.next
        self.next += size
        return tuple(range(start, self.next))


def assign_ranges(spec: GroupSpec) -> Assignments:
    """Each member's ranges."""
    subscribers: dict[bytes, int] = {}
    for member in spec.members.values():
        for topic_id in member.topic_ids:
            subscribers[topic_id] = subscribers.get(topic_id, 0) + 1
    topics = {
        topic_id: _Topic(spec.partition_counts[topic_id], count)
        for topic_id, count in subscribers.items()
    }
    assignments: Assignments = {}
    for member_id in sorted(spec.members, key=lambda one: _order(spec, one)):
        ranges: Partitions = {}
        for topic_id in sorted(spec.members[member_id].topic_ids):
            taken = topics[topic_id].take()
            if taken:
                ranges[topic_id] = taken
        assignments[member_id] = ranges
    return assignments


def _order(spec: GroupSpec, member_id: str) -> tuple[bool, bytes]:
    instance_id = spec.members[member_id].instance_id
    text = member_id if instance_id is None else instance_id
    # String.compareTo goes by UTF-16 units.
    return instance_id is None, text.encode("utf-16-be", "surrogatepass")
