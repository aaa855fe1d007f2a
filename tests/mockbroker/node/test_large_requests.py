"""Requests that are worked on in slices answer what they would answer in one piece."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from mockbroker.apis.produce import APPENDED_ENTRY_BYTES
from mockbroker.apis.registry import LARGE_BYTES
from mockbroker.faults import answers
from mockbroker.journal import TIMEOUT, HandlerFailed, RequestRefused
from mockbroker.node import large_requests
from mockbroker.node.large_requests import MAX_ELEMENTS, PART_ELEMENTS
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_admin import DescribeGroupsRequest, DescribeGroupsResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from mockbroker_protocol.plan import decode
from mockbroker_protocol.records import compression, record_codec
from tests.support import heavy
from tests.support.core import Core, CoreClient

if TYPE_CHECKING:
    from collections.abc import Callable

LOOKED_AT = 300
MANY = LOOKED_AT + 2 * PART_ELEMENTS + 3
"""Elements that take several slices, and several parts."""
MAX_WHOLE_ELEMENTS = 6_000
ACKS_AT = 4 + 8 + 2 + len("hostile") + 2
"""Where they are in a Produce request of `heavy`."""
SCANNED_AT_ONCE = 256
SLICE_BYTES = 64 * 1024


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    """A broker whose slices are small."""
    monkeypatch.setattr(large_requests, "LOOKED_AT", LOOKED_AT)
    monkeypatch.setattr(large_requests, "MAX_WHOLE_ELEMENTS", MAX_WHOLE_ELEMENTS)
    monkeypatch.setattr(record_codec, "SCANNED_AT_ONCE", SCANNED_AT_ONCE)
    monkeypatch.setattr(compression, "SLICE_BYTES", SLICE_BYTES)
    monkeypatch.setattr(compression, "_GZIP_SLICE_BYTES", SLICE_BYTES // 4)
    core = Core(topics={heavy.TOPIC: heavy.PARTITIONS})
    for api in core.broker.registry.apis():
        api.large_bytes = 4096  # so that requests of some thousand elements are large
    return core


def test_no_large_fetch_is_parked_beside_many(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [FetchRequestPartition(partition=0, partition_max_bytes=1024) for _ in range(MANY)]
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, topics=[FetchRequestTopic(heavy.TOPIC, partitions=parts)]
    )
    monkeypatch.setattr("mockbroker.node.large_requests.PARKED_BYTES", 1)
    first, second = core.client(), core.client()
    first.send(request, 4)
    second.send(request, 4)
    assert (first.answered, second.answered) == (0, 1)
    core.advance(500)
    assert first.answered == 1
    *_, parked = core.cluster.journal.requests()
    assert parked.cause == TIMEOUT


def test_a_name_asked_for_often_is_answered_once(core: Core) -> None:
    topics = [MetadataRequestTopic(name=heavy.TOPIC) for _ in range(2 * MANY)]
    response = core.client().call(MetadataRequest(topics=topics), 4, MetadataResponse)
    (topic,) = response.topics
    assert len(topic.partitions) == heavy.PARTITIONS


def test_each_name_is_answered(core: Core) -> None:
    names = [f"n{index:06d}" for index in range(MANY)]
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
    )
    response = core.client().call(request, 4, MetadataResponse)
    assert [topic.name for topic in response.topics] == names
    assert {topic.error_code for topic in response.topics} == {3}


def test_a_partition_asked_for_twice_is_an_error_wherever_the_second_stands(core: Core) -> None:
    indexes = [*range(MANY), 0, MANY - 1]
    topic = ListOffsetsTopic(heavy.TOPIC, [ListOffsetsPartition(i, -1, -1) for i in indexes])
    response = core.client().call(ListOffsetsRequest(-1, 0, [topic]), 4, ListOffsetsResponse)
    errors = {
        one.partition_index: one.error_code for topic in response.topics for one in topic.partitions
    }
    assert len(response.topics) == 1
    assert len(errors) == MANY
    assert errors[0] == errors[MANY - 1] == ErrorCode.INVALID_REQUEST
    assert errors[1] == 0
    assert errors[heavy.PARTITIONS] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_configs_are_altered_once_each_and_a_resource_named_twice_is_refused(core: Core) -> None:
    names = [f"{index:05d}-of-{MANY}" for index in range(MANY)]
    configs = [AlterableConfig("retention.ms", "1234")]
    resources = [
        AlterConfigsResource(2, name, configs) for name in [*names, heavy.TOPIC, names[0], "once"]
    ]
    response = core.client().call(AlterConfigsRequest(resources), 1, AlterConfigsResponse)
    errors = [(one.resource_name, one.error_code) for one in response.responses]
    assert errors[:2] == 2 * [(names[0], ErrorCode.INVALID_REQUEST)]
    told = dict(errors[2:])
    assert set(told) == {*names[1:], heavy.TOPIC, "once"}
    assert told.pop(heavy.TOPIC) == 0
    assert set(told.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    topic = core.broker.services.metadata.topics[heavy.TOPIC]
    assert topic.configs == {"retention.ms": "1234"}


def test_what_is_described_is_described_once_in_a_large_request(core: Core) -> None:
    groups = DescribeGroupsRequest(groups=["group", "other"] * MANY)
    described = core.client().call(groups, 0, DescribeGroupsResponse)
    assert [group.group_id for group in described.groups] == ["group", "other"]
    resources = [
        DescribeConfigsResource(2, heavy.TOPIC),
        DescribeConfigsResource(2, heavy.TOPIC, ["retention.ms"]),
    ]
    request = DescribeConfigsRequest(resources * MANY)
    response = core.client().call(request, 1, DescribeConfigsResponse)
    assert [len(result.configs) > 1 for result in response.results] == [True, False]


def test_a_few_groups_are_described_as_often_as_they_are_asked_for(core: Core) -> None:
    request = DescribeGroupsRequest(groups=["a group with quite a name"] * 100)
    response = core.client().call(request, 0, DescribeGroupsResponse)
    assert [group.group_id for group in response.groups] == request.groups


def test_a_key_asked_for_often_is_answered_as_often(core: Core) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["group"] * 3 * MANY)
    response = core.client().call(request, 4, FindCoordinatorResponse)
    assert len(response.coordinators) == 3 * MANY


def test_a_position_asked_for_often_is_answered_as_often(core: Core) -> None:
    topic = OffsetFetchRequestTopic(name=heavy.TOPIC, partition_indexes=[0] * 2 * MANY)
    request = OffsetFetchRequest(group_id="group", topics=[topic])
    response = core.client().call(request, 5, OffsetFetchResponse)
    assert [len(topic.partitions) for topic in response.topics] == [2 * MANY]


def test_resources_are_described_in_their_order(core: Core) -> None:
    names = [heavy.TOPIC, *(f"unknown-{index}" for index in range(2 * PART_ELEMENTS))]
    resources = [
        DescribeConfigsResource(
            resource_type=2, resource_name=name, configuration_keys=["retention.ms"]
        )
        for name in names
    ]
    response = core.client().call(DescribeConfigsRequest(resources), 1, DescribeConfigsResponse)
    assert [result.resource_name for result in response.results] == names
    assert [result.error_code for result in response.results[:2]] == [0, 3]


def test_the_last_offset_of_a_partition_counts(core: Core) -> None:
    parts = [DeleteRecordsPartition(index % 100, -1) for index in range(MANY)]
    parts += [DeleteRecordsPartition(0, 5)]
    request = DeleteRecordsRequest([DeleteRecordsTopic(heavy.TOPIC, parts)], 100)
    response = core.client().call(request, 1, DeleteRecordsResponse)
    (topic,) = response.topics
    errors = {one.partition_index: one.error_code for one in topic.partitions}
    assert len(errors) == 100
    assert errors.pop(0) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert set(errors.values()) == {0}


def test_a_fetch_of_one_partition_many_times_is_one_of_it(core: Core) -> None:
    parts = [FetchRequestPartition(partition=0, partition_max_bytes=1024) for _ in range(3 * MANY)]
    request = FetchRequest(max_wait_ms=0, topics=[FetchRequestTopic(heavy.TOPIC, partitions=parts)])
    response = core.client().call(request, 4, FetchResponse)
    assert [len(topic.partitions) for topic in response.responses] == [1]


def test_a_client_may_read_a_hundred_thousand_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_ELEMENTS > 2 * 100_000
    monkeypatch.setattr(large_requests, "MAX_WHOLE_ELEMENTS", 1000)
    names = [f"wide-{number}" for number in range(8)]
    client = Core(topics=dict.fromkeys(names, 150)).client()
    parts = [FetchRequestPartition(partition=at, partition_max_bytes=1024) for at in range(150)]
    asked = [FetchRequestTopic(name, partitions=parts) for name in names]
    opened = client.call(FetchRequest(session_epoch=0, topics=asked), 12, FetchResponse)
    assert opened.session_id
    answered = [part.error_code for topic in opened.responses for part in topic.partitions]
    assert answered == [0] * 1_200


@pytest.mark.parametrize(
    ("build", "most"),
    [
        (heavy.metadata, "MAX_ELEMENTS"),
        (heavy.offset_fetch, "MAX_ELEMENTS"),
        (heavy.fetch_of_empty_tags, "MAX_ELEMENTS"),
        (heavy.leave_group, "MAX_WHOLE_ELEMENTS"),
        (heavy.fetch_of_unknown_partitions, "MAX_ELEMENTS"),
    ],
)
def test_what_no_cluster_can_mean_is_refused(
    core: Core, build: Callable[[int], bytes], most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_requests, most, 6_000)
    client = core.client()
    client.send_bytes(build(10_000))
    assert client.closed
    (refused,) = (event for event in core.events if isinstance(event, RequestRefused))
    assert "elements" in refused.reason
    assert not any(isinstance(event, HandlerFailed) for event in core.events)


class _EveryTime:
    """A turn that is over whenever it is asked."""

    asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return True


def test_a_neighbour_has_its_turn_between_two_slices(core: Core) -> None:
    turn = _EveryTime()
    core.broker.requests.turn_over = turn
    hostile, neighbour = core.client(), core.client("neighbour")
    hostile.send_bytes(heavy.metadata(MANY * 4))
    with pytest.raises(AssertionError, match="no answer"):
        hostile.receive_bytes()
    _ping(neighbour)
    turns = 0
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, turn)
        core.deliver()
        turns += 1
    assert hostile.answered == 1
    assert turns > MANY * 4 // LOOKED_AT


def _ping(client: CoreClient) -> None:
    before = client.answered
    client.send_bytes(heavy.request(18, 0, b""))
    assert client.answered == before + 1


def test_a_client_that_leaves_ends_what_is_done_for_it(core: Core) -> None:
    turn = _EveryTime()
    core.broker.requests.turn_over = turn
    hostile = core.client()
    hostile.send_bytes(heavy.metadata(MANY * 4))
    hostile.disconnect()
    core.broker.go_on(core.now_ms, turn)
    core.broker.go_on(core.now_ms, turn)
    assert not core.broker.requests.unfinished
    # What was not read to its end is no request: nobody is told of one that is not counted.
    counted = core.broker.metrics()
    assert "mockbroker:type=RequestMetrics,name=Requests,request=Metadata" not in counted
    assert not [*core.cluster.journal.requests()]


def test_requests_behind_a_large_one_are_answered_in_their_order(core: Core) -> None:
    client = core.client()
    client.send_bytes(heavy.find_coordinators(MANY * 3) + heavy.request(18, 0, b""))
    assert client.answered == 2
    assert len(client.receive_bytes()) > LARGE_BYTES


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
    core.broker.requests.turn_over = turn = _EveryTime()
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


TOO_MANY_FOR_A_RULE = MAX_WHOLE_ELEMENTS + 1


def turns_of(core: Core, client: CoreClient, frame: bytes) -> int:
    """In how many turns a frame is worked on; the answer is there then."""
    core.broker.requests.turn_over = turn = _EveryTime()
    client.send_bytes(frame)
    core.deliver()
    turns = 0
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, turn)
        core.deliver()
        turns += 1
    return turns


def test_a_rule_about_other_requests_is_in_nobodys_way(core: Core) -> None:
    frame = heavy.list_offsets_of_unknown_partitions(TOO_MANY_FOR_A_RULE)
    without = turns_of(core, core.client(), frame)
    core.cluster.faults.add({"api": "Heartbeat", "error": "NOT_COORDINATOR"})
    client = core.client()
    assert turns_of(core, client, frame) == without
    assert client.answered == 1


@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_request_that_sets_off_a_rule_is_processed_in_slices_too(core: Core, stage: str) -> None:
    frame = heavy.list_offsets_of_unknown_partitions(MANY)
    without = turns_of(core, core.client(), frame)
    core.cluster.faults.add({"api": "ListOffsets", "delay_ms": 5, "stage": stage})
    client = core.client()
    turns = turns_of(core, client, frame)
    assert client.answered == 0
    core.advance(5)
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, _EveryTime())
        core.deliver()
        turns += 1
    assert client.answered == 1
    assert turns >= without
    (event,) = [one for one in core.cluster.journal.requests() if one.fault is not None]
    assert event.response_bytes > 20 * MANY


def test_one_that_is_too_large_for_the_rule_that_it_sets_off_is_refused(core: Core) -> None:
    core.cluster.faults.add({"api": "ListOffsets", "error": "UNKNOWN_SERVER_ERROR"})
    client = core.client()
    turns_of(core, client, heavy.list_offsets_of_unknown_partitions(TOO_MANY_FOR_A_RULE))
    assert client.answered == 0
    (refused,) = [one for one in core.cluster.journal.events() if isinstance(one, RequestRefused)]
    assert "too large for the fault rule" in refused.reason


@pytest.mark.parametrize("rule", [None, {"api": "Fetch", "throttle_ms": 1}])
def test_a_fetch_of_many_partitions_gives_way(core: Core, rule: dict[str, object] | None) -> None:
    if rule is not None:
        core.cluster.faults.add(rule)
    client = core.client()
    turns = turns_of(core, client, heavy.fetch_of_a_session(4 * MANY))
    assert client.answered == 1
    assert turns >= 16 * MANY // PART_ELEMENTS


def make_compacted(core: Core, partitions: int) -> CoreClient:
    """The topic whose records need a key; a client that may write to it."""
    client = core.client()
    topic = CreatableTopic(
        heavy.COMPACTED, partitions, 1, configs=[CreatableTopicConfig("cleanup.policy", "compact")]
    )
    client.call(CreateTopicsRequest([topic]), 2, CreateTopicsResponse)
    return client


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize(
    ("session", "asked"), [(False, 4 * MANY), (True, 4 * MANY), (True, 0)], ids=str
)
def test_an_error_for_a_fetch_of_many_partitions_is_put_in_in_slices(
    core: Core, monkeypatch: pytest.MonkeyPatch, stage: str, session: bool, asked: int
) -> None:
    """Of one that opens a session, that changes each of its partitions, and that asks for news."""
    monkeypatch.setattr(answers, "TOLD_AT_ONCE", 100)
    client = core.client()
    session_id = epoch = 0
    if session:
        client.send_bytes(heavy.fetch_of_a_session(4 * MANY))
        opened, _ = decode(FetchResponse, 7, client.receive_bytes(), 4)
        session_id, epoch = opened.session_id, 1
        assert session_id
    rule = {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "stage": stage}
    core.cluster.faults.add(rule)
    turns = turns_of(core, client, heavy.fetch_of_a_session(asked, session_id, epoch))
    response, _ = decode(FetchResponse, 7, client.receive_bytes(), 4)
    told = [one.error_code for topic in response.responses for one in topic.partitions]
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 4 * MANY
    assert turns > 4 * MANY // 100


def test_a_mangled_answer_is_encoded_in_slices_too(core: Core) -> None:
    core.cluster.faults.add({"api": "Fetch", "correlation_shift": 1})
    plain, mangled = core.client(), core.client()
    frame = heavy.fetch_of_a_session(4 * MANY)
    turns = turns_of(core, mangled, frame)
    core.cluster.faults.clear()
    assert turns >= turns_of(core, plain, frame)
    one, other = mangled.receive_bytes(), plain.receive_bytes()
    assert len(one) == len(other)
    assert int.from_bytes(one[:4], "big") == int.from_bytes(other[:4], "big") + 1


@pytest.mark.parametrize(("version", "told"), [(7, 0), (8, MANY)])
@pytest.mark.parametrize("partitions", [1, 3])
def test_records_without_keys_of_a_compacted_topic_are_told_in_slices(
    core: Core, version: int, told: int, partitions: int
) -> None:
    client = make_compacted(core, partitions)
    batch = heavy.batch(heavy.tiny_records(MANY), MANY)
    with patch("mockbroker.apis.produce.LARGE_BATCH_BYTES", 16):
        frame = heavy.produce(batch, partitions, heavy.COMPACTED, version)
        turns = turns_of(core, client, frame)
    response, _ = decode(ProduceResponse, version, client.receive_bytes(), 4)
    for answer in response.responses[0].partition_responses:
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [one.batch_index for one in answer.record_errors] == list(range(told))
    assert turns >= partitions * (MANY // SCANNED_AT_ONCE + bool(told))


def test_so_are_those_of_a_batch_that_is_small_but_compressed(core: Core) -> None:
    client = make_compacted(core, 1)
    batch = heavy.batch(heavy.gzip(heavy.tiny_records(MANY)), MANY, 1)
    with patch("mockbroker.apis.produce.LARGE_BATCH_BYTES", len(batch) + 100):
        assert turns_of(core, client, heavy.produce(batch, 1, heavy.COMPACTED, 8)) >= 2
    response, _ = decode(ProduceResponse, 8, client.receive_bytes(), 4)
    assert len(response.responses[0].partition_responses[0].record_errors) == MANY


@pytest.mark.parametrize("acks", [1, -1])
def test_the_batches_of_many_partitions_are_appended_in_slices(core: Core, acks: int) -> None:
    client, neighbour = core.client(), core.client()
    batch = heavy.batch(heavy.tiny_records(2), 2)
    frame = bytearray(heavy.produce(batch, heavy.PARTITIONS))
    struct.pack_into(">h", frame, ACKS_AT, acks)
    core.broker.requests.turn_over = _EveryTime()
    with (
        patch("mockbroker.apis.produce.LARGE_BATCH_BYTES", 16),
        patch("mockbroker.apis.produce.APPENDED_AT_ONCE_BYTES", 10 * APPENDED_ENTRY_BYTES),
    ):
        client.send_bytes(bytes(frame))
        while core.broker.requests.unfinished:
            neighbour.send(MetadataRequest([]), 12)  # is answered between any two of them
            core.broker.go_on(core.now_ms, _EveryTime())
            core.deliver()
    assert neighbour.answered >= heavy.PARTITIONS // 10
    response, _ = decode(ProduceResponse, 7, client.receive_bytes(), 4)
    answers = response.responses[0].partition_responses
    assert [one.index for one in answers] == list(range(heavy.PARTITIONS))
    assert {(one.error_code, one.base_offset) for one in answers} == {(0, 0)}
