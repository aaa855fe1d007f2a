"""Transactional batches: verified or added, refused, and what read_committed sees of them."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from tests.support.core import Core
from tests.support.transactions import (
    Transactional,
    fetch_request,
    read_committed,
    values_in,
)


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 2, "u": 1})


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        (3, 48, None),
        (9, 48, "Partition was not added to the transaction"),
        (10, 48, "Partition was not added to the transaction"),
        (11, 120, None),
        (12, 0, None),
    ],
)
def test_below_version_12_the_partition_must_have_been_added(
    core: Core, version: int, error: int, message: str | None
) -> None:
    producer = Transactional.begin(core)
    request = producer.produce_request("t", 0, producer.batch(["a"], 0))
    answer = producer.client.call(request, version, ProduceResponse)
    (result,) = answer.responses[0].partition_responses
    assert (result.error_code, result.error_message) == (error, message)
    assert producer.state == ("Empty" if error else "Ongoing")


def test_from_version_12_on_the_batch_adds_its_partition(core: Core) -> None:
    producer = Transactional.begin(core)
    assert producer.send("t", 1, "a") == 0
    assert producer.send("u", 0, "b") == 0
    assert producer.send("t", 1, "c") == 0
    assert [(one.topic, one.partitions) for one in producer.describe().topics] == [
        ("t", [1]),
        ("u", [0]),
    ]


@pytest.mark.parametrize(("version", "error"), [(11, 49), (12, 49)])
def test_an_unknown_transactional_id(core: Core, version: int, error: int) -> None:
    producer = Transactional.begin(core)
    producer.transactional_id = "other"
    assert producer.send("t", 0, "a", version=version) == error


@pytest.mark.parametrize("version", [11, 12])
def test_without_a_coordinator_the_producer_may_try_again(core: Core, version: int) -> None:
    producer = Transactional(core)
    producer.producer_id, producer.epoch = 7, 0
    request = producer.produce_request("t", 0, producer.batch(["a"], 0))
    answer = producer.client.call(request, version, ProduceResponse)
    (result,) = answer.responses[0].partition_responses
    assert result.error_code == 19
    assert "Unable to verify" in (result.error_message or "")


def test_verification_can_be_switched_off_for_producers_of_v1() -> None:
    core = Core(topics={"t": 1}, config={"transaction.partition.verification.enable": "false"})
    producer = Transactional.begin(core)
    assert producer.send("t", 0, "a", version=11) == 0
    assert producer.state == "Empty"


def test_a_new_producer_of_v2_begins_at_sequence_0(core: Core) -> None:
    producer = Transactional.begin(core)
    assert producer.send("t", 0, "a", sequence=5) == 45
    assert producer.send("t", 0, "a") == 0
    old = Transactional.begin(core, "old", v1=True)
    assert old.add({"t": [0]}) == {("t", 0): 0}
    assert old.send("t", 0, "a", sequence=5) == 0


def test_stale_epochs_and_plain_batches_amid_a_transaction(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    plain = producer.batch(["b"], 1, transactional=False)
    request = producer.produce_request("t", 0, plain)
    answer = producer.client.call(request, 12, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 48
    producer.epoch -= 1
    assert producer.send("t", 0, "b", version=12) == 47
    assert producer.send("t", 1, "b", version=12, sequence=0) == 47
    assert producer.send("t", 1, "b", version=9, sequence=0) == 47


def test_two_producers_in_one_request_fail_it(core: Core) -> None:
    one, two = Transactional.begin(core, "one"), Transactional.begin(core, "two")
    partitions = [
        ProduceRequestPartition(0, one.batch(["a"], 0)),
        ProduceRequestPartition(1, two.batch(["b"], 0)),
        ProduceRequestPartition(9, one.batch(["c"], 0)),
    ]
    request = ProduceRequest("one", -1, 1_000, [ProduceRequestTopic("t", bytes(16), partitions)])
    answer = one.client.call(request, 12, ProduceResponse)
    assert [one.error_code for one in answer.responses[0].partition_responses] == [49, 49, 49]


def test_partitions_stand_for_themselves(core: Core) -> None:
    producer = Transactional.begin(core)
    partitions = [
        ProduceRequestPartition(0, producer.batch(["a"], 0)),
        ProduceRequestPartition(9, producer.batch(["a"], 0)),
        ProduceRequestPartition(1, b""),
    ]
    request = ProduceRequest("tx", -1, 1_000, [ProduceRequestTopic("t", bytes(16), partitions)])
    answer = producer.client.call(request, 12, ProduceResponse)
    assert [one.error_code for one in answer.responses[0].partition_responses] == [0, 3, 87]
    assert [one.partitions for one in producer.describe().topics] == [[0]]


def test_without_an_answer_an_unverified_batch_closes_the_connection(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.client.send(producer.produce_request("t", 0, producer.batch(["a"], 0), acks=0), 12)
    assert not producer.client.closed
    request = producer.produce_request("t", 1, producer.batch(["b"], 0), acks=0)
    request.transactional_id = "other"
    producer.client.send(request, 12)
    assert producer.client.closed


@pytest.mark.parametrize("v1", [False, True])
def test_read_committed_stops_at_what_is_open_and_leaves_out_what_was_aborted(
    core: Core, v1: bool
) -> None:
    one, two = Transactional.begin(core, "one", v1=v1), Transactional.begin(core, "two", v1=v1)
    one.write("t", 0, "a1")
    two.write("t", 0, "b1")
    one.write("t", 0, "a2")
    assert read_committed(core, "t") == []
    one.finish(commit=True)
    assert read_committed(core, "t") == ["a1"]
    two.finish(commit=False)
    assert read_committed(core, "t") == ["a1", "a2"]
    two.write("t", 0, "b2")
    two.finish(commit=True)
    assert read_committed(core, "t") == ["a1", "a2", "b2"]
    everything = core.client().call(fetch_request("t", 0, isolation=0), 12, FetchResponse)
    (partition,) = everything.responses[0].partitions
    assert partition.aborted_transactions is None
    assert (partition.high_watermark, partition.last_stable_offset) == (7, 7)


@pytest.mark.parametrize("commit", [False, True])
def test_a_parked_read_committed_fetch_is_woken_by_the_marker(core: Core, commit: bool) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    reader = core.client()
    reader.send(fetch_request("t", 0, wait_ms=5_000), 12)
    assert reader.answered == 0
    producer.write("t", 0, "b")
    assert reader.answered == 0
    producer.finish(commit=commit)
    assert reader.answered == 1
    response = reader.receive(FetchResponse)
    assert values_in(response) == (["a", "b"] if commit else [])
    aborted = response.responses[0].partitions[0].aborted_transactions
    assert [one.first_offset for one in aborted or ()] == ([] if commit else [0])


def test_a_time_out_wakes_it_too(core: Core) -> None:
    producer = Transactional(core)
    producer.find()
    producer.become(producer.init(timeout_ms=100))
    producer.write("t", 0, "a")
    reader = core.client()
    reader.send(fetch_request("t", 0, wait_ms=60_000), 12)
    core.advance(9_999)
    assert reader.answered == 0
    core.advance(1)
    assert values_in(reader.receive(FetchResponse)) == []
