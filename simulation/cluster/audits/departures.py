"""Members of groups that go or wait without a reason, as their coordinator has them.

- Who is in a stable group, and has asked what it was given there, is not thrown out while its
  session lasts and nobody asks anything; nor is a member of KIP-848 that has nothing to give up.
- A JoinGroup or SyncGroup that is not answered waits in a group: for others, or for a record.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mockbroker.coordinator.group.states import GroupState
from mockbroker.node.metered_broker import MeteredBroker
from mockbroker_protocol.api_keys import ApiKey
from simulation.stage import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.clock import TimerTask
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker
    from simulation.stage import Wire
    from simulation.world import World

    Group = ClassicGroup | ConsumerGroup
    Deadlines = dict[Group, dict[str, float]]


class Departures(Observer):
    """Looks at the groups of brokers now and then, and hears when somebody asks a broker."""

    def __init__(self, world: World) -> None:
        self._asked: dict[int, None] = {}
        self._before: dict[Broker, Deadlines] = {}
        """By group, until when the session of each member lasted that was to stay."""
        world.observers.append(self)

    def bytes_arrived(self, wire: Wire, _count: int) -> None:
        self._asked[wire.node] = None

    def look(self, broker: Broker) -> Iterator[str]:
        """Who has gone since the last look, or waits, without a reason."""
        services = broker.services
        before = self._before.pop(broker, {})
        asked = broker.broker_id in self._asked
        self._asked.pop(broker.broker_id, None)
        if isinstance(broker, MeteredBroker) or not services.groups.in_use:
            return  # one that reads when it has memory works on what came long before
        if broker.requests.unfinished or services.replicas.has_ready:
            self._asked[broker.broker_id] = None
            return
        runtime = services.groups.service.runtime
        now_ms = services.clock.now_ms
        shards = [one for one in runtime.shards() if runtime.is_owned(one.partition_index)]
        self._before[broker] = _deadlines(shards)
        for shard in shards:
            groups: list[Group] = [*shard.groups.values(), *shard.consumer_groups.values()]
            for group in groups:
                for member_id, deadline_ms in () if asked else before.get(group, {}).items():
                    gone = member_id not in group.members and deadline_ms > now_ms
                    if gone and not _was_taken_back(group, member_id):
                        yield f"{group.group_id}: {member_id} is out before {deadline_ms:.3f}"
        if not any(runtime._deferred.values()):  # noqa: SLF001
            yield from _wrong_waits(broker, shards)


def _deadlines(shards: list[GroupShard]) -> Deadlines:
    found: Deadlines = {}
    for shard in shards:
        for group in shard.groups.values():
            if group.state is GroupState.STABLE:
                found[group] = {
                    member.member_id: member.session_deadline_ms
                    for member in group.members.values()
                    if member.member_id not in group.pending_syncs
                }
        for consumers in shard.consumer_groups.values():
            found[consumers] = {
                member_id: timers.deadline_ms
                for member_id, timers in consumers.timers.items()
                if not any(map(_runs, (timers.rebalance, timers.join, timers.sync)))
                and member_id in consumers.members
            }
    return found


def _was_taken_back(group: Group, member_id: str) -> bool:
    """Whether a static member has its former id: the change was not replicated (KIP-345)."""
    return any(
        held in group.members and member_id.startswith(f"{instance}-")
        for instance, held in group.static_members.items()
    )


def _runs(task: TimerTask | None) -> bool:
    return task is not None and task.pending


def _wrong_waits(broker: Broker, shards: list[GroupShard]) -> Iterator[str]:
    """More requests that wait than groups know of."""
    working = [conn.in_work for conn in broker.connections()]
    waiting = Counter(ctx.api_key for ctx in working if ctx is not None)
    members = [
        member
        for shard in shards
        for group in shard.groups.values()
        for member in group.members.values()
    ]
    for key, parked in (
        (ApiKey.JOIN_GROUP, sum(one.parked_join is not None for one in members)),
        (ApiKey.SYNC_GROUP, sum(one.parked_sync is not None for one in members)),
    ):
        if waiting[key] > parked:
            yield f"{waiting[key]} {key.name} wait, and groups know of {parked}"
