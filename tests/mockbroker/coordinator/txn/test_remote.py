"""Transactions over partitions that other brokers lead, with a coordinator elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.txn.remote import RemoteMarkerWriter
from mockbroker.metadata.changes import PartitionState, TopicCreated
from mockbroker.metadata.store import MetadataStore
from mockbroker.replica.append_entry import TransactionMarker
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
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.txn.marker_writer import MarkerWriter
    from mockbroker.coordinator.txn.remote import Channel


class Producing:
    """A producer of transactions V2 on three brokers."""

    def __init__(self) -> None:
        few = {"transaction.state.log.num.partitions": "6"}
        self.core = ClusterCore(topics={"t": 3}, config=few)
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


class Channels:
    """The connections to other brokers: requests by broker, answered by the test."""

    def __init__(self) -> None:
        self.sent: dict[int, tuple[WriteTxnMarkersRequest, Callable[[object | None], None]]] = {}

    def connect(self, node: int, _client_id: str) -> Channel:
        outer = self

        class One:
            def send(
                self, request: object, version: int, on_response: Callable[[object | None], None]
            ) -> None:
                assert isinstance(request, WriteTxnMarkersRequest)
                assert version == 2
                outer.sent[node] = request, on_response

        return One()


def test_whoever_does_not_answer_or_does_not_lead_is_asked_again() -> None:
    metadata = MetadataStore("c", BrokerConfig({}))
    leaders = [PartitionState(leader, [1, 2], [1, 2]) for leader in (2, -1, 3)]
    metadata.apply(TopicCreated("t", b"1" * 16, leaders, {}))
    channels = Channels()
    local = cast("MarkerWriter", None)
    writer = RemoteMarkerWriter(1, metadata, local, channels.connect)
    told: list[dict[tuple[str, int], ErrorCode]] = []
    marker = TransactionMarker(7, 3, 0, True, 2)
    writer.write(marker, [("t", 0), ("t", 1), ("t", 2), ("u", 0)], told.append)
    elsewhere = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told == [{("t", 1): elsewhere, ("u", 0): elsewhere}]
    request, answered = channels.sent[2]
    assert [(one.producer_id, one.producer_epoch) for one in request.markers] == [(7, 3)]
    answered(None)
    assert told[1:] == [{("t", 0): elsewhere}]
    topic = WritableTxnMarkerTopicResult("t", [WritableTxnMarkerPartitionResult(2, 0)])
    channels.sent[3][1](WriteTxnMarkersResponse([WritableTxnMarkerResult(7, [topic])]))
    assert told[2:] == [{("t", 2): ErrorCode.NONE}]
