"""UnregisterBroker: who is forgotten, what becomes of its partitions, and how it comes back."""

from __future__ import annotations

import pytest

from mockbroker.cluster.links.link import CONTROLLER as CONTROLLER_END
from mockbroker.state.writing import create_topic
from mockbroker_protocol.messages.controller_apis import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.metadata_records import (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from mockbroker_protocol.messages.quorum import UnregisterBrokerRequest, UnregisterBrokerResponse
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.support import outside_brokers
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core, CoreClient
from tests.support.metadata_logs import CONTROLLER, QuorumCore, records_in


def unregister(client: CoreClient, node_id: int) -> UnregisterBrokerResponse:
    return client.call(UnregisterBrokerRequest(node_id), 0, UnregisterBrokerResponse)


def nodes(client: CoreClient) -> list[int]:
    answer = client.call(MetadataRequest([]), 12, MetadataResponse)
    return [each.node_id for each in answer.brokers]


@pytest.mark.parametrize("node_id", [99, -1, 2**31 - 1])
def test_a_stranger_cannot_be_forgotten(node_id: int) -> None:
    core = Core()
    before = core.cluster.metadata.version
    answer = unregister(core.client(), node_id)
    assert answer.error_code == 102
    assert answer.error_message == f"Broker ID {node_id} is not currently registered"
    assert core.cluster.metadata.version == before


def test_a_broker_alone_that_is_forgotten_has_no_brokers_left() -> None:
    """As Apache Kafka 4.4.0 does: it goes on answering, but nothing can be created."""
    core = Core(topics={"there": 1})
    client = core.client()
    answer = unregister(client, 1)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert nodes(client) == []
    assert core.cluster.metadata.topics["there"].partitions[0].leader == -1
    wanted = CreateTopicsRequest([CreatableTopic("new", 1, 1)], 1000)
    (topic,) = client.call(wanted, 7, CreateTopicsResponse).topics
    assert topic.error_code == 38
    assert "All brokers are currently fenced" in (topic.error_message or "")
    assert unregister(client, 1).error_code == 102


def test_a_broker_that_is_gone_is_forgotten_until_it_starts_again() -> None:
    core = ClusterCore()
    create_topic(core.cluster, "t", partitions=3, replication_factor=3)
    core.deliver()
    core.controls.kill(2)
    core.deliver()
    client = core.client()
    assert unregister(client, 2).error_code == 0
    core.deliver()
    assert 2 not in core.cluster.metadata.brokers
    for index in range(3):
        state = core.state("t", index)
        assert state.leader in {1, 3}
        assert sorted(state.replicas) == [1, 2, 3]
        assert sorted(state.isr) == [1, 3]
    assert unregister(client, 2).error_code == 102
    core.controls.revive(2)
    core.advance(5_000)
    assert nodes(client) == [1, 2, 3]
    assert sorted(core.state("t").isr) == [1, 2, 3]


def test_a_broker_that_lives_is_forgotten_too_whatever_it_says() -> None:
    core = ClusterCore()
    create_topic(core.cluster, "t", partitions=3, replication_factor=3)
    core.deliver()
    client = core.client()
    assert unregister(client, 3).error_code == 0
    core.advance(30_000)
    assert nodes(client) == [1, 2]
    assert all(3 not in core.state("t", index).isr for index in range(3))
    core.controls.kill(3)
    core.controls.revive(3)
    core.advance(5_000)
    assert nodes(client) == [1, 2, 3]
    assert all(3 in core.state("t", index).isr for index in range(3))


def test_a_broker_that_is_cut_off_cannot_have_another_forgotten() -> None:
    core = ClusterCore()
    client = core.client()
    core.controls.cut_link(1, CONTROLLER_END)
    assert unregister(client, 3).error_code == 7
    assert 3 in core.cluster.metadata.brokers


@pytest.mark.parametrize("listener", ["PLAINTEXT", CONTROLLER.name])
def test_a_broker_outside_is_forgotten_and_the_metadata_log_says_so(listener: str) -> None:
    core = QuorumCore()
    outside = core.observer()
    epoch = outside_brokers.start(core, outside)
    node_id = outside_brokers.NODE_ID
    client = core.client(listener=listener)
    assert unregister(client, node_id).error_code == 0
    written = records_in(core.quorum.log)
    assert UnregisterBrokerRecord(node_id, epoch) in written
    beat = BrokerHeartbeatRequest(node_id, epoch, core.quorum.log.log_end_offset)
    assert outside.call(beat, 1, BrokerHeartbeatResponse).error_code == 102
    core.advance(60_000)  # no session is left to time out
    assert unregister(client, node_id).error_code == 102
    again = outside.call(outside_brokers.registration(core), 4, BrokerRegistrationResponse)
    assert again.error_code == 0
    assert again.broker_epoch > epoch
    assert isinstance(records_in(core.quorum.log)[-1], RegisterBrokerRecord)
