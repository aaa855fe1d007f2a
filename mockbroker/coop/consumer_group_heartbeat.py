"""ConsumerGroupHeartbeat of a broker with the extension: members that share partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import consumer_group_heartbeat
from mockbroker.coop import krange, tags
from mockbroker.coop.numbers import Tag
from mockbroker.coop.user_data import KEY_RANGES
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.messages.consumer_group import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest

guard = consumer_group_heartbeat.guard


def handle(
    services: Services, ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> object:
    """As without the extension, unless the member says what it can do."""
    fields = request.unknown_tags  # type: ignore[attr-defined]  # a slot of every message
    caps = None if fields is None else fields.get(Tag.HEARTBEAT_CAPS)
    if caps is None:
        return consumer_group_heartbeat.handle(services, ctx, request)
    return _sharing(services, ctx, request, caps)


def _sharing(
    services: Services, ctx: RequestContext, request: ConsumerGroupHeartbeatRequest, caps: bytes
) -> object:
    """Of a member that says what it can do."""
    try:
        shares = bool(tags.read_flags(caps) & KEY_RANGES)
    except ProtocolError:
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)

    def amend(response: ConsumerGroupHeartbeatResponse) -> None:
        shard = services.groups.service.runtime.shard_for(request.group_id)
        group = None if shard is None else shard.consumer_groups.get(request.group_id)
        if group is not None and not response.error_code and krange.is_sharing(group):
            _tell_ranges(group, request.member_epoch, response)

    extra = krange.NAME if shares else None
    return consumer_group_heartbeat.handle(services, ctx, request, amend, extra)


def _tell_ranges(
    group: ConsumerGroup, epoch_before: int, response: ConsumerGroupHeartbeatResponse
) -> None:
    """Put the ranges beside the partitions.

    A new epoch may change them though the partitions are the same: then these are told too.
    """
    member = group.members.get(response.member_id or "")
    if member is None or member.epoch != response.member_epoch:
        return
    if response.assignment is None:
        if response.member_epoch == epoch_before:
            return
        response.assignment = Assignment(
            [HeartbeatTopicPartitions(one, sorted(of)) for one, of in member.assigned.items()]
        )
    for topic in response.assignment.topic_partitions:
        ranges = {
            index: krange.ranges_of(group, member.member_id, topic.topic_id, index)
            for index in topic.partitions
        }
        told = {index: parts for index, parts in ranges.items() if parts}
        if told:
            tags.tag(topic, {Tag.HEARTBEAT_RANGES: tags.write_partition_ranges(told)})
