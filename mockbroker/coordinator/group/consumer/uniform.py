"""The `uniform` assignor for members that all read the same topics.

Sizes differ by one at most, and as far as that allows each member keeps what it has (Kafka:
UniformHomogeneousAssignmentBuilder). Who keeps an extra partition, and in which order the free
ones go out, follows Kafka's walk through its hash tables: see `java_order`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.consumer.java_order import ordered_ints, ordered_uuids

if TYPE_CHECKING:
    from mockbroker.coordinator.group.consumer.assignment import Assignments, GroupSpec, Partitions


def assign_homogeneous(spec: GroupSpec) -> Assignments:
    """Each member's partitions."""
    topic_ids = spec.members[spec.member_ids[0]].topic_ids
    if not topic_ids:
        return {}
    free: list[tuple[bytes, int]] = []
    total = 0
    for topic_id in ordered_uuids(sorted(topic_ids)):
        count = spec.partition_counts[topic_id]
        total += count
        free += [
            (topic_id, index) for index in range(count) if (topic_id, index) not in spec.owners
        ]
    kept, room = _keep(spec, topic_ids, total, free)
    unassigned = iter(free)
    for member_id, quota in room:
        partitions = {topic_id: list(indexes) for topic_id, indexes in kept[member_id].items()}
        for _, (topic_id, index) in zip(range(quota), unassigned, strict=False):
            partitions.setdefault(topic_id, []).append(index)
        kept[member_id] = {
            topic_id: tuple(sorted(indexes)) for topic_id, indexes in partitions.items()
        }
    assert next(unassigned, None) is None
    return kept


def _keep(
    spec: GroupSpec, topic_ids: frozenset[bytes], total: int, free: list[tuple[bytes, int]]
) -> tuple[Assignments, list[tuple[str, int]]]:
    """What members keep, and how much room those below their quota have.

    What is over a member's quota goes to `free`.
    """
    member_count = len(spec.member_ids)
    least, extras = divmod(total, member_count)
    kept: Assignments = {}
    room: list[tuple[str, int]] = []
    for position, member_id in enumerate(spec.member_ids):
        takes_extra = extras > 0
        quota = least + takes_extra
        mine: Partitions = {}
        assigned = spec.members[member_id].assigned
        for topic_id in ordered_uuids(assigned):
            if topic_id not in topic_ids:
                continue
            indexes = assigned[topic_id]
            if len(indexes) > quota:
                walked = ordered_ints(indexes)
                free += [(topic_id, index) for index in walked[quota:]]
                indexes = tuple(sorted(walked[:quota]))
            quota -= len(indexes)
            if indexes:
                mine[topic_id] = indexes
        kept[member_id] = mine
        if quota > 0 and takes_extra and member_count - position > extras:
            # Another member may keep one more; the last ones must take what is left.
            quota -= 1
            takes_extra = False
        if quota > 0:
            room.append((member_id, quota))
        if takes_extra:
            extras -= 1
    return kept, room
