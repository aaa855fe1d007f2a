"""The broker's assignor `krange`, for groups of KIP-848 that share partitions.

A member asks for it, and says in HEARTBEAT_CAPS that it can read ranges of keys: that is its
opt-in, and stands in its record as the assignor it prefers. To whoever does not say so there is no
such assignor. Members that ask for none keep whole partitions.

Which range is whose follows from the target alone: a partition's owners by id (a static member's is
its instance's), and an even cut; who is gone keeps its place until the next target. So it is as
durable as the target, and needs no record of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.coop.assignor import Member, assign, cut

if TYPE_CHECKING:
    from mockbroker.apis.context import Services
    from mockbroker.coop.assignor import Ranges
    from mockbroker.coordinator.group.consumer.assignment import Assignments, Assignor, GroupSpec
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup

NAME: Final = "krange"


def is_sharing(group: ConsumerGroup) -> bool:
    """Whether a group is assigned by it."""
    return group.preferred_assignor() == NAME


def target_ranges(group: ConsumerGroup, member_id: str, topic_id: bytes, index: int) -> Ranges:
    """What the target gives a member of a partition that is in its target; no range is all."""
    places = {group.target_place(owner): parts for owner, parts in group.target.items()}
    owners = sorted(
        place
        for place, parts in {**group.departed, **places}.items()
        if index in parts.get(topic_id, ())
    )
    return cut(len(owners))[owners.index(group.target_place(member_id))]


def ranges_of(group: ConsumerGroup, member_id: str, topic_id: bytes, index: int) -> Ranges | None:
    """What a member may read of a partition now; None: nothing, until it has what the target says.

    A part counts while it is of the latest target; a whole partition as long as it is assigned.
    """
    epoch = group.members[member_id].assigned.get(topic_id, {}).get(index)
    if epoch is None or index not in group.target_of(member_id).get(topic_id, ()):
        return None
    ranges = target_ranges(group, member_id, topic_id, index)
    return None if ranges and epoch < group.assignment_epoch else ranges


def assignor(services: Services) -> Assignor:
    """The assignor for the groups of this broker."""

    def by_ranges(spec: GroupSpec) -> Assignments:
        topics = services.metadata.topics_by_id
        names = {topic_id: topics[topic_id].name for topic_id in spec.partition_counts}
        ids = {name: topic_id for topic_id, name in names.items()}
        found = assign(
            (
                Member(
                    member_id,
                    frozenset(names[one] for one in member.topic_ids if one in names),
                    member.server_assignor == NAME,
                )
                for member_id, member in spec.members.items()
            ),
            {names[topic_id]: count for topic_id, count in spec.partition_counts.items()},
            allowed=services.config.bool("accept.individual.commit"),
            closed_topics={
                name
                for name, one in ids.items()
                if not topics[one].config.bool("range.fetch.enable")
            },
        )
        return {
            member_id: {ids[name]: tuple(sorted(indexes)) for name, indexes in assigned.items()}
            for member_id, assigned in found.items()
        }

    return by_ranges
