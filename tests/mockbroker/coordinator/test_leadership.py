"""Coordinators are spread over the brokers, and move with the leaders of their partitions."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from tests.support.cluster_core import ClusterCore, NodeClient

GROUPS = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def core() -> ClusterCore:
    return ClusterCore(topics={"t": 1}, config={"offsets.topic.num.partitions": "6"})


def coordinator(core: ClusterCore, group: str, *, asked: int = 1) -> int:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    answer = core.client(node=asked).call(request, 4, FindCoordinatorResponse)
    assert answer.coordinators[0].error_code == 0
    return answer.coordinators[0].node_id


def commit(client: NodeClient, group: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    client.send(
        OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=[topic]), 8
    )


def committed(client: NodeClient) -> int:
    return client.receive(OffsetCommitResponse).topics[0].partitions[0].error_code


def fetched(core: ClusterCore, node: int, group: str) -> tuple[int, int]:
    request = OffsetFetchRequest(
        group_id=group, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    )
    answer = core.client(node=node).call(request, 7, OffsetFetchResponse)
    offset = answer.topics[0].partitions[0].committed_offset if answer.topics else -1
    return answer.error_code, offset


def test_groups_are_spread_and_every_broker_tells_where(core: ClusterCore) -> None:
    told = [[coordinator(core, group, asked=node) for group in GROUPS] for node in (1, 2, 3)]
    assert told[0] == told[1] == told[2]
    assert set(told[0]) == {1, 2, 3}


def test_another_broker_is_not_the_coordinator(core: ClusterCore) -> None:
    node = coordinator(core, "a")
    other = core.client(node=node % 3 + 1)
    commit(other, "a", 5)
    assert committed(other) == ErrorCode.NOT_COORDINATOR
    right = core.client(node=node)
    commit(right, "a", 5)
    assert committed(right) == 0
    assert fetched(core, node, "a") == (0, 5)


def test_a_commit_is_answered_when_it_is_replicated(core: ClusterCore) -> None:
    node = coordinator(core, "a")
    client = core.client(node=node)
    core.advance(1000)
    followers = [other for other in (1, 2, 3) if other != node]
    for other in followers:
        core.controls.hold_link(other, node)
    commit(client, "a", 5)
    core.advance(100)
    assert not client.answered
    for other in followers:
        core.controls.restore_link(other, node)
    core.deliver()
    assert committed(client) == 0


def test_a_new_coordinator_knows_what_was_committed(core: ClusterCore) -> None:
    for at, group in enumerate(GROUPS):
        client = core.client(node=coordinator(core, group))
        commit(client, group, at)
        assert committed(client) == 0
    core.controls.kill(2)
    core.deliver()
    for at, group in enumerate(GROUPS):
        node = coordinator(core, group)
        assert node != 2
        assert fetched(core, node, group) == (0, at)


def test_who_waits_at_a_coordinator_that_moves_is_sent_away(core: ClusterCore) -> None:
    node = coordinator(core, "a")
    index = core.cluster.brokers[0].services.groups.service.runtime.partition_for("a")
    client = core.client(node=node)
    for other in (1, 2, 3):
        if other != node:
            core.controls.cut_link(node, other)
    commit(client, "a", 5)
    core.controls.move_leader("__consumer_offsets", index, node % 3 + 1)
    core.deliver()
    assert committed(client) == ErrorCode.NOT_COORDINATOR


def test_a_commit_that_is_not_replicated_in_time_is_refused_and_replicated_later(
    core: ClusterCore,
) -> None:
    node = coordinator(core, "a")
    client = core.client(node=node)
    core.advance(1000)
    index = core.cluster.brokers[0].services.groups.service.runtime.partition_for("a")
    core.controls.hold_high_watermark("__consumer_offsets", index)
    commit(client, "a", 5)
    core.advance(4999)
    assert not client.answered
    core.advance(1)
    assert committed(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    core.controls.release_high_watermark("__consumer_offsets", index)
    core.advance(1000)
    assert fetched(core, node, "a") == (0, 5)
