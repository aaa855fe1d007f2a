"""Which partitions each member of a consumer group shall have (Kafka: TargetAssignmentBuilder).

A change of the group bumps its epoch; the next heartbeat that may, computes the target of that
epoch here. Between two computations lies `group.consumer.assignment.interval.ms`: until it is over
members keep to the last target.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.group.consumer.assignment import GroupSpec, MemberSpec
from mockbroker.coordinator.group.consumer.assignors import assign
from mockbroker.coordinator.group.consumer.group import preferred
from mockbroker.coordinator.group.consumer.group_records import (
    target_epoch_record,
    target_record,
)
from mockbroker.coordinator.group.consumer.sharing import shared_partitions, unshared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.coordinator.group.consumer.assignment import Assignments, Assignor, Partitions
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.member import ConsumerMember
    from mockbroker.coordinator.group.consumer.topic_view import TopicView
    from mockbroker.coordinator.records import CoordinatorRecord


_NO_EXTRA: Final[Mapping[str, Assignor]] = MappingProxyType({})


@dataclass(slots=True, eq=False)
class Candidate:
    """A group with one member as it is about to be: `member` in the place of `old`.

    `old` is that member as the group has it, or the one whose instance id it takes over; None when
    a member is new. `group_epoch` is the epoch that the decision gives the group; `shared`, what a
    target that was computed for it gives to several.
    """

    group: ConsumerGroup
    old: ConsumerMember | None
    member: ConsumerMember
    group_epoch: int
    shared: frozenset[tuple[bytes, int]] | None = None

    def members(self) -> dict[str, ConsumerMember]:
        """All members as they are about to be."""
        members = dict(self.group.members)
        if self.old is not None and self.old.member_id != self.member.member_id:
            members.pop(self.old.member_id, None)
        members[self.member.member_id] = self.member
        return members

    def current_target(self) -> Partitions:
        """What the member shall have by the target that there is."""
        return self.group.target_of(
            self.member.member_id if self.old is None else self.old.member_id
        )


def may_compute(group: ConsumerGroup, interval_ms: int, now_wall_ms: int) -> bool:
    """Whether the interval since the last computation is over, or none is known."""
    computed_ms = group.assignment_timestamp_ms
    return not computed_ms or not interval_ms or now_wall_ms >= computed_ms + interval_ms


def compute_target(
    candidate: Candidate,
    view: TopicView,
    default_assignor: str,
    now_wall_ms: int,
    extra: Mapping[str, Assignor] = _NO_EXTRA,
) -> tuple[Partitions, list[CoordinatorRecord]]:
    """What the candidate's member shall have, and the records of all that changes.

    `extra` are assignors that an extension brings.
    """
    group = candidate.group
    members = candidate.members()
    current = dict(group.target)
    if candidate.old is not None and candidate.old.member_id != candidate.member.member_id:
        current[candidate.member.member_id] = current.pop(candidate.old.member_id, {})
    name = _preferred_assignor(members) or default_assignor
    own = extra.get(name)
    kept = unshared(current, shared_partitions(current.values())) if extra else current
    specs = {
        member_id: MemberSpec(
            view.subscribed_ids(group, member),
            kept.get(member_id, {}),
            member.instance_id,
            member.server_assignor,
        )
        for member_id, member in members.items()
    }
    subscribed = frozenset().union(*(spec.topic_ids for spec in specs.values()))
    spec = GroupSpec(
        specs,
        view.counts(sorted(subscribed)),
        _owners(kept) if extra else group.target_owners,
        is_homogeneous=_is_homogeneous(members),
    )
    if own is None:
        assignments = assign(name, spec)
    else:
        assignments = own(spec)
    candidate.shared = shared_partitions(assignments.values()) if own else frozenset()
    records = [
        target_record(group.group_id, member_id, assignments.get(member_id, {}))
        for member_id in spec.member_ids
        if not _is_same(current.get(member_id), assignments.get(member_id, {}))
    ]
    records.append(target_epoch_record(group.group_id, candidate.group_epoch, now_wall_ms))
    return assignments.get(candidate.member.member_id, {}), records


def _owners(targets: Assignments) -> dict[tuple[bytes, int], str]:
    return {
        (topic_id, index): member_id
        for member_id, partitions in targets.items()
        for topic_id, indexes in partitions.items()
        for index in indexes
    }


def _is_same(current: Partitions | None, wanted: Partitions) -> bool:
    # A member without a target of its own gets one, be it empty.
    return current is not None and {one: sorted(indexes) for one, indexes in current.items()} == {
        one: sorted(indexes) for one, indexes in wanted.items()
    }


def _preferred_assignor(members: dict[str, ConsumerMember]) -> str | None:
    counts: Counter[str] = Counter()
    for member in members.values():
        if member.server_assignor is not None:
            counts[member.server_assignor] += 1
    return preferred(counts)


def _is_homogeneous(members: dict[str, ConsumerMember]) -> bool:
    """Whether all read the same: the same names, or one expression and no name.

    Kafka counts subscribers by name and does not look through expressions
    (ConsumerGroup.subscriptionType).
    """
    regexes = {member.topic_regex or "" for member in members.values()}
    names = {member.topic_names for member in members.values()}
    if regexes == {""}:
        return len(names) == 1
    return len(regexes) == 1 and names == {frozenset()}
