"""Requests that are worked on in slices answer what they would answer in one piece."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from mockbroker.apis.registry import SERVED
from mockbroker.coordinator.group.service import GroupCoordinatorService
from mockbroker.faults import answers
from mockbroker.fetch.long_contexts import SLICE
from mockbroker.journal import TIMEOUT, HandlerFailed, RequestRefused
from mockbroker.node import large_requests
from mockbroker.node.large_requests import MAX_ELEMENTS, Split
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
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
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
from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from mockbroker_protocol.plan import decode
from mockbroker_protocol.plan_decode import SLICE_ELEMENTS
from tests.support import heavy
from tests.support.core import Core, CoreClient
from tests.support.turns import EveryTime, frame_of, turns_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.faults.armed_fault import ArmedFault

LOOKED_AT = 30
PART_ELEMENTS = 40
MANY = LOOKED_AT + 2 * PART_ELEMENTS + 3
"""Elements that take several slices, and several parts."""
MAX_WHOLE_ELEMENTS = 500
LARGE_BYTES = 256
"""So that requests of some hundred elements are large."""


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    """A broker whose slices are small."""
    monkeypatch.setattr(large_requests, "LOOKED_AT", LOOKED_AT)
    monkeypatch.setattr(large_requests, "MAX_WHOLE_ELEMENTS", MAX_WHOLE_ELEMENTS)
    monkeypatch.setattr(large_requests, "PART_ELEMENTS", PART_ELEMENTS)
    splits = {key: _small(split) for key, split in large_requests.SPLITS.items()}
    monkeypatch.setattr(large_requests, "SPLITS", splits)
    offsets = tuple(_small(split) for split in large_requests._OFFSET_FETCH)
    monkeypatch.setattr(large_requests, "_OFFSET_FETCH", offsets)
    core = Core(topics={heavy.TOPIC: heavy.PARTITIONS})
    _serve_as_large(core)
    return core


def _serve_as_large(core: Core) -> None:
    for key in SERVED:
        api = core.broker.registry.get(key)
        assert api is not None
        api.large_bytes = LARGE_BYTES


def _small(split: Split) -> Split:
    return split._replace(size=min(split.size, PART_ELEMENTS))


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
    request = DescribeGroupsRequest(groups=["a group with quite a name"] * 8)
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
    monkeypatch.setattr(large_requests, "MAX_WHOLE_ELEMENTS", 100)
    names = [f"wide-{number}" for number in range(8)]
    core = Core(topics=dict.fromkeys(names, 15))
    _serve_as_large(core)
    client = core.client()
    parts = [FetchRequestPartition(partition=at, partition_max_bytes=1024) for at in range(15)]
    asked = [FetchRequestTopic(name, partitions=parts) for name in names]
    opened = client.call(FetchRequest(session_epoch=0, topics=asked), 12, FetchResponse)
    assert opened.session_id
    answered = [part.error_code for topic in opened.responses for part in topic.partitions]
    assert answered == [0] * 120


@pytest.mark.parametrize(
    ("build", "most"),
    [
        (heavy.metadata, "MAX_ELEMENTS"),
        (heavy.offset_fetch, "MAX_ELEMENTS"),
        (heavy.fetch_of_empty_tags, "MAX_ELEMENTS"),
        (heavy.leave_group, "MAX_ELEMENTS"),
        (heavy.fetch_of_unknown_partitions, "MAX_ELEMENTS"),
    ],
)
def test_what_no_cluster_can_mean_is_refused(
    core: Core, build: Callable[[int], bytes], most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_requests, most, 600)
    client = core.client()
    client.send_bytes(build(1_000))
    assert client.closed
    (refused,) = (event for event in core.events if isinstance(event, RequestRefused))
    assert "elements" in refused.reason
    assert not any(isinstance(event, HandlerFailed) for event in core.events)


def test_a_neighbour_has_its_turn_between_two_slices(core: Core) -> None:
    turn = EveryTime()
    core.broker.requests.turn_over = turn
    hostile, neighbour = core.client(), core.client("neighbour")
    hostile.send_bytes(heavy.metadata(2 * SLICE_ELEMENTS))
    with pytest.raises(AssertionError, match="no answer"):
        hostile.receive_bytes()
    _ping(neighbour)
    turns = 0
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, turn)
        core.deliver()
        turns += 1
    assert hostile.answered == 1
    assert turns > 2 * SLICE_ELEMENTS // LOOKED_AT


def _ping(client: CoreClient) -> None:
    before = client.answered
    client.send_bytes(heavy.request(18, 0, b""))
    assert client.answered == before + 1


def test_a_client_that_leaves_ends_what_is_done_for_it(core: Core) -> None:
    turn = EveryTime()
    core.broker.requests.turn_over = turn
    hostile = core.client()
    hostile.send_bytes(heavy.metadata(2 * SLICE_ELEMENTS))
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


TOO_MANY_FOR_A_RULE = MAX_WHOLE_ELEMENTS + 1


def test_a_rule_about_other_requests_is_in_nobodys_way(core: Core) -> None:
    frame = heavy.list_offsets_of_unknown_partitions(TOO_MANY_FOR_A_RULE)
    without = turns_of(core, core.client(), frame)
    core.cluster.faults.add({"api": "Heartbeat", "error": "NOT_COORDINATOR"})
    client = core.client()
    assert turns_of(core, client, frame) == without
    assert client.answered == 1


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ({"topic": "u0000*5"}, True),
        ({"topic": "nobody", "partition": 2}, False),
        ({"when": "'u0000300' in topics"}, True),
        ({"group": "nobody"}, False),
        ({"api": "Metadata", "topic": "u*", "when": "'u0000999' in topics"}, False),
    ],
    ids=str,
)
def test_a_rule_is_held_against_many_names_in_slices(
    core: Core, rule: dict[str, object], *, matches: bool
) -> None:
    names = TOO_MANY_FOR_A_RULE
    frame, client = heavy.metadata_unknown_names(names), core.client()
    without = turns_of(core, client, frame)
    assert client.receive_bytes()
    armed = _arm(core, **rule, throttle_ms=1)
    turns = turns_of(core, client, frame)
    assert armed.matched == matches
    assert bool(client.answered) is not matches  # it is too large to have a rule work on it
    if not matches:
        assert turns >= without + names // LOOKED_AT
    core.cluster.faults.clear()
    in_one_piece = _arm(core, **rule, throttle_ms=1)
    turns_of(core, core.client(), heavy.metadata_unknown_names(MAX_WHOLE_ELEMENTS))
    assert in_one_piece.matched == matches


def test_a_large_fetch_is_held_against_rules_with_its_session(core: Core) -> None:
    """Of one that changes a session it is asked what it names, and what the session has."""
    client = core.client()
    client.send_bytes(heavy.fetch_of_a_session(TOO_MANY_FOR_A_RULE))
    opened, _ = decode(FetchResponse, 7, client.receive_bytes(), 4)
    rules = [
        _arm(core, topic=heavy.TOPIC, throttle_ms=1),
        _arm(core, partition=TOO_MANY_FOR_A_RULE - 1, throttle_ms=1),
        _arm(core, when=f"{heavy.TOPIC!r} in topics", throttle_ms=1),
        _arm(core, topic="nobody", throttle_ms=1),
        _arm(core, partition=TOO_MANY_FOR_A_RULE, throttle_ms=1),
    ]
    turns_of(core, client, heavy.fetch_of_a_session(TOO_MANY_FOR_A_RULE, opened.session_id, 1))
    assert [rule.hits for rule in rules] == [1, 1, 1, 0, 0]


def _arm(core: Core, **fields: object) -> ArmedFault:
    (fault_id,) = core.cluster.faults.add(fields)
    return next(armed for armed in core.cluster.faults.list() if armed.id == fault_id)


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
        core.broker.go_on(core.now_ms, EveryTime())
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
    turns = turns_of(core, client, heavy.fetch_of_a_session(3 * SLICE))
    assert client.answered == 1
    assert turns >= 4 * 3


def test_members_leave_in_parts(core: Core) -> None:
    client = core.client()
    find = FindCoordinatorRequest("g")
    client.call(find, 0, FindCoordinatorResponse)
    static = JoinGroupRequest(
        "g", 30_000, 60_000, "", "static", "consumer", [JoinGroupRequestProtocol("range", b"")]
    )
    joined = client.call(static, 5, JoinGroupResponse)
    members = [MemberIdentity(f"m{index}") for index in range(MANY)]
    members += [MemberIdentity("", "static"), MemberIdentity("", "static")]
    turns = turns_of(core, client, frame_of(LeaveGroupRequest("g", members=members), 4))
    answer, _ = decode(LeaveGroupResponse, 4, client.receive_bytes(), 5)
    assert joined.error_code == answer.error_code == 0
    assert [(one.member_id, one.group_instance_id) for one in answer.members] == [
        (one.member_id, one.group_instance_id) for one in members
    ]
    errors = [one.error_code for one in answer.members]
    assert errors == [ErrorCode.UNKNOWN_MEMBER_ID] * MANY + [0, ErrorCode.UNKNOWN_MEMBER_ID]
    assert turns >= MANY // PART_ELEMENTS


def test_transactions_are_verified_in_parts(core: Core) -> None:
    client = core.client()
    topics = [AddPartitionsToTxnTopic(heavy.TOPIC, [0])]
    asked = [
        AddPartitionsToTxnTransaction(f"id-{index}", 1, 0, verify_only=True, topics=topics)
        for index in range(MANY)
    ]
    request = AddPartitionsToTxnRequest(transactions=asked)
    turns = turns_of(core, client, frame_of(request, 5))
    answer, _ = decode(AddPartitionsToTxnResponse, 5, client.receive_bytes(), 5)
    told = [one.transactional_id for one in answer.results_by_transaction]
    assert told == [one.transactional_id for one in asked]
    assert turns >= MANY // 16


def test_markers_are_written_in_parts(core: Core) -> None:
    """The first producer's partitions are those of two parts."""
    sizes = {7: heavy.PARTITIONS + 50, 8: 1, 9: heavy.PARTITIONS}
    markers = [
        WritableTxnMarker(
            producer, 0, True, [WritableTxnMarkerTopic(heavy.TOPIC, list(range(partitions)))], 0
        )
        for producer, partitions in sizes.items()
    ]
    client = core.client()
    turns = turns_of(core, client, frame_of(WriteTxnMarkersRequest(markers), 1))
    answer, _ = decode(WriteTxnMarkersResponse, 1, client.receive_bytes(), 5)
    told = {
        one.producer_id: sorted(
            part.error_code for topic in one.topics for part in topic.partitions
        )
        for one in answer.markers
    }
    assert [one.producer_id for one in answer.markers] == list(sizes)
    assert told == {
        7: [0] * heavy.PARTITIONS + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 50,
        8: [0],
        9: [0] * heavy.PARTITIONS,
    }
    assert turns >= 3


def test_partitions_of_one_transaction_are_added_as_a_whole(core: Core) -> None:
    topics = [AddPartitionsToTxnTopic(heavy.TOPIC, list(range(MANY)))]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="id", v3_and_below_producer_id=1, v3_and_below_topics=topics
    )
    answer = core.client().call(request, 3, AddPartitionsToTxnResponse)
    (topic,) = answer.results_by_topic_v3_and_below
    assert len(topic.results_by_partition) == MANY


def test_positions_are_deleted_in_parts(core: Core) -> None:
    client = core.client()
    indexes = [*range(MANY), 0]
    topic = OffsetDeleteRequestTopic(
        heavy.TOPIC, [OffsetDeleteRequestPartition(index) for index in indexes]
    )
    client.call(FindCoordinatorRequest("g"), 0, FindCoordinatorResponse)
    commit = OffsetCommitRequest(
        "g",
        topics=[OffsetCommitRequestTopic(heavy.TOPIC, b"", [OffsetCommitRequestPartition(7, 5)])],
    )
    client.call(commit, 7, OffsetCommitResponse)
    turns = turns_of(core, client, frame_of(OffsetDeleteRequest("g", [topic]), 0))
    answer, _ = decode(OffsetDeleteResponse, 0, client.receive_bytes(), 4)
    (told,) = answer.topics
    exists = {one.partition_index for one in told.partitions if not one.error_code}
    assert answer.error_code == 0
    assert exists == set(range(heavy.PARTITIONS))
    assert len(told.partitions) == len(indexes)
    assert turns >= MANY // PART_ELEMENTS
    request = OffsetFetchRequest("g", topics=None)
    assert client.call(request, 5, OffsetFetchResponse).topics == []


def test_an_error_of_the_whole_is_the_answer_to_all_parts(core: Core) -> None:
    """Of the second part the broker is no coordinator any more."""
    members = [MemberIdentity(f"m{index}") for index in range(MANY)]
    leave, calls = GroupCoordinatorService.leave, count()

    def moved(
        service: GroupCoordinatorService,
        request: LeaveGroupRequest,
        version: int,
        on_complete: Callable[[LeaveGroupResponse], None],
    ) -> None:
        if next(calls):
            on_complete(LeaveGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
        else:
            leave(service, request, version, on_complete)

    with patch.object(GroupCoordinatorService, "leave", moved):
        answer = core.client().call(LeaveGroupRequest("g", members=members), 4, LeaveGroupResponse)
    assert (answer.error_code, answer.members) == (ErrorCode.NOT_COORDINATOR, [])
    assert next(calls) == 2


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize(
    ("session", "asked"), [(False, 2 * MANY), (True, 2 * MANY), (True, 0)], ids=str
)
def test_an_error_for_a_fetch_of_many_partitions_is_put_in_in_slices(
    core: Core, monkeypatch: pytest.MonkeyPatch, stage: str, session: bool, asked: int
) -> None:
    """Of one that opens a session, that changes each of its partitions, and that asks for news."""
    monkeypatch.setattr(answers, "TOLD_AT_ONCE", 10)
    client = core.client()
    session_id = epoch = 0
    if session:
        client.send_bytes(heavy.fetch_of_a_session(2 * MANY))
        opened, _ = decode(FetchResponse, 7, client.receive_bytes(), 4)
        session_id, epoch = opened.session_id, 1
        assert session_id
    rule = {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "stage": stage}
    core.cluster.faults.add(rule)
    turns = turns_of(core, client, heavy.fetch_of_a_session(asked, session_id, epoch))
    response, _ = decode(FetchResponse, 7, client.receive_bytes(), 4)
    told = [one.error_code for topic in response.responses for one in topic.partitions]
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2 * MANY
    assert turns > 2 * MANY // 10


def test_a_mangled_answer_is_encoded_in_slices_too(core: Core) -> None:
    core.cluster.faults.add({"api": "Fetch", "correlation_shift": 1})
    plain, mangled = core.client(), core.client()
    frame = heavy.fetch_of_a_session(SLICE_ELEMENTS + 100)
    turns = turns_of(core, mangled, frame)
    core.cluster.faults.clear()
    assert turns >= turns_of(core, plain, frame)
    one, other = mangled.receive_bytes(), plain.receive_bytes()
    assert len(one) == len(other)
    assert int.from_bytes(one[:4], "big") == int.from_bytes(other[:4], "big") + 1
