"""AlterPartitionReassignments: replicas move, and the records with them."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.support.cluster_core import ClusterCore


@pytest.fixture
def core() -> ClusterCore:
    core = ClusterCore(brokers=4, topics={"t": 1})
    producer = core.client(node=core.state("t").leader)
    producer.produce("t", b"a", b"b")
    assert producer.produced().error_code == 0
    return core


def reassign(core: ClusterCore, replicas: list[int] | None, *, may_change: bool = True) -> int:
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change,
        topics=[ReassignableTopic("t", [ReassignablePartition(0, replicas)])],
    )
    node = core.cluster.brokers[-1].broker_id
    answer = core.client(node=node).call(request, 1, AlterPartitionReassignmentsResponse)
    return answer.responses[0].partitions[0].error_code


def test_replicas_move_with_their_records(core: ClusterCore) -> None:
    old = core.state("t").replicas
    new = next(node for node in (1, 2, 3, 4) if node not in old)
    assert reassign(core, [new, old[1]]) == 0
    core.advance(3000)
    state = core.state("t")
    assert (state.replicas, sorted(state.isr)) == ([new, old[1]], sorted([new, old[1]]))
    assert core.log_ends("t") == {new: 2, old[1]: 2}
    assert state.leader == new
    producer = core.client(node=new)
    producer.produce("t", b"c")
    assert producer.produced().base_offset == 2


def test_a_reassignment_is_taken_back(core: ClusterCore) -> None:
    old = core.state("t").replicas
    new = next(node for node in (1, 2, 3, 4) if node not in old)
    core.controls.kill(new)
    assert reassign(core, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert reassign(core, [new, *old[1:]]) == 0
    assert core.state("t").adding == [new]
    assert reassign(core, None) == 0
    assert sorted(core.state("t").replicas) == sorted(old)


def test_targets_that_cannot_be_are_refused(core: ClusterCore) -> None:
    assert reassign(core, [9]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(core, [1], may_change=False) == ErrorCode.INVALID_REPLICATION_FACTOR
