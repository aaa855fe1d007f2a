"""ListPartitionReassignments: what is on its way, and nothing else."""

from __future__ import annotations

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from tests.support.cluster_core import ClusterCore


def listed(core: ClusterCore, *indexes: int, node: int = 1) -> ListPartitionReassignmentsResponse:
    topics = [ListPartitionReassignmentsTopics("t", list(indexes))] if indexes else None
    request = ListPartitionReassignmentsRequest(topics=topics)
    return core.client(node=node).call(request, 0, ListPartitionReassignmentsResponse)


def test_a_reassignment_is_told_until_it_is_done() -> None:
    core = ClusterCore(brokers=4, topics={"t": 2})
    assert listed(core).topics == []
    old = core.state("t").replicas
    new = next(node for node in (1, 2, 3, 4) if node not in old)
    leader = core.state("t").leader
    core.controls.cut_link(new, leader)
    asked = core.cluster.controller.reassign("t", 0, [new, *old[1:]], may_change_factor=True)
    assert asked.error is ErrorCode.NONE
    core.deliver()
    (topic,) = listed(core).topics
    (moving,) = topic.partitions
    assert (topic.name, moving.partition_index) == ("t", 0)
    assert (moving.adding_replicas, moving.removing_replicas) == ([new], [old[0]])
    assert listed(core, 1).topics == []
    core.controls.restore_link(new, leader)
    core.advance(3000)
    assert listed(core).topics == []


def test_a_broker_that_is_cut_off_cannot_tell() -> None:
    core = ClusterCore(topics={"t": 1})
    core.controls.cut_link(2, -1)
    assert listed(core, node=2).error_code == ErrorCode.REQUEST_TIMED_OUT
