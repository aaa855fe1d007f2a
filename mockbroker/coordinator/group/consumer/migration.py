"""Groups that go from one protocol to the other while their members go on (KIP-848).

A classic group of consumers is **upgraded** when a member joins it by ConsumerGroupHeartbeat: each
classic member keeps its partitions and goes on with JoinGroup, SyncGroup and Heartbeat, which
`mixed` serves. The group is **downgraded** when its last member of the consumer protocol goes and
classic ones stay. `group.consumer.migration.policy` allows both, one or none.

Sources: GroupMetadataManager.convertToConsumerGroup and convertToClassicGroup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coordinator.group.classic_group import ClassicGroup, group_metadata_record
from mockbroker.coordinator.group.consumer.classic_bytes import (
    MalformedError,
    assignment_bytes,
    parse_assignment,
    parse_subscription,
    version_of,
)
from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.group_records import (
    assignment_record,
    epoch_record,
    group_records,
    group_tombstones,
    member_record,
    target_epoch_record,
    target_record,
)
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.group.consumer.refusal import Refusal
from mockbroker.coordinator.group.members import ClassicMember
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.coordinator.group.consumer.settings import ConsumerSettings
    from mockbroker.coordinator.group.consumer.timeouts import MemberTimeouts
    from mockbroker.coordinator.group.consumer.topic_view import TopicView
    from mockbroker.coordinator.group.members import Protocols
    from mockbroker.coordinator.group.rebalance import Rebalancer
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord

_UPGRADES = ("BIDIRECTIONAL", "UPGRADE")
_DOWNGRADES = ("BIDIRECTIONAL", "DOWNGRADE")


@dataclass(slots=True, eq=False)
class Migration:
    """Converts groups. `timeouts` is set once by who makes both."""

    _settings: ConsumerSettings
    _view: TopicView
    _rebalancer: Rebalancer
    timeouts: MemberTimeouts = field(init=False)

    @property
    def is_disabled(self) -> bool:
        """Whether no classic member may come into a consumer group."""
        return self._settings.migration_policy() == "DISABLED"

    # -- upgrade ---------------------------------------------------------------------------

    def upgrade(
        self, classic: ClassicGroup, records: list[CoordinatorRecord]
    ) -> ConsumerGroup | Refusal:
        """The group as one of consumers; `records` make it so once they are written."""
        refusal = self._refuse_upgrade(classic)
        if refusal is not None:
            return refusal
        group_id = classic.group_id
        try:
            group = self._from_classic(classic)
        except MalformedError as error:
            return _refused_upgrade(group_id, str(error))
        self._rebalancer.release(classic, ErrorCode.REBALANCE_IN_PROGRESS)
        records.append(group_metadata_record(group_id, None))
        records += group_records(group)
        return group

    def _refuse_upgrade(self, classic: ClassicGroup) -> Refusal | None:
        group_id = classic.group_id
        if self._settings.migration_policy() not in _UPGRADES:
            return _refused_upgrade(group_id, "because online upgrade is disabled.")
        if not classic.is_of_consumers or classic.protocol_name is None:
            return _refused_upgrade(
                group_id, "because the group does not use the consumer embedded protocol."
            )
        if len(classic.members) > self._settings.max_size():
            return _refused_upgrade(
                group_id, "because the group size exceeds the consumer group maximum size."
            )
        return None

    def _from_classic(self, classic: ClassicGroup) -> ConsumerGroup:
        """A group of which each member has what its last assignment gave it (fromClassicGroup)."""
        group = ConsumerGroup(classic.group_id)
        records: list[CoordinatorRecord] = []
        generation_id = classic.generation_id
        protocol_name = classic.protocol_name
        assert protocol_name is not None
        for member in classic.members.values():
            converted = self._converted(member, protocol_name, generation_id)
            partitions = {topic: tuple(indexes) for topic, indexes in converted.assigned.items()}
            records += [
                member_record(group.group_id, converted),
                target_record(group.group_id, member.member_id, partitions),
                assignment_record(group.group_id, converted),
            ]
        records.append(target_epoch_record(group.group_id, generation_id, 0))
        for record in records:
            group.replay(record.key, record.value)
        metadata_hash = self._view.hash_of(group.name_counts)
        epoch = epoch_record(group.group_id, generation_id, metadata_hash)
        group.replay(epoch.key, epoch.value)
        return group

    def _converted(
        self, member: ClassicMember, protocol_name: str, generation_id: int
    ) -> ConsumerMember:
        subscription = parse_subscription(member.metadata(protocol_name))
        partitions = self._view.partitions_of(parse_assignment(member.assignment))
        return ConsumerMember(
            member.member_id,
            epoch=generation_id,
            previous_epoch=generation_id,
            instance_id=member.group_instance_id,
            rack_id=subscription.rack_id or None,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            client_id=member.client_id,
            client_host=member.client_host,
            topic_names=frozenset(subscription.topics),
            assigned={
                topic_id: dict.fromkeys(indexes, generation_id)
                for topic_id, indexes in partitions.items()
                if indexes
            },
            classic=classic_metadata(member.session_timeout_ms, member.protocols),
        )

    def upgraded(self, shard: GroupShard, group: ConsumerGroup, was: ConsumerGroup) -> None:
        """The records of an upgrade are written: `group` is there now, and lives on the clock."""
        group.metadata_deadline_ms = was.metadata_deadline_ms
        group.metadata_seen_epoch = was.metadata_seen_epoch
        for member in group.members.values():
            if member.classic is not None:
                timeout_ms = member.classic.session_timeout_ms
                self.timeouts.schedule_session_timeout(shard, group, member.member_id, timeout_ms)

    # -- downgrade -------------------------------------------------------------------------

    def can_downgrade_without(
        self, group: ConsumerGroup, leaving: Sequence[ConsumerMember]
    ) -> bool:
        """Whether only classic members stay when these go, and they may be a classic group."""
        left = len(group.members) - len(leaving)
        classic_left = group.classic_count - sum(member.is_classic for member in leaving)
        return left > 0 and classic_left == left and self._may_downgrade(left)

    def can_downgrade_with(self, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
        """Whether all members are classic once a classic one takes this static one's place."""
        count = len(group.members)
        return (
            not replaced.is_classic
            and group.classic_count == count - 1
            and self._may_downgrade(count)
        )

    def _may_downgrade(self, size: int) -> bool:
        return (
            self._settings.migration_policy() in _DOWNGRADES
            and size <= self._settings.classic_max_size()
        )

    def downgrade_without(
        self,
        shard: GroupShard,
        group: ConsumerGroup,
        leaving: Sequence[ConsumerMember],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """The members that stay are a classic group, and join again."""
        gone = {member.member_id for member in leaving}
        staying = [one for one in group.members.values() if one.member_id not in gone]
        classic = self._to_classic(group, staying, {})
        records = [*group_tombstones(group), classic.metadata_record(self._now())]

        live: ClassicGroup | None = None

        def appended() -> None:
            nonlocal live
            live = self.downgraded(shard, group, classic)

        shard.write(records, done, appended=appended)
        if live is not None:
            self.rebalance(shard, live)

    def downgrade_with(
        self, group: ConsumerGroup, joining: ConsumerMember, replaced: ConsumerMember
    ) -> tuple[ClassicGroup, list[CoordinatorRecord]]:
        """A classic group with a member that takes a static one's place, and its records."""
        staying = [joining if one is replaced else one for one in group.members.values()]
        renamed = {replaced.member_id: joining.member_id}
        classic = self._to_classic(group, staying, {joining.member_id: replaced.member_id})
        return classic, [
            *group_tombstones(group, renamed),
            classic.metadata_record(self._now()),
        ]

    def downgraded(
        self, shard: GroupShard, group: ConsumerGroup, made: ClassicGroup
    ) -> ClassicGroup:
        """The records of a downgrade are written: the live group gets what they do not say."""
        live = shard.groups[group.group_id]
        self.timeouts.forget_all(group)
        for member_id, member in live.members.items():
            was = made.members[member_id]
            live.update(member, was.protocols, was.rebalance_timeout_ms, was.session_timeout_ms)
            self._rebalancer.touch_session(shard, live, member)
        return live

    def rebalance(self, shard: GroupShard, classic: ClassicGroup) -> None:
        """The members of a group that was downgraded join again."""
        self._rebalancer.prepare(shard, classic)

    def _to_classic(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], target_of: dict[str, str]
    ) -> ClassicGroup:
        """A group that has exactly what the target gives these members (fromConsumerGroup)."""
        classic = ClassicGroup(group.group_id)
        classic.generation_id = group.epoch
        classic.protocol_type = group.protocol_type
        for member in members:
            assert member.classic is not None
            protocols = [
                (one.name, bytes(one.metadata)) for one in member.classic.supported_protocols
            ]
            converted = ClassicMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                protocols,
            )
            classic.add_converted(converted)
        protocol_name = classic.protocol_name = classic.select_protocol()
        for converted in classic.members.values():
            member_id = converted.member_id
            target = group.target_of(target_of.get(member_id, member_id))
            version = version_of(converted.metadata(protocol_name))
            converted.assignment = assignment_bytes(self._view.named(target), version)
        return classic

    def _now(self) -> int:
        return self._rebalancer.clock.wall_ms()


def classic_metadata(session_timeout_ms: int, protocols: Protocols) -> ClassicMemberMetadata:
    """What a classic member brought, as its record has it."""
    return ClassicMemberMetadata(
        session_timeout_ms, [ClassicProtocol(name, data) for name, data in protocols]
    )


def _refused_upgrade(group_id: str, why: str) -> Refusal:
    return Refusal(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group_id} to consumer group {why}",
    )
