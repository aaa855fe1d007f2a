"""What travels between nodes: over their links, to connections that no shell sees."""

from __future__ import annotations

import pytest

from mockbroker.cluster.links.broker_client import BrokerClient
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker.replica.fetcher import FETCH_VERSION
from mockbroker_protocol.fetch_codec import decode_fetch_request, encode_fetch_response
from mockbroker_protocol.headers import decode_request_header, encode_response_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
    ReplicaState,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.cluster_core import ClusterCore
from tests.support.metadata_logs import QuorumCore
from tests.support.outside_brokers import start

TIMEOUT_MS = 30_000


class Asked:
    """A client of broker 2 at broker 1, and what it was answered."""

    def __init__(self, core: ClusterCore) -> None:
        self.core = core
        self.answers: list[object | None] = []
        incarnation = core.peers.running[1]
        self.client = BrokerClient(
            core.cluster.interconnect,
            incarnation.clock,
            incarnation.timer,
            1,
            2,
            "test",
            TIMEOUT_MS,
        )

    @property
    def connection_id(self) -> int:
        """Of the client; 0 without a connection."""
        return self.client.connection_id or 0

    def ask(self) -> None:
        self.client.send(ApiVersionsRequest(), 0, self.answers.append)
        self.core.deliver()


@pytest.fixture
def asked() -> Asked:
    return Asked(ClusterCore())


def test_a_request_and_its_answer_travel_within_a_step(asked: Asked) -> None:
    asked.ask()
    (answer,) = asked.answers
    assert isinstance(answer, ApiVersionsResponse)


def test_a_connection_between_brokers_is_in_no_outbox(asked: Asked) -> None:
    asked.ask()
    assert asked.connection_id < 0
    assert [asked.core.cluster.take_outbox(index) for index in range(3)] == [[], [], []]


def test_who_asks_a_broker_that_is_down_loses_the_connection(asked: Asked) -> None:
    asked.core.controls.kill(2)
    asked.ask()
    assert asked.answers == [None]
    assert not asked.connection_id


def test_a_broker_that_goes_down_breaks_the_connections_to_it(asked: Asked) -> None:
    asked.core.controls.hold_link(2, 1)
    asked.ask()
    assert asked.answers == []
    asked.core.controls.kill(2)
    asked.core.controls.restore_link(2, 1)
    asked.core.deliver()
    assert isinstance(asked.answers[0], ApiVersionsResponse)
    assert not asked.connection_id


def test_a_link_that_was_cut_resets_its_connections_when_it_carries_again(asked: Asked) -> None:
    asked.core.controls.cut_link(1, 2)
    asked.ask()
    assert asked.answers == []
    asked.core.controls.restore_link(1, 2)
    assert asked.answers == [None]
    asked.ask()
    assert isinstance(asked.answers[1], ApiVersionsResponse)


def test_a_client_that_hangs_up_is_forgotten_at_the_other_end(asked: Asked) -> None:
    asked.ask()
    broker = asked.core.cluster.broker(2)
    assert broker is not None
    assert broker.connection(connection_id := asked.connection_id) is not None
    asked.client.close()
    asked.core.deliver()
    assert broker.connection(connection_id) is None


class Elsewhere:
    """A shell's side: what brokers of this process send to broker 2, and what that answers."""

    def __init__(self, core: QuorumCore) -> None:
        self.core = core
        self.sent: list[tuple[int, str, int, FetchRequest]] = []
        self.closed: list[int] = []
        core.cluster.interconnect.outside = self

    def send(self, connection_id: int, host: str, port: int, data: bytes) -> None:
        header = decode_request_header(data[4:])
        assert (header.api_key, header.client_id) == (1, "broker-1-fetcher-0")
        request = decode_fetch_request(data[4:], header.body_pos, header.api_version)
        self.sent.append((connection_id, host, port, request))

    def close(self, connection_id: int) -> None:
        self.closed.append(connection_id)

    def answer(self, response: FetchResponse) -> None:
        """To the last fetch."""
        connection_id, *_ = self.sent[-1]
        body = b"".join(encode_fetch_response(response, FETCH_VERSION))
        frame = encode_response_header(1, FETCH_VERSION, len(self.sent)) + body
        self.say(connection_id, len(frame).to_bytes(4, "big") + frame)

    def say(self, connection_id: int, data: bytes) -> None:
        interconnect = self.core.cluster.interconnect
        self.core.act(lambda: interconnect.received_outside(connection_id, data))

    def hang_up(self) -> None:
        connection_id, *_ = self.sent[-1]
        self.core.act(lambda: self.core.cluster.interconnect.lost_outside(connection_id))


@pytest.fixture
def elsewhere() -> Elsewhere:
    """Broker 2 is outside and leads topic a, which broker 1 follows."""
    core = QuorumCore(config={"broker.session.timeout.ms": "600000"})
    told = Elsewhere(core)
    start(core, core.observer())
    create = core.cluster.controller.create_topics
    core.act(lambda: create([NewTopic("a", -1, -1, [(0, [2, 1])])]))
    return told


def led(core: QuorumCore, records: bytes = b"", **values: object) -> FetchResponse:
    """What the leader of topic a answers."""
    data = FetchResponsePartition(0, 0, 0, 0, 0, [], -1, records)
    for name, value in values.items():
        setattr(data, name, value)
    topic = FetchResponseTopic(topic_id=core.cluster.metadata.topics["a"].id, partitions=[data])
    return FetchResponse(0, 0, 7, [topic])


def end_of(core: QuorumCore) -> int:
    partition = core.broker.services.replicas.partition("a", 0)
    assert partition is not None
    return partition.open_log().log_end_offset


def test_a_leader_in_another_process_is_followed_where_it_has_registered(
    elsewhere: Elsewhere,
) -> None:
    core = elsewhere.core
    ((_, host, port, request),) = elsewhere.sent
    assert (host, port) == ("outside", 19092)
    assert request.replica_state is not None
    registered = core.quorum.translation.registrations[1].epoch
    assert request.replica_state == ReplicaState(1, registered)
    batch = build_batch([Record(0, 0, None, b"x")], partition_leader_epoch=0)
    elsewhere.answer(led(core, batch, high_watermark=1))
    assert end_of(core) == 1
    (asked,) = elsewhere.sent[-1][3].topics[0].partitions
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (1, 0)


def test_where_the_logs_part_that_of_this_process_is_cut(elsewhere: Elsewhere) -> None:
    core = elsewhere.core
    batch = build_batch([Record(at, 0, None, b"x") for at in range(3)], partition_leader_epoch=0)
    elsewhere.answer(led(core, batch))
    elsewhere.answer(led(core, diverging_epoch=EpochEndOffset(0, 1)))
    assert end_of(core) == 1
    (asked,) = elsewhere.sent[-1][3].topics[0].partitions
    assert asked.fetch_offset == 1


def test_a_connection_to_another_process_that_is_lost_is_made_anew_after_a_while(
    elsewhere: Elsewhere,
) -> None:
    core = elsewhere.core
    elsewhere.hang_up()
    assert len(elsewhere.sent) == 1
    core.advance(1000)  # replica.fetch.backoff.ms
    assert len(elsewhere.sent) == 2
    assert elsewhere.sent[1][0] != elsewhere.sent[0][0]


def test_who_does_not_answer_is_hung_up_on(elsewhere: Elsewhere) -> None:
    elsewhere.core.advance(30_000)  # replica.socket.timeout.ms
    assert elsewhere.closed == [elsewhere.sent[0][0]]
    elsewhere.core.advance(1000)
    assert len(elsewhere.sent) == 2


@pytest.mark.parametrize("data", [b"\0\0\0\1x", b"\xff\xff\xff\xff", b"\0\0\0\5\0\0\0\1\0"])
def test_bytes_of_another_process_that_are_no_answer_end_the_connection(
    elsewhere: Elsewhere, data: bytes
) -> None:
    elsewhere.say(elsewhere.sent[0][0], data)
    assert elsewhere.closed == [elsewhere.sent[0][0]]
    elsewhere.core.advance(1000)
    assert len(elsewhere.sent) == 2


def test_an_answer_that_nobody_asked_for_ends_the_connection(elsewhere: Elsewhere) -> None:
    core = elsewhere.core
    end = end_of(core)
    connection_id, *_ = elsewhere.sent[0]
    error = led(core, error_code=6)
    elsewhere.answer(error)  # it waits before it asks again
    assert len(elsewhere.sent) == 1
    elsewhere.answer(error)
    assert (elsewhere.closed, end_of(core)) == ([connection_id], end)


def test_the_links_to_another_process_can_be_cut_and_held(elsewhere: Elsewhere) -> None:
    core = elsewhere.core
    links = core.cluster.interconnect.links
    links.get(2, 1).hold()
    batch = build_batch([Record(0, 0, None, b"x")], partition_leader_epoch=0)
    elsewhere.answer(led(core, batch))
    assert end_of(core) == 0
    core.act(lambda: core.cluster.interconnect.restore(links.get(2, 1)))
    assert end_of(core) == 1
    links.get(1, 2).sever()
    elsewhere.answer(led(core))
    assert len(elsewhere.sent) == 2
    core.act(lambda: core.cluster.interconnect.restore(links.get(1, 2)))
    assert elsewhere.closed == [elsewhere.sent[0][0]]
    core.advance(1000)
    assert len(elsewhere.sent) == 3


def test_who_leads_no_more_is_not_asked_any_more(elsewhere: Elsewhere) -> None:
    core = elsewhere.core
    core.act(lambda: core.cluster.controller.replication.fence(2))
    assert core.cluster.metadata.topics["a"].partitions[0].leader == 1
    assert elsewhere.closed == [elsewhere.sent[0][0]]
    core.advance(60_000)
    assert len(elsewhere.sent) == 1


def test_without_a_shell_that_carries_bytes_nobody_outside_is_reached() -> None:
    core = QuorumCore(config={"broker.session.timeout.ms": "600000"})
    start(core, core.observer())
    create = core.cluster.controller.create_topics
    core.act(lambda: create([NewTopic("a", -1, -1, [(0, [2, 1])])]))
    core.advance(10_000)
    assert end_of(core) == 0
    assert core.cluster.metadata.topics["a"].partitions[0].leader == 2
