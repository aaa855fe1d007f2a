"""One member's update in its group, of either protocol: subscription, epoch, target, assignment.

`heartbeat` and `mixed` read what the request says; `MemberUpdater` collects the records of all
that follows (GroupMetadataManager.consumerGroupHeartbeat, steps 1 to 3). They are written as one
batch, so an update is done as a whole or not at all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mockbroker.coordinator.group.consumer.group import preferred
from mockbroker.coordinator.group.consumer.group_records import (
    assignment_record,
    member_record,
    member_tombstones,
    target_record,
)
from mockbroker.coordinator.group.consumer.member import JOIN_EPOCH, ConsumerMember
from mockbroker.coordinator.group.consumer.reconcile import Target, reconcile
from mockbroker.coordinator.group.consumer.refusal import Refusal
from mockbroker.coordinator.group.consumer.sharing import Sharing, shared_partitions
from mockbroker.coordinator.group.consumer.target import Candidate, compute_target, may_compute

if TYPE_CHECKING:
    from mockbroker.clock import Clock
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.reconcile import Owned
    from mockbroker.coordinator.group.consumer.settings import ConsumerSettings
    from mockbroker.coordinator.group.consumer.subscriptions import Subscriptions
    from mockbroker.coordinator.records import CoordinatorRecord


@dataclass(slots=True)
class UpdateBase:
    """Where a member starts from: `base` is what it was, `old` what the group has in its place."""

    group: ConsumerGroup
    base: ConsumerMember
    old: ConsumerMember | None
    records: list[CoordinatorRecord] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class MemberUpdate:
    """What an update comes to: the member after it, the records, and what else is to be done.

    `bumped` says that the subscription of the group changed, `needs_regex_resolution` that the
    topics of its expressions are due, `reconciled` that what the member has changed.
    """

    start: UpdateBase
    candidate: Candidate
    member: ConsumerMember
    records: list[CoordinatorRecord]
    bumped: bool = False
    needs_regex_resolution: bool = False
    reconciled: bool = False


def replaced_member(
    group: ConsumerGroup, old: ConsumerMember, member_id: str, records: list[CoordinatorRecord]
) -> ConsumerMember:
    """A static member under its new id, in the place of the old one; the records say so."""
    member = replace(old, member_id=member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    group_id = group.group_id
    records += [
        *member_tombstones(group_id, old.member_id),
        member_record(group_id, member),
        target_record(group_id, member_id, group.target_of(old.member_id)),
        assignment_record(group_id, member),
    ]
    return member


@dataclass(slots=True, eq=False)
class MemberUpdater:
    """Makes the updates of members."""

    _clock: Clock
    _settings: ConsumerSettings
    _subscriptions: Subscriptions

    def subscribe(self, start: UpdateBase, updated: ConsumerMember) -> MemberUpdate | Refusal:
        """The member as its request says: its record, its expressions and the group's epoch."""
        group, base = start.group, start.base
        candidate = Candidate(group, start.old, updated, group.epoch)
        update = MemberUpdate(start, candidate, updated, start.records)
        names_changed = updated.topic_names != base.topic_names
        if updated is not base and updated != base:
            update.records.append(member_record(group.group_id, updated))
        regex = self._subscriptions.change_regex(group, base, updated)
        if isinstance(regex, Refusal):
            return regex
        update.records += regex.records
        update.needs_regex_resolution = regex.needs_regex_resolution
        update.bumped = names_changed or regex.changed
        # A member of the classic protocol brings no expression, so there is none to wait for.
        bump = names_changed or (regex.changed and (regex.resolved or updated.is_classic))
        bump = bump or self._assignor_changed(start, updated)
        update.records += self._subscriptions.update_epoch(candidate, bump=bump)
        return update

    def _assignor_changed(self, start: UpdateBase, updated: ConsumerMember) -> bool:
        # GroupMetadataManager.hasPreferredServerAssignorChanged
        if updated.server_assignor == start.base.server_assignor:
            return False
        group, default = start.group, self._settings.default_assignor()
        counts = group.assignors.copy()
        if start.old is not None and start.old.server_assignor is not None:
            counts[start.old.server_assignor] -= 1
        if updated.server_assignor is not None:
            counts[updated.server_assignor] += 1
        after = preferred(Counter({name: count for name, count in counts.items() if count > 0}))
        return (after or default) != (group.preferred_assignor() or default)

    def assign(self, update: MemberUpdate, owned: Owned | None) -> None:
        """The target of the group's epoch, if it is due, and the member's step towards it."""
        group, candidate = update.start.group, update.candidate
        view = self._subscriptions.view
        target_epoch = group.assignment_epoch
        partitions = None
        if target_epoch < candidate.group_epoch:
            now_wall_ms = self._clock.wall_ms()
            interval_ms = self._settings.assignment_interval_ms(group.group_id)
            if may_compute(group, interval_ms, now_wall_ms):
                target_epoch = candidate.group_epoch
                partitions, records = compute_target(
                    candidate,
                    view,
                    self._settings.default_assignor(),
                    now_wall_ms,
                    self._settings.extra_assignors,
                )
                update.records += records
        self.reconcile(update, target_epoch, owned, partitions)

    def reconcile(
        self,
        update: MemberUpdate,
        target_epoch: int,
        owned: Owned | None,
        partitions: dict[bytes, tuple[int, ...]] | None = None,
    ) -> None:
        """The member's step towards a target; None: the one that the group has for it."""
        group, member = update.start.group, update.member
        if member.is_reconciled_to(target_epoch) and not update.bumped:
            return
        if partitions is None:
            partitions = update.candidate.current_target()
        topic_ids = self._subscriptions.view.subscribed_ids(group, member)
        after = reconcile(
            member,
            Target(target_epoch, partitions, topic_ids, self._sharing(update, target_epoch)),
            group.partition_epochs,
            owned,
            subscription_changed=update.bumped,
        )
        if after != member:
            update.records.append(assignment_record(group.group_id, after))
            update.member = after
            update.reconciled = True

    def _sharing(self, update: MemberUpdate, target_epoch: int) -> Sharing | None:
        """What of the target is shared; only an extension's assignor shares."""
        if not self._settings.extra_assignors:
            return None
        group, candidate = update.start.group, update.candidate
        shared = candidate.shared
        if shared is None:
            shared = shared_partitions((*group.target.values(), *group.departed.values()))
        own = {candidate.member.member_id, (candidate.old or candidate.member).member_id}
        return Sharing(group, own, target_epoch, shared)
