"""Markers on the coordinator's side: sent, sent again, given up."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.markers import RETRY_BACKOFF_MS
from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker.metadata.topic_requests import TopicReference
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.core import Core
from tests.support.transactions import Transactional, read_committed


def lead(core: Core, topic: str, node: int, epoch: int, index: int = 0) -> None:
    """Let another node lead a partition, or this one again; node 1 is here in either case."""
    state = PartitionState(node, [0, 9], [node], epoch)
    metadata = core.cluster.metadata
    metadata.apply(LeaderChanged(topic, metadata.topics[topic].id, index, state))


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 1, "u": 1}, config={"node.id": "0"})


def test_a_transaction_ends_in_the_step_of_its_answer(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    producer.finish(commit=True)
    assert producer.state == "CompleteCommit"
    assert read_committed(core, "t") == ["a"]
    assert not core.broker.services.transactions.service.markers


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("v1", [False, True])
def test_a_leader_that_is_away_gets_its_marker_later(core: Core, commit: bool, v1: bool) -> None:
    producer = Transactional.begin(core, v1=v1)
    producer.write("t", 0, "a")
    producer.write("u", 0, "b")
    lead(core, "u", 9, 1)
    producer.finish(commit=commit)
    state = "PrepareCommit" if commit else "PrepareAbort"
    described = producer.describe()
    assert described.transaction_state == state
    assert [topic.topic for topic in described.topics] == ["u"]
    assert read_committed(core, "t") == (["a"] if commit else [])
    assert producer.init().error == 51
    assert producer.add({"t": [0]}) == {("t", 0): 51}
    core.advance(5 * RETRY_BACKOFF_MS)
    assert producer.state == state
    lead(core, "u", 0, 2)
    core.advance(RETRY_BACKOFF_MS)
    assert producer.state == state.replace("Prepare", "Complete")
    assert read_committed(core, "u") == (["b"] if commit else [])
    assert core.broker.next_deadline() is not None  # ids expire, nothing else is due


def test_a_topic_that_is_gone_needs_no_marker(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    producer.write("u", 0, "b")
    core.cluster.controller.delete_topics([TopicReference("u")])
    producer.finish(commit=True)
    assert producer.state == "CompleteCommit"


def test_a_repeated_end_is_told_to_wait_while_markers_are_on_their_way(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    assert producer.end(commit=True) == (0, producer.producer_id, 1)
    assert producer.end(commit=True).error == 51
    assert producer.end(commit=False).error == 48
    assert producer.end(commit=True, version=4).error == 90


def test_somebody_newer_makes_it_give_up(core: Core) -> None:
    """An epoch in the partition's log above that of the marker: error 47."""
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    marker = WritableTxnMarker(
        producer.producer_id, 9, False, [WritableTxnMarkerTopic("t", [0])], 0, 0
    )
    core.client().call(WriteTxnMarkersRequest([marker]), 2, WriteTxnMarkersResponse)
    producer.finish(commit=True)
    assert not core.broker.services.transactions.service.markers
    assert producer.state == "PrepareCommit"


def test_the_last_record_is_written_again_when_it_failed(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    producer.finish(commit=True)
    index = core.broker.services.transactions.service.runtime.partition_for("tx")
    state = PartitionState(0, [0, 9], [], 1)
    metadata = core.cluster.metadata
    topic_id = metadata.topics["__transaction_state"].id
    metadata.apply(LeaderChanged("__transaction_state", topic_id, index, state))
    lead(core, "t", 0, 2)
    core.advance(2 * RETRY_BACKOFF_MS)
    assert read_committed(core, "t") == ["a"]
    assert producer.state == "PrepareCommit"
    state = PartitionState(0, [0], [0], 1)
    metadata.apply(LeaderChanged("__transaction_state", topic_id, index, state))
    core.advance(RETRY_BACKOFF_MS)
    assert producer.state == "CompleteCommit"


def test_a_produce_of_the_next_transaction_waits_for_the_markers(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    producer.finish(commit=True)
    request = producer.produce_request("u", 0, producer.batch(["b"], 0))
    producer.client.send(request, 12)
    assert producer.client.answered == 0
    lead(core, "t", 0, 2)
    core.advance(RETRY_BACKOFF_MS)
    answer = producer.client.receive(ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert producer.state == "Ongoing"


def test_a_produce_does_not_wait_for_long(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    lead(core, "t", 9, 1)
    producer.finish(commit=True)
    producer.client.send(producer.produce_request("u", 0, producer.batch(["b"], 0)), 12)
    core.advance(RETRY_BACKOFF_MS)
    answer = producer.client.receive(ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 51
    assert producer.add({"u": [0]}) == {("u", 0): 51}
    assert producer.send("u", 0, "b", version=11) == 19
