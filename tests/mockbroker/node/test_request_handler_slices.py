"""Long answers to small requests are made in slices, and tell what they would tell in one piece."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from mockbroker.apis import context, describe_topic_partitions, produce
from mockbroker.apis import metadata as metadata_api
from mockbroker.journal import ConnectionClosed, RequestRefused
from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker.node.request_handler import FRAMES_PER_STEP
from mockbroker.purgatory.purgatory import TRIED_AT_ONCE
from mockbroker.replica.manager import MANY_PARKED
from mockbroker_protocol.messages import (
    configs,
    find_coordinator,
    group_admin,
    group_offsets,
    log_dirs,
    metadata,
    transaction_admin,
    transactions,
)
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode
from mockbroker_protocol.records import compression
from mockbroker_protocol.subjects import errors_in
from tests.support import heavy
from tests.support.acls import deny, guarded_core
from tests.support.core import Core
from tests.support.requests import fetch
from tests.support.turns import frame_of, turns_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker_protocol.slices import Aside
    from tests.support.core import CoreClient

MANY = 300
SLICE_BYTES = 64 * 1024
MADE_AT_ONCE = 8
SOME = 30
"""As many topics as are many where so few are made at once."""
ACKS_AT = 4 + 8 + 2 + len("hostile") + 2
"""Where they are in a Produce request of `heavy`."""
POSITIONS = [
    group_offsets.OffsetCommitRequestTopic(
        f"topic-{index:04d}", partitions=[group_offsets.OffsetCommitRequestPartition(0, 5)]
    )
    for index in range(MANY)
]
PRODUCER = "writer"
LONG: dict[str, tuple[object, int, str]] = {
    "Metadata": (metadata.MetadataRequest(None), 12, "topics"),
    "DescribeLogDirs": (log_dirs.DescribeLogDirsRequest(None), 4, "results"),
    "ListConfigResources": (configs.ListConfigResourcesRequest(), 1, "config_resources"),
    "DescribeTopicPartitions": (
        metadata.DescribeTopicPartitionsRequest([], 2000),
        0,
        "topics",
    ),
    "ListGroups": (group_admin.ListGroupsRequest(), 5, "groups"),
    "OffsetFetch": (group_offsets.OffsetFetchRequest("reader", topics=None), 7, "topics"),
    "OffsetFetch of groups": (
        group_offsets.OffsetFetchRequest(
            groups=[group_offsets.OffsetFetchRequestGroup("reader", topics=None)],
            require_stable=True,
        ),
        9,
        "groups",
    ),
    "ListTransactions": (transaction_admin.ListTransactionsRequest(), 2, "transaction_states"),
    "OffsetCommit": (
        group_offsets.OffsetCommitRequest("reader", topics=POSITIONS),
        7,
        "topics",
    ),
    "TxnOffsetCommit": (
        transactions.TxnOffsetCommitRequest(
            PRODUCER,
            "mover",
            topics=[
                transactions.TxnOffsetCommitRequestTopic(
                    one.name,
                    partitions=[transactions.TxnOffsetCommitRequestPartition(0, 5)],
                )
                for one in POSITIONS
            ],
        ),
        5,
        "topics",
    ),
}


class _Over:
    """A turn that is over whenever it is asked."""

    def __call__(self) -> bool:
        return True


@pytest.fixture(scope="module")
def full() -> Core:
    """A broker that has much of everything."""
    core = Core()
    _fill(core)
    return core


def _fill(core: Core) -> None:
    _make_topics(core, MANY)
    client = core.client()
    find = find_coordinator.FindCoordinatorRequest("id-0", 1)
    client.call(find, 1, find_coordinator.FindCoordinatorResponse)
    read = group_offsets.OffsetCommitRequest("reader", topics=POSITIONS)
    client.call(read, 7, group_offsets.OffsetCommitResponse)
    init = transactions.InitProducerIdRequest(PRODUCER, 60_000)
    told = client.call(init, 2, transactions.InitProducerIdResponse)
    commit = LONG["TxnOffsetCommit"][0]
    assert isinstance(commit, transactions.TxnOffsetCommitRequest)
    commit.producer_id, commit.producer_epoch = told.producer_id, told.producer_epoch
    for index in range(MANY):
        init = transactions.InitProducerIdRequest(f"id-{index}", 60_000)
        client.call(init, 2, transactions.InitProducerIdResponse)
        partition = group_offsets.OffsetCommitRequestPartition(0, 5)
        topic = group_offsets.OffsetCommitRequestTopic("topic-0000", partitions=[partition])
        commit = group_offsets.OffsetCommitRequest(f"group-{index}", topics=[topic])
        client.call(commit, 7, group_offsets.OffsetCommitResponse)


@pytest.mark.parametrize("name", LONG)
def test_a_neighbour_has_its_turn_while_a_long_answer_is_made(full: Core, name: str) -> None:
    request, version, field = LONG[name]
    api_key: int = request.API_KEY  # type: ignore[attr-defined]  # each message has it
    cls: type[object] = response_class(api_key)
    whole = full.client().call(request, version, cls)
    asks, neighbour = full.client(), full.client("neighbour")
    full.broker.requests.turn_over = over = _Over()
    try:
        asks.send(request, version)
        assert not asks.answered
        turns = 0
        while full.broker.requests.unfinished:
            _ping(neighbour)
            full.broker.go_on(full.now_ms, over)
            full.deliver()
            turns += 1
    finally:
        full.broker.requests.turn_over = None
    assert turns >= 2
    answer = asks.receive(cls)
    assert answer == whole
    assert not any(errors_in(answer))
    assert len(getattr(answer, field)) >= MANY or field in ("results", "groups")


@pytest.fixture
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (context, describe_topic_partitions, metadata_api):
        monkeypatch.setattr(module, "MADE_AT_ONCE", MADE_AT_ONCE)


def _make_topics(core: Core, count: int) -> None:
    topics = [NewTopic(f"topic-{index:04d}", 1, 1) for index in range(count)]
    core.act(lambda: core.broker.services.controller.create_topics(topics))


def _ping(client: CoreClient) -> None:
    client.send_bytes(heavy.request(18, 0, b""))
    assert client.answered == 1
    client.receive_bytes()


def test_the_journal_knows_of_no_wait(full: Core) -> None:
    full.events.clear()
    full.client("asks").call(metadata.MetadataRequest(None), 12, metadata.MetadataResponse)
    (served,) = (event for event in full.events if getattr(event, "client_id", "") == "asks")
    assert getattr(served, "woken_by", "") is None


@pytest.mark.usefixtures("short_slices")
def test_topics_that_may_not_be_described_are_hidden_in_a_long_answer_too() -> None:
    core = guarded_core()
    _make_topics(core, SOME)
    deny(core, ResourceType.TOPIC, "topic-0029", AclOperation.DESCRIBE)
    answer = core.client().call(metadata.MetadataRequest(None), 12, metadata.MetadataResponse)
    names = {topic.name for topic in answer.topics}
    assert "topic-0028" in names
    assert "topic-0029" not in names


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize("asked", ["all", "named"])
@pytest.mark.parametrize(
    ("api", "version"), [("Metadata", 12), ("DescribeTopicPartitions", 0)], ids=str
)
def test_an_authorizer_looks_at_many_topics_in_slices(api: str, version: int, asked: str) -> None:
    core = guarded_core()
    _make_topics(core, SOME)
    names = [f"topic-{index:04d}" for index in range(SOME + 5)] if asked == "named" else None
    request: object
    cls: type[object]
    if api == "Metadata":
        named = [metadata.MetadataRequestTopic(name=name) for name in names or ()]
        request = metadata.MetadataRequest(
            named if names else None, allow_auto_topic_creation=False
        )
        request.include_topic_authorized_operations = True
        cls, version = metadata.MetadataResponse, 8
    else:
        request = metadata.DescribeTopicPartitionsRequest(
            [metadata.TopicRequest(name) for name in names or ()], 2000
        )
        cls = metadata.DescribeTopicPartitionsResponse
    deny(core, ResourceType.TOPIC, "topic-0007", AclOperation.DESCRIBE)
    whole = core.client().call(request, version, cls)
    client = core.client()
    turns = turns_of(core, client, frame_of(request, version))
    assert turns >= 2 * SOME // MADE_AT_ONCE, "looked at in slices, then told in slices"
    answer, _ = decode(cls, version, client.receive_bytes(), 5 if api != "Metadata" else 4)
    assert answer == whole
    told = {one.name: one.error_code for one in answer.topics}  # type: ignore[attr-defined]
    assert told["topic-0008"] == 0
    assert told.get("topic-0007") == (29 if names else None)
    assert told.get(f"topic-{SOME + 1:04d}") == (3 if names else None)


@pytest.mark.usefixtures("short_slices")
def test_a_page_of_all_topics_has_none_that_went_away_meanwhile() -> None:
    core = Core(topics={f"topic-{index:04d}": 1 for index in range(SOME)})
    core.broker.requests.turn_over = over = _Over()
    client = core.client()
    client.send(metadata.DescribeTopicPartitionsRequest([], 2000), 0)
    gone = f"topic-{SOME - 1:04d}"
    core.act(lambda: core.broker.services.controller.delete_topics([TopicReference(gone)]))
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, over)
        core.deliver()
    answer = client.receive(metadata.DescribeTopicPartitionsResponse)
    assert [topic.name for topic in answer.topics][-1] == f"topic-{SOME - 2:04d}"
    assert {topic.error_code for topic in answer.topics} == {0}


def test_who_appends_is_answered_before_many_are_woken() -> None:
    core = Core(topics={heavy.TOPIC: 1})
    readers = [core.client() for _ in range(MANY_PARKED + 1)]
    for reader in readers:
        reader.send(fetch(heavy.TOPIC, max_wait_ms=60_000), 12)
    writer = core.client("writer")
    core.broker.requests.turn_over = over = _Over()
    appended = heavy.produce(heavy.batch(heavy.tiny_records(1), 1))
    core.broker.receive(writer.connection_id, appended, core.now_ms)
    assert [one.connection_id for one in core.broker.take_outbox()] == [writer.connection_id]
    woken: list[int] = []
    while core.broker.requests.unfinished:
        core.broker.go_on(core.now_ms, over)
        turn = [one.connection_id for one in core.broker.take_outbox()]
        assert len(turn) <= TRIED_AT_ONCE
        woken += turn
    assert sorted(woken) == sorted(reader.connection_id for reader in readers)


def test_others_are_served_while_a_thread_works_for_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(produce, "LARGE_BATCH_BYTES", 100)
    monkeypatch.setattr(compression, "SLICE_BYTES", SLICE_BYTES)
    core = Core(topics={heavy.TOPIC: 1})
    given: list[tuple[Aside[object], Callable[[], None]]] = []
    core.broker.requests.beside = lambda work, then: given.append((work, then))
    large = heavy.produce(heavy.batch(heavy.zstd(heavy.one_record(2 * SLICE_BYTES)), 1, 4))
    writer, leaver, neighbour = core.client(), core.client(), core.client()
    for client in (writer, leaver):
        client.send_bytes(large)
    leaver.disconnect()
    _ping(neighbour)
    assert len(given) == 2
    assert not writer.answered
    for work, then in given:
        work.run()
        then()
    core.deliver()
    writer.receive_bytes()
    partition = core.broker.services.replicas.partition(heavy.TOPIC, 0)
    assert partition is not None
    assert partition.high_watermark == 1


def test_what_a_client_sent_before_it_closed_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer with acks=0 closes when all is sent."""
    monkeypatch.setattr(produce, "LARGE_BATCH_BYTES", 100)
    monkeypatch.setattr(compression, "SLICE_BYTES", SLICE_BYTES)
    core = Core(topics={heavy.TOPIC: 1})
    given: list[tuple[Aside[object], Callable[[], None]]] = []
    core.broker.requests.beside = lambda work, then: given.append((work, then))
    large = bytearray(
        heavy.produce(heavy.batch(heavy.zstd(heavy.one_record(2 * SLICE_BYTES)), 1, 4))
    )
    struct.pack_into(">h", large, ACKS_AT, 0)
    writer = core.client()
    writer.send_bytes(bytes(large * 3))
    partition = core.broker.services.replicas.partition(heavy.TOPIC, 0)
    assert partition is not None
    assert core.broker.ended(writer.connection_id)
    for stored in range(3):
        assert (partition.high_watermark, writer.closed) == (stored, False)
        work, then = given.pop()
        work.run()
        then()
        core.deliver()
    assert (partition.high_watermark, writer.closed, given) == (3, True, [])
    writer.disconnect()
    assert not core.broker.connections()
    (closed,) = [one for one in core.events if isinstance(one, ConnectionClosed)]
    assert closed.reason is None
    assert not [one for one in core.events if isinstance(one, RequestRefused)]


def test_the_rest_of_a_pipeline_is_worked_on_when_its_client_has_closed() -> None:
    core = Core(topics={heavy.TOPIC: 1})
    core.broker.requests.turn_over = over = _Over()
    one = bytearray(heavy.produce(heavy.batch(heavy.tiny_records(1), 1)))
    struct.pack_into(">h", one, ACKS_AT, 0)
    writer = core.client()
    core.broker.receive(writer.connection_id, bytes(one * (FRAMES_PER_STEP + 10)), core.now_ms)
    assert core.broker.ended(writer.connection_id)
    while not writer.closed:
        core.broker.go_on(core.now_ms, over)
        core.deliver()
    partition = core.broker.services.replicas.partition(heavy.TOPIC, 0)
    assert partition is not None
    assert partition.high_watermark == FRAMES_PER_STEP + 10


def test_a_client_that_waits_for_nothing_but_its_answer_goes_at_once() -> None:
    core = Core(topics={heavy.TOPIC: 1})
    idle, reader = core.client(), core.client()
    reader.send(fetch(heavy.TOPIC, max_wait_ms=60_000), 12)
    assert [core.broker.ended(one.connection_id) for one in (idle, reader)] == [False, False]
    assert not core.broker.ended(99)


def test_a_client_that_leaves_ends_its_answer(full: Core) -> None:
    full.broker.requests.turn_over = over = _Over()
    try:
        asks = full.client()
        asks.send(metadata.MetadataRequest(None), 12)
        asks.disconnect()
        full.broker.go_on(full.now_ms, over)
        full.broker.go_on(full.now_ms, over)
        assert not full.broker.requests.unfinished
    finally:
        full.broker.requests.turn_over = None
