"""Groups whose members share partitions and do not know it.

Of a group in `coop.transparent.groups`, of the classic protocol and of clients that know nothing of
the extension, each with a client id of its own, the broker divides the partitions of topics that
have fewer than there are members: what the leader assigned is written anew, the ranges beside it in
UserData, which clients pass over and the group's record keeps. Each member's fetches are filtered
then, by its client id, and its plain commits count for the records in its ranges alone.

Who leads a partition asks whoever coordinates the group; while it cannot, members are given all
that is there. Not divided are groups with an assignor of more than one generation, and those with a
client of kafka-go, which cannot pass over what a filter leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.assignor import Member, assign
from mockbroker.coop.user_data import read_assignment, write_assignment
from mockbroker.coordinator.group.consumer.classic_bytes import (
    MalformedError,
    parse_subscription,
    version_of,
    whole_assignment,
)
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolTopicPartition,
)
from mockbroker_protocol.plan import encode

if TYPE_CHECKING:
    from mockbroker.apis.context import Services
    from mockbroker.coop.assignor import Assignment, Ranges
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker_protocol.messages.group_membership import (
        SyncGroupRequest,
        SyncGroupRequestAssignment,
    )

_DIVIDED: Final = frozenset(("range", "roundrobin"))
"""Assignors that know nothing of the generation before."""
CANNOT_SHARE: Final = "kafka-go"
"""In the names of clients that cannot be given what a filter leaves."""
_LATEST: Final = 3


class Owner(NamedTuple):
    """A member of a transparent group, and what it has."""

    group: str
    member: str
    assignment: Assignment


class _Known(NamedTuple):
    """What a group's members have in one generation, by client id."""

    generation: int
    owners: dict[str, Owner]


class TransparentGroups:
    """Those that one node coordinates; memory that follows from the groups' records."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: dict[str, _Known] = {}
        self.unable: set[str] = set()
        """The ids of clients that were met and cannot be given what a filter leaves."""
        self.begun: dict[tuple[str, str, int], int] = {}
        """The lowest offset that a group's members asked for, by group, topic and partition."""
        self.looked_at: dict[tuple[str, str, str, int], int] = {}
        """Behind what of a partition a member's commits were turned into ranges already."""

    def clear(self) -> None:
        """Forget all that does not follow from records."""
        self._known.clear()
        self.begun.clear()
        self.looked_at.clear()

    def owners(self, group_id: str) -> dict[str, Owner]:
        """Who shares what, by client id; nobody in a group that is not divided."""
        if group_id not in self._services.config.list("coop.transparent.groups"):
            return {}
        group = self._group(group_id)
        if group is None:
            self._known.pop(group_id, None)
            return {}
        known = self._known.get(group_id)
        if known is None or known.generation != group.generation_id:
            if group.state is not GroupState.STABLE:
                return {}  # its members wait for what they will have
            known = self._known[group_id] = _Known(group.generation_id, _owners(group))
            self._forget(group_id)
        return known.owners

    def divide(self, request: SyncGroupRequest) -> None:
        """Write what the leader assigned anew, if the group is to be divided and can be."""
        group = self._group(request.group_id)
        if (
            request.group_id not in self._services.config.list("coop.transparent.groups")
            or group is None
            or request.member_id != group.leader_id
            or request.generation_id != group.generation_id
            or group.protocol_name not in _DIVIDED
            or not group.is_of_consumers
        ):
            return
        clients = {member.client_id for member in group.members.values()}
        if len(clients) < len(group.members) or clients & self.unable:
            return
        try:
            members = [
                Member(one.member_id, frozenset(topics), shares=True)
                for one in group.members.values()
                for topics in [parse_subscription(one.metadata(group.protocol_name)).topics]
            ]
            self._rewrite(members, request.assignments)
        except (MalformedError, ProtocolError):
            return

    def _rewrite(
        self, members: list[Member], assignments: list[SyncGroupRequestAssignment]
    ) -> None:
        topics = self._services.metadata.topics
        counts = {
            name: len(topics[name].partitions)
            for name in frozenset().union(*(member.topics for member in members))
            if name in topics and topics[name].config.bool("range.fetch.enable")
        }
        divided = {
            name: count
            for name, count in counts.items()
            if count < sum(name in member.topics for member in members)
        }
        if not divided or not self._services.config.bool("accept.individual.commit"):
            return
        shares = assign(members, divided)
        for one in assignments:
            told = whole_assignment(bytes(one.assignment)) if one.assignment else None
            given: Assignment = {} if told is None else _whole(told)
            for name in divided:
                given.pop(name, None)
            given.update(shares.get(one.member_id, {}))
            version = max(0, min(version_of(bytes(one.assignment) or b"\0\0"), _LATEST))
            named = [
                ConsumerProtocolTopicPartition(topic, list(parts)) for topic, parts in given.items()
            ]
            message = ConsumerProtocolAssignment(named, write_assignment(given))
            one.assignment = version.to_bytes(2, "big") + b"".join(encode(message, version))

    def _group(self, group_id: str) -> ClassicGroup | None:
        shard = self._services.groups.service.runtime.shard_for(group_id)
        return None if shard is None else shard.groups.get(group_id)

    def _forget(self, group_id: str) -> None:
        """A generation begins: what its members ask for first is not known."""
        for memory in (self.begun, self.looked_at):
            for key in [key for key in memory if key[0] == group_id]:
                del memory[key]  # type: ignore[arg-type]  # keys of both begin with the group


def ranges_in(owner: Owner, topic: str, index: int) -> Ranges:
    """The ranges of a partition that a member has; none: all of it, or nothing."""
    return owner.assignment.get(topic, {}).get(index, ())


def _whole(told: ConsumerProtocolAssignment) -> Assignment:
    return {one.topic: dict.fromkeys(one.partitions, ()) for one in told.assigned_partitions}


def _owners(group: ClassicGroup) -> dict[str, Owner]:
    found = {}
    for member in group.members.values():
        try:
            given = whole_assignment(member.assignment)
            told = read_assignment(given.user_data)
        except (MalformedError, ProtocolError):
            continue
        if told is None:
            told = _whole(given)
        found[member.client_id] = Owner(group.group_id, member.member_id, told)
    return found
