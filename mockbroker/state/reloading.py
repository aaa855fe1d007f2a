"""Coordinators take over what their logs say, after these were replaced. Called by this room.

Who waits is told NOT_COORDINATOR. Members of a group come back with it as far as they are members
until now; a group with one that has gone comes back without members, because nobody would
heartbeat for it, and the others learn that they are unknown and join again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.log_port import InternalLog
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.coordinator.group.service import GroupCoordinatorService
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker
    from mockbroker_protocol.messages.group_membership import LeaveGroupResponse

_LEAVE_VERSION = 5


def reload_coordinators(
    cluster: Cluster, topic: str, changed: Iterable[int], *, keep_members: bool = True
) -> None:
    """The logs of these partitions of a coordinators' topic, or of another, are others now.

    Without `keep_members` every group comes back without members, as from a snapshot, whose
    members need not be those of now.
    """
    if topic == GROUP_METADATA_TOPIC:
        for index in changed:
            _reload_groups(cluster, index, keep_members)
    elif topic == TRANSACTION_STATE_TOPIC:
        for index in changed:
            _reload_transactions(cluster, index)
    else:
        for index in changed:
            _reload_extension(cluster, topic, index)


def _reload_groups(cluster: Cluster, index: int, keep_members: bool) -> None:
    for broker, log in _leaders(cluster, GROUP_METADATA_TOPIC, index):
        service = broker.services.groups.service
        shard = service.runtime.shard_at(index)
        members = _members(shard) if shard is not None and keep_members else {}
        _expel_members(service, service.runtime.load(index, log.read(index)), members)


def _members(shard: GroupShard) -> dict[str, frozenset[str]]:
    return {group.group_id: frozenset(group.members) for group in shard.all_groups()}


def _expel_members(
    service: GroupCoordinatorService, shard: GroupShard, known: Mapping[str, frozenset[str]]
) -> None:
    from mockbroker_protocol.messages.group_membership import LeaveGroupRequest, MemberIdentity

    for group_id, members in _members(shard).items():
        if members <= known.get(group_id, frozenset()):
            continue
        consumers = shard.consumer_groups.get(group_id)
        if consumers is not None:
            service.consumers.expel(shard, consumers)
        else:
            identities = [MemberIdentity(member_id) for member_id in members]
            request = LeaveGroupRequest(group_id=group_id, members=identities)
            service.leave(request, _LEAVE_VERSION, _ignore)


def _reload_transactions(cluster: Cluster, index: int) -> None:
    for broker, log in _leaders(cluster, TRANSACTION_STATE_TOPIC, index):
        broker.services.transactions.service.runtime.load(index, log.read(index))


def _reload_extension(cluster: Cluster, topic: str, index: int) -> None:
    for broker, log in _leaders(cluster, topic, index):
        extension = broker.services.extension
        if extension is not None and topic in extension.coordinators:
            extension.coordinators[topic].service.runtime.load(index, log.read(index))


def _leaders(cluster: Cluster, topic: str, index: int) -> Iterator[tuple[Broker, InternalLog]]:
    """The brokers that take themselves for the partition's leader, with its log."""
    for broker in cluster.brokers:
        partition = broker.services.replicas.partition(topic, index)
        if partition is not None and partition.is_leader:
            yield broker, InternalLog(topic, broker.services.replicas, cluster.clock)


def _ignore(_response: LeaveGroupResponse) -> None:
    """The members are not asked."""
