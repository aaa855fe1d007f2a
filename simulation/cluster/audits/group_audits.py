"""Groups as their coordinators have them: nobody waits for nothing, and nothing lasts for ever.

- A classic group that is joined waits for members, for ids that were handed out, or for the delay
  of its first rebalance, and not beyond a time; it waits for them as long as it said (KIP-394).
  Nobody waits for assignments then.
- Who is in a generation and does not sync is waited for, who has synced is not.
- Members have a session that ends, unless they are owed an answer; ids that were handed out end.
- A member of KIP-848 that has to give something up has a time for it, nobody else has; the epochs
  of partitions are those of who has them. Where one has gone the group has another epoch.
- Members of a group that was downgraded join again: it does not stay as it was made.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.group.consumer.member import MemberState
from mockbroker.coordinator.group.states import GroupState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.clock import TimerTask
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker


class Joining(NamedTuple):
    """A rebalance that waited for ids at the last look."""

    group: ClassicGroup
    generation: int
    until_ms: int
    pending: frozenset[str]


def _runs(task: TimerTask | None) -> bool:
    return task is not None and task.pending


class GroupAudits:
    """Looks at the groups of brokers now and then.

    `upgrades`: members of KIP-848 come to classic groups. One that comes answers what is parked
    (GroupMetadataManager.convertToConsumerGroup), also where the group stays what it was, as its
    records were not replicated: who had synced then is not waited for, and does so again.
    `max_size` is group.max.size: who joins a full group again is turned away, which completes
    nothing (GroupMetadataManager.classicGroupJoin), also where it alone was waited for.
    """

    def __init__(self, *, upgrades: bool = False, max_size: int = sys.maxsize) -> None:
        self._upgrades = upgrades
        self._max_size = max_size
        self._joining: dict[ClassicGroup, Joining] = {}
        self._consumers: dict[tuple[GroupShard, str], tuple[int, dict[str, bool]]] = {}
        """Epochs of groups of KIP-848 at the last look, and members: True without instance id."""

    def look(self, broker: Broker) -> Iterator[str]:
        """What is wrong with the groups that a broker coordinates."""
        services = broker.services
        if not services.groups.in_use or broker.requests.unfinished or services.replicas.has_ready:
            return
        runtime = services.groups.service.runtime
        for shard in runtime.shards():
            if not runtime.is_owned(shard.partition_index):
                continue
            for group in shard.groups.values():
                for wrong in (
                    *self._wrong_classic(group, services.clock.now_ms),
                    *self._wrong_downgrade(shard, group),
                ):
                    yield f"{group.group_id} in {group.state_name}: {wrong}"
            for consumers in shard.consumer_groups.values():
                for wrong in (*_wrong_consumers(consumers), *self._wrong_leave(shard, consumers)):
                    yield f"{consumers.group_id}: {wrong}"

    def _wrong_classic(self, group: ClassicGroup, now_ms: float) -> Iterator[str]:
        yield from self._wrong_haste(group, now_ms)
        for member_id, task in group.pending_joins.items():
            if not task.pending:
                yield f"{member_id} was handed out for ever"
        for member in group.members.values():
            if not member.is_waiting and not _runs(member.session_task):
                yield f"{member.member_id} has no session"
        if group.state is GroupState.PREPARING_REBALANCE:
            yield from self._wrong_joining(group)
        elif group.state is GroupState.COMPLETING_REBALANCE:
            yield from self._wrong_syncing(group)

    def _wrong_joining(self, group: ClassicGroup) -> Iterator[str]:
        if any(member.parked_sync is not None for member in group.members.values()):
            yield "somebody waits for assignments of the generation before"
        task = group.join_task
        if task is None or not task.pending:
            yield "it waits for ever"
            return
        first = group.previous_state is GroupState.EMPTY
        came = all(member.parked_join is not None for member in group.members.values())
        is_full = len(group.members) >= self._max_size
        if group.members and came and not group.pending_joins and not first and not is_full:
            yield "all came, and it waits"
        if group.pending_joins and not first:
            pending = frozenset(group.pending_joins)
            self._joining[group] = Joining(group, group.generation_id, task.tick_ms, pending)

    def _wrong_syncing(self, group: ClassicGroup) -> Iterator[str]:
        synced = {one.member_id for one in group.members.values() if one.parked_sync is not None}
        if synced.intersection(group.pending_syncs):
            yield "who has synced is waited for"
        if not self._upgrades and set(group.members) - synced - set(group.pending_syncs):
            yield "who has not synced is not waited for"
        if _runs(group.sync_task) != bool(group.pending_syncs):
            yield f"{len(group.pending_syncs)} have to sync, and a time-out runs or not"

    def _wrong_downgrade(self, shard: GroupShard, group: ClassicGroup) -> Iterator[str]:
        epoch, members = self._consumers.pop((shard, group.group_id), (-1, {}))
        if (
            group.state is GroupState.STABLE
            and group.generation_id == epoch
            and group.members.keys() <= members.keys()
        ):
            yield f"it was downgraded in {epoch}, and nobody is to join again"

    def _wrong_leave(self, shard: GroupShard, group: ConsumerGroup) -> Iterator[str]:
        now = {each.member_id: each.instance_id is None for each in group.members.values()}
        key = shard, group.group_id
        epoch, before = self._consumers.get(key, (-1, now))
        self._consumers[key] = group.epoch, now
        gone = [each for each, is_dynamic in before.items() if is_dynamic and each not in now]
        # Who came may have the epoch of one whose coming was taken back.
        if gone and epoch == group.epoch and now.keys() <= before.keys():
            yield f"{gone} are gone, and it is in epoch {epoch} as before"

    def _wrong_haste(self, group: ClassicGroup, now_ms: float) -> Iterator[str]:
        before = self._joining.pop(group, None)
        if before is None or group.generation_id != before.generation + 1 or not group.members:
            return
        left_out = before.pending.intersection(group.pending_joins)
        if left_out and now_ms < before.until_ms:
            yield f"it went on before {before.until_ms} without {sorted(left_out)}"


def _wrong_consumers(group: ConsumerGroup) -> Iterator[str]:
    for member_id, member in group.members.items():
        timers = group.timers.get(member_id)
        if timers is None or not _runs(timers.session):
            yield f"{member_id} has no session"
            continue
        revokes = member.state is MemberState.UNREVOKED_PARTITIONS
        if revokes != _runs(timers.rebalance) and not member.is_classic:
            yield f"{member_id} is in {member.state.name}: a time-out to revoke runs or not"
    for member_id, timers in group.timers.items():
        tasks = (timers.session, timers.rebalance, timers.join, timers.sync)
        if member_id not in group.members and any(map(_runs, tasks)):
            yield f"{member_id} is gone, and its time-outs go on"
    held = {
        (topic_id, index)
        for member in group.members.values()
        for of in (member.assigned, member.pending_revocation)
        for topic_id, partitions in of.items()
        for index in partitions
    }
    if held != set(group.partition_epochs):
        yield f"{held ^ set(group.partition_epochs)} are held, or have an epoch"
