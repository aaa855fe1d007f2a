"""Transactions over partitions that other brokers lead, with a coordinator elsewhere."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.messages.transactions import (
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.cluster_core import ClusterCore, NodeClient
from tests.support.core import EPOCH_MS


class Producing:
    """A producer of transactions V2 on three brokers."""

    def __init__(self) -> None:
        self.core = ClusterCore(topics={"t": 3})
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"])
        found = self.core.client().call(request, 4, FindCoordinatorResponse)
        self.coordinator = found.coordinators[0].node_id
        asked = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000)
        at = self.core.client(node=self.coordinator)
        answer = at.call(asked, 4, InitProducerIdResponse)
        assert answer.error_code == 0
        self.producer = answer.producer_id, answer.producer_epoch

    def produce(self, index: int) -> NodeClient:
        producer_id, epoch = self.producer
        batch = build_batch(
            [Record(0, EPOCH_MS, None, b"v")],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            transactional=True,
        )
        client = self.core.client(node=self.core.state("t", index).leader)
        partition = ProduceRequestPartition(index=index, records=batch)
        topic = ProduceRequestTopic(name="t", partition_data=[partition])
        request = ProduceRequest(
            transactional_id="tx", acks=-1, timeout_ms=1000, topic_data=[topic]
        )
        client.send(request, 12)
        return client

    def end(self) -> int:
        producer_id, epoch = self.producer
        request = EndTxnRequest("tx", producer_id, epoch, committed=True)
        client = self.core.client(node=self.coordinator)
        return client.call(request, 5, EndTxnResponse).error_code

    def stable(self) -> list[bool]:
        """Whether each partition has its transaction ended, on its leader."""
        done = []
        for index in range(3):
            log = self.core.partition(self.core.state("t", index).leader, "t", index).log
            assert log is not None
            done.append(log.last_stable_offset == log.log_end_offset == 2)
        return done


@pytest.fixture
def producing() -> Producing:
    return Producing()


def test_partitions_join_wherever_they_are_led_and_get_their_markers(producing: Producing) -> None:
    for index in range(3):
        assert producing.produce(index).produced().error_code == 0
    assert producing.end() == 0
    assert producing.stable() == [True, True, True]


def test_a_coordinator_that_cannot_be_reached_is_asked_again(producing: Producing) -> None:
    core = producing.core
    (index,) = [
        at for at in range(3) if core.state("t", at).leader == producing.coordinator % 3 + 1
    ]
    leader = core.state("t", index).leader
    core.controls.kill(producing.coordinator, fence=False)
    client = producing.produce(index)
    core.advance(100)
    assert client.produced().error_code in (
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    )
    assert core.values(leader, "t", index) == []


def test_markers_are_sent_again_until_a_leader_is_there(producing: Producing) -> None:
    for index in range(3):
        assert producing.produce(index).produced().error_code == 0
    others = [node for node in (1, 2, 3) if node != producing.coordinator]
    for node in others:
        producing.core.controls.hold_link(producing.coordinator, node)
    client = producing.core.client(node=producing.coordinator)
    producer_id, epoch = producing.producer
    client.send(EndTxnRequest("tx", producer_id, epoch, committed=True), 5)
    assert producing.stable() != [True, True, True]
    for node in others:
        producing.core.controls.restore_link(producing.coordinator, node)
    producing.core.advance(1000)
    assert client.receive(EndTxnResponse).error_code == 0
    assert producing.stable() == [True, True, True]


def test_a_new_coordinator_ends_what_was_decided(producing: Producing) -> None:
    core = producing.core
    for index in range(3):
        assert producing.produce(index).produced().error_code == 0
    core.controls.kill(producing.coordinator)
    core.advance(3000)
    found = core.client(node=core.cluster.brokers[0].broker_id).call(
        FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"]), 4, FindCoordinatorResponse
    )
    producing.coordinator = found.coordinators[0].node_id
    assert producing.end() == 0
    core.advance(3000)
    assert producing.stable() == [True, True, True]
