"""ConsumerGroupDescribe: a consumer group with its members (ConsumerGroup.asDescribedGroup)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribedAssignment,
    ConsumerGroupDescribedGroup,
    ConsumerGroupDescribedMember,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.member import ConsumerMember
    from mockbroker.coordinator.group.consumer.topic_view import TopicView

_CLASSIC, _CONSUMER = 0, 1


def described(
    group: ConsumerGroup, view: TopicView, default_assignor: str
) -> ConsumerGroupDescribedGroup:
    """The group as it is now."""
    return ConsumerGroupDescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor() or default_assignor,
        members=[_member(group, member, view) for member in group.members.values()],
    )


def _member(
    group: ConsumerGroup, member: ConsumerMember, view: TopicView
) -> ConsumerGroupDescribedMember:
    # What a member has to give up it still has.
    held: dict[bytes, list[int]] = {}
    for partitions in (member.assigned, member.pending_revocation):
        for topic_id, indexes in partitions.items():
            held.setdefault(topic_id, []).extend(indexes)
    return ConsumerGroupDescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(held, view),
        target_assignment=_assignment(group.target_of(member.member_id), view),
        member_type=_CLASSIC if member.is_classic else _CONSUMER,
    )


def _assignment(
    partitions: Mapping[bytes, Iterable[int]], view: TopicView
) -> ConsumerGroupDescribedAssignment:
    found = []
    for topic_id, indexes in partitions.items():
        topic = view.topic(topic_id)
        if topic is not None:
            found.append(TopicPartitions(topic_id, topic.name, sorted(indexes)))
    return ConsumerGroupDescribedAssignment(found)
