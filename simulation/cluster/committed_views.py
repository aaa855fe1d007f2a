"""What coordinators tell of groups: what is replicated, and nothing else (CoordinatorRuntime).

A broker is asked for groups whose latest records are under way, too: what it lists and describes is
what the state as of the high watermark has.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mockbroker.coordinator.group.states import GroupState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from simulation.cluster.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker

LIST, DESCRIBE, DESCRIBE_CONSUMERS, OFFSET_FETCH = 5, 6, 1, 7


def of_groups(broker: Broker, topic: str) -> Iterator[Refusal]:
    """Questions about all groups of a broker, each with the one answer that is right now."""
    groups = broker.services.groups
    if not groups.in_use:
        return
    runtime = groups.service.runtime
    if any(not runtime.is_owned(one.partition_index) for one in runtime.shards()):
        return  # what is being loaded is not told
    told: set[str] = set()
    for live in runtime.shards():
        known = runtime._committed.get(live.partition_index, live)  # noqa: SLF001 -- for the audit
        told |= set(known.consumer_groups)
        told |= {name for name, one in known.groups.items() if one.state is not GroupState.DEAD}
        yield from _of_shard(live, known, topic)
    yield Refusal(
        "who asks for groups", ListGroupsRequest(), LIST, 0, lambda answer: _listed(answer, told)
    )


def _of_shard(live: GroupShard, known: GroupShard, topic: str) -> Iterator[Refusal]:
    for name, group in known.consumer_groups.items():
        yield Refusal(
            "the epoch of a group",
            ConsumerGroupDescribeRequest([name]),
            DESCRIBE_CONSUMERS,
            group.epoch,
            lambda answer: answer.groups[0].group_epoch,
        )
        yield Refusal(
            "the epochs of members",
            ConsumerGroupDescribeRequest([name]),
            DESCRIBE_CONSUMERS,
            sum(member.epoch for member in group.members.values()),
            lambda answer: sum(member.member_epoch for member in answer.groups[0].members),
        )
    for name, classic in known.groups.items():
        now = live.groups.get(name, classic)
        yield Refusal(
            "the members and the state of a classic group",
            DescribeGroupsRequest([name]),
            DESCRIBE,
            0,
            partial(_differs, state=now.state.value, members=set(now.members)),
        )
    replicated = {*known.consumer_groups, *known.groups}
    consumers, classics = ({*groups} - replicated for groups in (live.consumer_groups, live.groups))
    questions: list[tuple[object, int]] = [
        *((ConsumerGroupDescribeRequest([name]), DESCRIBE_CONSUMERS) for name in sorted(consumers)),
        *((DescribeGroupsRequest([name]), DESCRIBE) for name in sorted(classics)),
    ]
    for request, version in questions:
        yield Refusal(
            "a group that is not replicated",
            request,
            version,
            ErrorCode.GROUP_ID_NOT_FOUND,
            lambda answer: answer.groups[0].error_code,
        )
    for name in sorted(replicated):
        position = known.offsets.get(name, topic, 0)
        yield Refusal(
            "an offset",
            OffsetFetchRequest(name, [OffsetFetchRequestTopic(topic, [0])]),
            OFFSET_FETCH,
            -1 if position is None else position.offset,
            lambda answer: answer.topics[0].partitions[0].committed_offset,
        )


def _differs(answer: Any, state: str, members: set[str]) -> int:  # noqa: ANN401 - see below
    """Whether a group is described otherwise: its members come and go without records."""
    told = answer.groups[0]
    return int((told.group_state, {one.member_id for one in told.members}) != (state, members))


def _listed(answer: Any, wanted: set[str]) -> int:  # noqa: ANN401 - of any class with its fields
    """How many are told that are not wanted, or are not told."""
    return len({group.group_id for group in answer.groups} ^ wanted)
