"""ElectLeaders: what needs an election gets one, and the rest is told why not."""

from __future__ import annotations

import pytest

from mockbroker.metadata.topic_requests import TopicReference
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.reassignments import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.support.cluster_core import ClusterCore


@pytest.fixture
def core() -> ClusterCore:
    return ClusterCore(topics={"t": 2})


def elect(
    core: ClusterCore, *indexes: int, unclean: bool = False, everything: bool = False
) -> dict[int, int]:
    wanted = None if everything else [TopicPartitions("t", list(indexes))]
    request = ElectLeadersRequest(election_type=int(unclean), topic_partitions=wanted)
    node = core.cluster.brokers[0].broker_id
    answer = core.client(node=node).call(request, 2, ElectLeadersResponse)
    assert answer.error_code == 0
    return {
        each.partition_id: each.error_code
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


def test_a_leader_that_is_preferred_needs_no_election(core: ClusterCore) -> None:
    assert elect(core, 0, 9) == {
        0: ErrorCode.ELECTION_NOT_NEEDED,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert elect(core, everything=True) == {}


def test_a_topic_that_was_deleted_unheard_is_none_of_all(core: ClusterCore) -> None:
    broker = core.cluster.brokers[0]
    client = core.client(node=broker.broker_id)
    core.cluster.controller.delete_topics([TopicReference("t")])
    assert "t" in broker.services.metadata.topics
    client.send(ElectLeadersRequest(topic_partitions=None), 2)
    answer = client.receive(ElectLeadersResponse)
    assert (answer.error_code, answer.replica_election_results) == (0, [])


def test_the_preferred_replica_gets_the_lead_back(core: ClusterCore) -> None:
    preferred, other = core.state("t").replicas[:2]
    core.controls.move_leader("t", 0, other)
    core.deliver()
    assert elect(core, everything=True) == {0: 0}
    assert core.state("t").leader == preferred


def test_an_unclean_election_by_request(core: ClusterCore) -> None:
    first, second, third = core.state("t").replicas
    for node in (third, second):
        core.controls.shrink_isr("t", 0, node)
        core.controls.hold_follower("t", 0, node)
    core.controls.kill(first)
    core.deliver()
    assert core.state("t").leader == -1
    assert elect(core, 0) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert elect(core, 0, unclean=True) == {0: 0}
    assert core.state("t").leader == second


def test_an_unknown_kind_of_election_is_refused(core: ClusterCore) -> None:
    request = ElectLeadersRequest(election_type=7, topic_partitions=[])
    answer = core.client().call(request, 2, ElectLeadersResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
