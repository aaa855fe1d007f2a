"""A Produce that is worked on in slices: looked through, refused record by record, appended."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from mockbroker.apis import produce
from mockbroker.log.validator import inspect
from mockbroker.node import large_requests
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mockbroker_protocol.plan import decode
from mockbroker_protocol.records import compression, record_codec
from tests.support import heavy
from tests.support.core import Core, CoreClient
from tests.support.turns import EveryTime, turns_of

MANY = 1303
"""Records that take several slices."""
ACKS_AT = 4 + 8 + 2 + len("hostile") + 2
"""Where they are in a Produce request of `heavy`."""
SCANNED_AT_ONCE = 256
SLICE_BYTES = 64 * 1024


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    """A broker whose slices are small."""
    monkeypatch.setattr(record_codec, "SCANNED_AT_ONCE", SCANNED_AT_ONCE)
    monkeypatch.setattr(compression, "SLICE_BYTES", SLICE_BYTES)
    monkeypatch.setattr(compression, "_GZIP_SLICE_BYTES", SLICE_BYTES // 4)
    return Core(topics={heavy.TOPIC: heavy.PARTITIONS})


@pytest.mark.parametrize(("codec", "number"), [("gzip", 1), ("zstd", 4), ("lz4", 3)])
def test_a_bomb_is_refused_at_its_first_record(
    core: Core, codec: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inflated = 0
    decompressed = compression._decompress_into

    def count(*args: object) -> object:
        nonlocal inflated
        output = decompressed(*args)  # type: ignore[arg-type]
        inflated += len(output)
        return output

    monkeypatch.setattr(compression, "_decompress_into", count)
    records = getattr(heavy, codec)(heavy.zeros(4 * SLICE_BYTES))
    client = core.client()
    client.send_bytes(heavy.produce(heavy.batch(records, 1, number), 20))
    answer = client.receive_bytes()
    assert answer.count(ErrorCode.INVALID_RECORD.to_bytes(2, "big")) >= 20
    assert inflated <= 20 * 2 * SLICE_BYTES


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4", "snappy"])
def test_a_large_batch_is_looked_through_in_slices_and_stored(core: Core, codec: str) -> None:
    core.broker.requests.turn_over = turn = EveryTime()
    count = 5 * SCANNED_AT_ONCE
    records = heavy.tiny_records(count)
    number = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}[codec]
    client = core.client()
    batch = heavy.batch(getattr(heavy, codec)(records), count, number)
    client.send_bytes(heavy.produce(batch))
    turns = 0
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, turn)
        core.deliver()
        turns += 1
    assert turns >= count // SCANNED_AT_ONCE
    assert client.answered == 1
    partition = core.broker.services.replicas.partition(heavy.TOPIC, 0)
    assert partition is not None
    assert partition.log is not None
    assert partition.log.log_end_offset == count


def test_more_records_than_a_batch_tells_of_are_refused(core: Core) -> None:
    client = core.client()
    client.send_bytes(heavy.produce(heavy.batch(heavy.zstd(heavy.tiny_records(9000)), 10, 4)))
    assert ErrorCode.INVALID_RECORD.to_bytes(2, "big") in client.receive_bytes()


def make_compacted(core: Core, partitions: int) -> CoreClient:
    """The topic whose records need a key; a client that may write to it."""
    client = core.client()
    topic = CreatableTopic(
        heavy.COMPACTED, partitions, 1, configs=[CreatableTopicConfig("cleanup.policy", "compact")]
    )
    client.call(CreateTopicsRequest([topic]), 2, CreateTopicsResponse)
    return client


@pytest.mark.parametrize(("version", "told"), [(7, 0), (8, MANY)])
@pytest.mark.parametrize("partitions", [1, 3])
def test_records_without_keys_of_a_compacted_topic_are_told_in_slices(
    core: Core, monkeypatch: pytest.MonkeyPatch, version: int, told: int, partitions: int
) -> None:
    client = make_compacted(core, partitions)
    batch = heavy.batch(heavy.tiny_records(MANY), MANY)
    monkeypatch.setattr(produce, "LARGE_BATCH_BYTES", 16)
    frame = heavy.produce(batch, partitions, heavy.COMPACTED, version)
    turns = turns_of(core, client, frame)
    response, _ = decode(ProduceResponse, version, client.receive_bytes(), 4)
    for answer in response.responses[0].partition_responses:
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [one.batch_index for one in answer.record_errors] == list(range(told))
    assert turns >= partitions * (MANY // SCANNED_AT_ONCE + bool(told))


def test_so_are_those_of_a_batch_that_is_small_but_compressed(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_compacted(core, 1)
    batch = heavy.batch(heavy.gzip(heavy.tiny_records(MANY)), MANY, 1)
    monkeypatch.setattr(produce, "LARGE_BATCH_BYTES", len(batch) + 100)
    assert turns_of(core, client, heavy.produce(batch, 1, heavy.COMPACTED, 8)) >= 2
    response, _ = decode(ProduceResponse, 8, client.receive_bytes(), 4)
    assert len(response.responses[0].partition_responses[0].record_errors) == MANY


@pytest.mark.parametrize("acks", [1, -1])
def test_the_batches_of_many_partitions_are_appended_in_slices(
    core: Core, monkeypatch: pytest.MonkeyPatch, acks: int
) -> None:
    client, neighbour = core.client(), core.client()
    batch = heavy.batch(heavy.tiny_records(2), 2)
    frame = bytearray(heavy.produce(batch, heavy.PARTITIONS))
    struct.pack_into(">h", frame, ACKS_AT, acks)
    core.broker.requests.turn_over = EveryTime()
    monkeypatch.setattr(produce, "LARGE_BATCH_BYTES", 16)
    monkeypatch.setattr(produce, "APPENDED_AT_ONCE_BYTES", 10 * produce.APPENDED_ENTRY_BYTES)
    client.send_bytes(bytes(frame))
    while core.broker.requests.unfinished:
        neighbour.send(MetadataRequest([]), 12)  # is answered between any two of them
        core.broker.go_on(core.now_ms, EveryTime())
        core.deliver()
    assert neighbour.answered >= heavy.PARTITIONS // 10
    response, _ = decode(ProduceResponse, 7, client.receive_bytes(), 4)
    answers = response.responses[0].partition_responses
    assert [one.index for one in answers] == list(range(heavy.PARTITIONS))
    assert {(one.error_code, one.base_offset) for one in answers} == {(0, 0)}


@pytest.mark.parametrize(("count", "codec", "looked_at"), [(2, 0, 0), (60, 0, 3), (2, 1, 3)])
def test_only_batches_that_may_take_long_are_looked_through_beforehand(
    core: Core, monkeypatch: pytest.MonkeyPatch, count: int, codec: int, looked_at: int
) -> None:
    inspected = 0

    def counted(*arguments: Any) -> Any:
        nonlocal inspected
        inspected += 1
        return inspect(*arguments)

    monkeypatch.setattr(produce, "inspect", counted)
    monkeypatch.setattr(produce, "LARGE_BATCH_BYTES", 16)
    records = heavy.tiny_records(count)
    batch = heavy.batch(heavy.gzip(records) if codec else records, count, codec)
    client = core.client()
    client.send_bytes(heavy.produce(batch, 3))
    response, _ = decode(ProduceResponse, 7, client.receive_bytes(), 4)
    answers = response.responses[0].partition_responses
    assert [(one.error_code, one.base_offset) for one in answers] == [(0, 0)] * 3
    assert inspected == looked_at


def test_a_large_request_of_few_partitions_is_decoded_by_hand(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_requests, "decode_in_slices", None)
    api = core.broker.registry.get(ApiKey.PRODUCE)
    assert api is not None
    api.large_bytes = 256
    batch = heavy.batch(heavy.tiny_records(60), 60)
    data = [ProduceRequestPartition(index, batch) for index in range(3)]
    topic = ProduceRequestTopic(heavy.TOPIC, partition_data=data)
    request = ProduceRequest(None, -1, 30_000, [topic])
    response = core.client().call(request, 9, ProduceResponse)
    answers = response.responses[0].partition_responses
    assert [(one.index, one.error_code, one.base_offset) for one in answers] == [
        (0, 0, 0),
        (1, 0, 0),
        (2, 0, 0),
    ]
