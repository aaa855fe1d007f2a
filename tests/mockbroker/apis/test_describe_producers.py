"""DescribeProducers over the wire."""

from __future__ import annotations

from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker_protocol.messages.transaction_admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
)
from tests.support.core import EPOCH_MS, Core
from tests.support.transactions import Transactional


def describe(core: Core, topic: str, *indexes: int) -> list[PartitionResponse]:
    request = DescribeProducersRequest([TopicRequest(topic, list(indexes))])
    answer = core.client().call(request, 0, DescribeProducersResponse)
    assert [one.name for one in answer.topics] == [topic]
    return answer.topics[0].partitions


def test_a_producer_is_described_as_its_partition_knows_it() -> None:
    core = Core(topics={"t": 2})
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    producer.write("t", 0, "b", "c")
    written, untouched = describe(core, "t", 0, 1)
    (one,) = written.active_producers
    assert (one.producer_id, one.producer_epoch) == (producer.producer_id, 0)
    assert (one.last_sequence, one.last_timestamp, one.coordinator_epoch) == (2, EPOCH_MS, -1)
    assert one.current_txn_start_offset == 0
    assert untouched.active_producers == []
    producer.finish(commit=True)
    (one,) = describe(core, "t", 0)[0].active_producers
    assert (one.producer_epoch, one.last_sequence, one.coordinator_epoch) == (1, -1, 0)
    assert one.current_txn_start_offset == -1


def test_what_cannot_be_described() -> None:
    core = Core(topics={"t": 1})
    assert [(one.error_code, one.error_message) for one in describe(core, "t", 9)] == [(3, None)]
    (unknown,) = describe(core, "nope", 0)
    assert (unknown.error_code, bool(unknown.error_message)) == (3, True)
    (invalid,) = describe(core, "b ad", 0)
    assert (invalid.error_code, bool(invalid.error_message)) == (17, True)


def test_a_partition_that_is_led_elsewhere() -> None:
    core = Core(topics={"t": 1})
    metadata = core.cluster.metadata
    state = PartitionState(9, [9], [9], 1)
    metadata.apply(LeaderChanged("t", metadata.topics["t"].id, 0, state))
    assert describe(core, "t", 0)[0].error_code == 6
