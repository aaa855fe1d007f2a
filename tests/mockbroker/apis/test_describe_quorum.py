from __future__ import annotations

import pytest

from mockbroker.cluster.links.link import CONTROLLER as CONTROLLER_END
from mockbroker.state.writing import create_topic
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
)
from tests.support.cluster_core import ClusterCore
from tests.support.core import EPOCH_MS, Core
from tests.support.metadata_logs import CONTROLLER, QuorumCore, raft_fetch


def asked(name: str = "__cluster_metadata", index: int = 0) -> DescribeQuorumRequest:
    partition = DescribeQuorumRequestPartitionData(index)
    return DescribeQuorumRequest([DescribeQuorumRequestTopicData(name, [partition])])


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("listener", ["PLAINTEXT", CONTROLLER.name])
def test_leader_voter_and_observers_are_told(version: int, listener: str) -> None:
    core = QuorumCore()
    core.advance(20)
    end = core.quorum.log.log_end_offset
    fetch = raft_fetch(end, replica_id=7, replica_directory_id=b"d" * 16)
    core.observer().call(fetch, 18, FetchResponse)
    core.advance(5)
    response = core.client(listener=listener).call(asked(), version, DescribeQuorumResponse)
    (data,) = response.topics[0].partitions
    assert (data.error_code, data.leader_id, data.leader_epoch) == (0, 1, 1)
    assert data.high_watermark == end
    ((voter,), (observer,)) = (data.current_voters, data.observers)
    assert (voter.replica_id, voter.log_end_offset) == (1, end)
    assert (observer.replica_id, observer.log_end_offset) == (7, end)
    if version >= 1:
        assert observer.last_fetch_timestamp == EPOCH_MS + 20
        assert observer.last_caught_up_timestamp == EPOCH_MS + 20
        assert voter.last_fetch_timestamp == EPOCH_MS + 25
    if version >= 2:
        assert observer.replica_directory_id == b"d" * 16
        assert voter.replica_directory_id == core.quorum.directory_id
        ((node,),) = (response.nodes,)
        assert [(one.name, one.port) for one in node.listeners] == [("CONTROLLER", 9093)]


def test_between_epochs_the_high_watermark_is_unknown() -> None:
    core = QuorumCore()
    core.act(core.quorum.hold)
    core.act(core.quorum.begin_epoch)
    (data,) = core.client().call(asked(), 2, DescribeQuorumResponse).topics[0].partitions
    assert (data.leader_epoch, data.high_watermark) == (2, -1)


@pytest.mark.parametrize(("name", "index"), [("other", 0), ("__cluster_metadata", 1)])
def test_other_partitions_have_no_quorum(name: str, index: int) -> None:
    response = QuorumCore().client().call(asked(name, index), 1, DescribeQuorumResponse)
    (data,) = response.topics[0].partitions
    assert (response.error_code, data.partition_index, data.error_code) == (0, index, 3)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_without_a_metadata_log_the_changes_are_its_offsets(version: int) -> None:
    core = Core()
    client = core.client()
    (before,) = client.call(asked(), version, DescribeQuorumResponse).topics[0].partitions
    assert (before.error_code, before.leader_id, before.leader_epoch) == (0, 1, 1)
    assert [voter.replica_id for voter in before.current_voters] == [1]
    assert before.observers == []
    create_topic(core.cluster, "another")
    (after,) = client.call(asked(), version, DescribeQuorumResponse).topics[0].partitions
    assert after.high_watermark > before.high_watermark
    assert after.current_voters[0].log_end_offset == after.high_watermark


def test_brokers_that_are_cut_off_are_behind_and_those_that_are_down_are_not_told() -> None:
    core = ClusterCore()
    core.controls.cut_link(CONTROLLER_END, 2)
    core.controls.kill(3)
    create_topic(core.cluster, "another")
    core.deliver()
    response = core.client().call(asked(), 2, DescribeQuorumResponse)
    (data,) = response.topics[0].partitions
    ((voter,), (observer,)) = (data.current_voters, data.observers)
    assert (voter.replica_id, voter.log_end_offset) == (1, data.high_watermark)
    assert observer.replica_id == 2
    assert observer.log_end_offset < data.high_watermark
    assert [node.node_id for node in response.nodes] == [1]
