"""Who may read through which ranges of keys.

A fetch that names a member of a group is held against what the group's coordinator knows: the
member must be there, in this generation or at this epoch, and ask for no more than its assignment
gives it. Of a classic group that is read from the leader's UserData; where that says nothing of
ranges, membership is all there is to check. Who leads the partition asks whoever coordinates the
group; only where it cannot (a link is cut, or that broker is in another process) a member is taken
at its word: what it commits is fenced all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.coop import krange
from mockbroker.coop.errors import Refusal
from mockbroker.coop.numbers import DraftError
from mockbroker.coop.user_data import KEY_RANGES, read_assignment, read_subscription
from mockbroker.coordinator.group.consumer.classic_bytes import (
    MalformedError,
    parse_subscription,
    whole_assignment,
)
from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode, ProtocolError

if TYPE_CHECKING:
    from mockbroker.apis.context import Services
    from mockbroker.coop.assignor import Assignment, Ranges
    from mockbroker.coop.key_filter import KeyFilter
    from mockbroker.coop.tags import Identity
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.members import ClassicMember

_NOT_ACCEPTED: Final = DraftError.CONSUMER_RANGE_FETCH_NOT_ACCEPTED
TOPIC_REFUSES: Final = Refusal(
    ErrorCode.TOPIC_AUTHORIZATION_FAILED, DraftError.TOPIC_RANGE_FETCH_NOT_ALLOWED
)
STALE: Final = Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, _NOT_ACCEPTED)
"""An old generation, or a range that it lost: the client refreshes and comes again."""
NOT_OPTED_IN: Final = Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, _NOT_ACCEPTED)


def reader_refusal(
    services: Services,
    identity: Identity | Refusal | None,
    topic: str,
    index: int,
    wanted: KeyFilter | None,
) -> Refusal | None:
    """Why this member may not read the partition through this filter; None: it may.

    Without an identity it is nobody's member; without a filter it reads the whole partition.
    """
    if identity is None:
        alone = services.config.bool("range.fetch.standalone.allow")
        return None if alone else NOT_OPTED_IN
    if isinstance(identity, Refusal):
        return identity
    if not services.config.bool("range.fetch.verify.assignment"):
        return None
    coordinator = services.coordinator_of(identity.group)
    if coordinator is None:
        return None  # nobody can be asked
    shard = coordinator.groups.service.runtime.shard_for(identity.group)
    assert shard is not None
    sharing = shard.consumer_groups.get(identity.group)
    if sharing is not None:
        topic_id = services.metadata.topics[topic].id
        return _refusal_in_consumer_group(sharing, identity, topic_id, index, wanted)
    group = shard.groups.get(identity.group)
    if group is None:
        return STALE
    return _refusal_in_classic(group, identity, topic, index, wanted)


def _refusal_in_classic(
    group: ClassicGroup, identity: Identity, topic: str, index: int, wanted: KeyFilter | None
) -> Refusal | None:
    if (
        group.validate_member(identity.member, identity.instance) is not ErrorCode.NONE
        or identity.generation != group.generation_id
        or group.state is GroupState.COMPLETING_REBALANCE
    ):
        return STALE
    member = group.members[identity.member]
    flags, assignment = _said(group, member)
    opted_in = assignment is None if flags is None else bool(flags & KEY_RANGES)
    if wanted is not None and not opted_in:
        return NOT_OPTED_IN
    return None if assignment is None else outside(assignment.get(topic, {}).get(index), wanted)


def _refusal_in_consumer_group(
    group: ConsumerGroup,
    identity: Identity,
    topic_id: bytes,
    index: int,
    wanted: KeyFilter | None,
) -> Refusal | None:
    member = group.members.get(identity.member)
    if (
        member is None
        or identity.generation != member.epoch
        or identity.instance not in (None, member.instance_id)
    ):
        return STALE
    if not krange.is_sharing(group):
        return None
    if wanted is not None and member.server_assignor != krange.NAME:
        return NOT_OPTED_IN
    return outside(krange.ranges_of(group, member.member_id, topic_id, index), wanted)


def assigned_ranges(group: ClassicGroup, member: ClassicMember) -> Assignment | None:
    """The ranges that a member was assigned; None where the assignor knows none."""
    return _said(group, member)[1]


def outside(assigned: Ranges | None, wanted: KeyFilter | None) -> Refusal | None:
    """STALE unless all that is wanted is assigned; no ranges are the whole partition, None none."""
    if assigned == () or (assigned is not None and wanted and wanted.is_within(assigned)):
        return None
    return STALE


def _said(group: ClassicGroup, member: ClassicMember) -> tuple[int | None, Assignment | None]:
    """The flags of its subscription, and its ranges; None where it is another assignor's."""
    if not group.is_of_consumers or group.protocol_name is None:
        return None, None
    flags = assignment = None
    try:
        subscription = parse_subscription(member.metadata(group.protocol_name))
        subscribed = read_subscription(subscription.user_data)
        flags = None if subscribed is None else subscribed.flags
        if member.assignment:
            assignment = read_assignment(whole_assignment(member.assignment).user_data)
    except (MalformedError, ProtocolError):
        return None, None
    return flags, assignment
