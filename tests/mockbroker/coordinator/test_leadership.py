"""Coordinators are spread over the brokers, and move with the leaders of their partitions."""

from __future__ import annotations

import pytest

from mockbroker.coordinator import leadership
from mockbroker.state.reloading import reload_coordinators
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_admin import ListGroupsRequest, ListGroupsResponse
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
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
    config = {"offsets.topic.num.partitions": "6", "offsets.retention.minutes": "1"}
    return ClusterCore(
        topics={"t": 1}, config={**config, "offsets.retention.check.interval.ms": "1000"}
    )


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


@pytest.fixture
def loading(core: ClusterCore, monkeypatch: pytest.MonkeyPatch) -> int:
    """The node that loads the partition of group "a", three of eleven records a step."""
    monkeypatch.setattr(leadership, "RECORDS_A_STEP", 3)
    node = coordinator(core, "a")
    client = core.client(node=node)
    for offset in range(11):
        commit(client, "a", offset)
        assert committed(client) == 0
    index = core.cluster.brokers[0].services.groups.service.runtime.partition_for("a")
    core.controls.move_leader("__consumer_offsets", index, node % 3 + 1)
    core.deliver()
    assert coordinator(core, "a") == node % 3 + 1
    return node % 3 + 1


def test_a_long_log_is_loaded_in_steps_between_which_clients_are_told(
    core: ClusterCore, loading: int
) -> None:
    client = core.client(node=loading)
    steps = 0
    while fetched(core, loading, "a") == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1):
        commit(client, "a", 99)
        assert committed(client) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        heartbeat = HeartbeatRequest(group_id="a", member_id="m", generation_id=1)
        assert client.call(heartbeat, 4, HeartbeatResponse).error_code == 0
        listed = client.call(ListGroupsRequest(), 4, ListGroupsResponse)
        assert listed.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        core.cluster.tick(core.now_ms)
        steps += 1
    assert steps == 3
    assert fetched(core, loading, "a") == (0, 10)
    assert client.call(ListGroupsRequest(), 4, ListGroupsResponse).error_code == 0


def test_what_is_loaded_as_replicated_knows_the_state_beside_it(
    core: ClusterCore, loading: int
) -> None:
    core.advance(1)
    runtime = core.cluster.brokers[loading - 1].services.groups.service.runtime
    committed = {shard.partition_index: shard.live for shard in runtime.committed_shards()}
    assert committed == {shard.partition_index: shard for shard in runtime.shards()}


def test_a_partition_that_moves_on_while_it_is_loaded_is_loaded_from_the_start_again(
    core: ClusterCore, loading: int
) -> None:
    index = core.cluster.brokers[0].services.groups.service.runtime.partition_for("a")
    before = (loading - 2) % 3 + 1
    core.controls.move_leader("__consumer_offsets", index, before)
    core.deliver()
    assert fetched(core, loading, "a") == (ErrorCode.NOT_COORDINATOR, -1)
    core.advance(1)
    assert fetched(core, before, "a") == (0, 10)
    core.controls.move_leader("__consumer_offsets", index, loading)
    core.deliver()
    core.advance(1)
    assert fetched(core, loading, "a") == (0, 10)


def test_a_load_that_was_given_up_expires_nothing(core: ClusterCore, loading: int) -> None:
    index = core.cluster.brokers[0].services.groups.service.runtime.partition_for("a")
    for node in ((loading - 2) % 3 + 1, loading):
        core.controls.move_leader("__consumer_offsets", index, node)
        core.deliver()
        core.advance(1)
    core.advance(50_000)
    client = core.client(node=loading)
    commit(client, "a", 99)
    assert committed(client) == 0
    core.advance(15_000)
    assert fetched(core, loading, "a") == (0, 99)


def test_a_lead_that_is_lost_and_won_again_in_one_step_is_loaded(
    core: ClusterCore, loading: int
) -> None:
    index = core.cluster.brokers[0].services.groups.service.runtime.partition_for("a")
    before = (loading - 2) % 3 + 1
    core.advance(1)
    core.controls.move_leader("__consumer_offsets", index, before)
    core.deliver()
    core.advance(1)
    for node in (loading, before, loading):
        core.controls.move_leader("__consumer_offsets", index, node)
    core.deliver()
    core.advance(1)
    assert fetched(core, loading, "a") == (0, 10)


def test_a_log_that_is_replaced_while_it_is_loaded_is_not_loaded_twice(
    core: ClusterCore, loading: int
) -> None:
    index = core.cluster.brokers[0].services.groups.service.runtime.partition_for("a")
    reload_coordinators(core.cluster, "__consumer_offsets", [index])
    assert fetched(core, loading, "a") == (0, 10)
    commit(core.client(node=loading), "a", 11)
    core.advance(1)
    assert fetched(core, loading, "a") == (0, 11)


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
