"""Bad networks over real sockets: late, slow, sliced, reset, half-closed, refused."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.faults import Fault
from mockbroker.faults.armed_fault import ArmedFault
from mockbroker.network.shaping import MAX_SLICES, SLICE_GAP_SECONDS, Shape
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.blocking import BlockingConnection, ClosedByPeerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

UNREAD = "mockbroker:type=ConnectionMetrics,name=UnreadAnswerBytes"
METADATA = "mockbroker:type=RequestMetrics,name=Requests,request=Metadata"
BEAT = HeartbeatRequest("g", 1, "m")


def shape(rng: Random, *faults: Fault) -> Shape:
    return Shape(
        [ArmedFault(fault, str(n), 0.0, rng, lambda _id: None) for n, fault in enumerate(faults)]
    )


@pytest.fixture
def rng() -> Random:
    from random import Random

    return Random(1)


def test_latencies_add_up_and_the_narrowest_limits_count(rng: Random) -> None:
    made = shape(
        rng,
        Fault(latency_ms=10, bandwidth=1000),
        Fault(latency_ms=5, bandwidth=500, slice_bytes=3),
        Fault(slice_bytes=2),
    )
    assert made.latency_seconds == pytest.approx(0.015)
    assert (made.bandwidth, made.slice_bytes) == (500, 2)
    assert made.pieces(b"12345") == [b"12", b"34", b"5"]
    assert made.gap_seconds(b"12") == pytest.approx(2 / 500)


def test_slices_are_not_endless_and_keep_every_byte(rng: Random) -> None:
    made = shape(rng, Fault(slice_bytes=1))
    data = bytes(range(256)) * 64
    pieces = made.pieces(data)
    assert len(pieces) == MAX_SLICES
    assert b"".join(pieces) == data
    assert made.gap_seconds(pieces[0]) == SLICE_GAP_SECONDS
    assert shape(rng, Fault(latency_ms=1)).pieces(data) == [data]


def beat(client: BlockingConnection) -> HeartbeatResponse:
    client.send(BEAT, 4)
    return client.receive(HeartbeatResponse)


@contextmanager
def connected(broker: MockBroker) -> Iterator[BlockingConnection]:
    with BlockingConnection(broker.bootstrap_servers) as client:
        client.send(BEAT, 4)
        client.receive(HeartbeatResponse)
        yield client


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker() as running:
        yield running


def test_an_answer_comes_late(broker: MockBroker) -> None:
    with connected(broker) as client, broker.faults.armed(Fault(latency_ms=50)):
        client.send(BEAT, 4)
        client.receive(HeartbeatResponse)
        assert client.elapsed_ms >= 50
        (status,) = broker.faults.list()
        assert status.hits == 1


def test_no_answer_comes_too_early(broker: MockBroker) -> None:
    """Also where the loop's own clock stands still for a turn and counts milliseconds."""
    with connected(broker) as client, broker.faults.armed(Fault(latency_ms=1)):
        for _ in range(300):
            beat(client)
            assert client.elapsed_ms >= 1


def test_an_answer_comes_slowly_and_whole(broker: MockBroker) -> None:
    with connected(broker) as client, broker.faults.armed(Fault(bandwidth=10_000)):
        client.send(ApiVersionsRequest("t", "1"), 3)
        answer = client.receive(ApiVersionsResponse)
        assert len(answer.api_keys) > 20
        assert client.elapsed_ms >= 20  # some 300 bytes


def test_an_answer_comes_in_slices(broker: MockBroker) -> None:
    """A reader that is slow finds several at once: one that is not is met sooner or later."""
    firsts: set[int] = set()
    with connected(broker) as client, broker.faults.armed(Fault(slice_bytes=4)):
        while not firsts & {4, 8, 12}:
            client.send(BEAT, 4)
            data = client.socket.recv(1000)
            firsts.add(len(data))
            while len(data) < 16:
                data += client.socket.recv(1000)
            assert len(data) == 16


def test_what_is_held_back_comes_when_the_rule_goes(broker: MockBroker) -> None:
    with connected(broker) as client:
        (fault_id,) = broker.faults.add(Fault(latency_ms=3_600_000))
        client.send(BEAT, 4)
        deadline = time.monotonic() + 20
        while not broker.faults.list()[0].hits and time.monotonic() < deadline:
            pass
        broker.faults.remove(fault_id)
        assert client.receive(HeartbeatResponse).error_code == 25


def test_no_more_is_worked_on_than_may_be_held_back(broker: MockBroker) -> None:
    broker.topic("wide").create(1000)
    with connected(broker) as client:
        (fault_id,) = broker.faults.add(Fault(bandwidth=1))
        for _ in range(100):
            client.send(MetadataRequest(topics=None), 8)
        deadline = time.monotonic() + 20
        while broker.metrics()[UNREAD] < 1 << 20 and time.monotonic() < deadline:
            pass
        held = broker.metrics()[UNREAD]
        assert 1 << 20 < held < 5 << 19
        assert broker.metrics()[METADATA] < 100
        broker.faults.remove(fault_id)
        for _ in range(100):
            assert len(client.receive(MetadataResponse).topics[0].partitions) == 1000
    assert broker.metrics()[UNREAD] == 0


def test_a_reset_is_a_reset(broker: MockBroker) -> None:
    with connected(broker) as client, broker.faults.armed(Fault(api="Heartbeat", reset=True)):
        client.send(BEAT, 4)
        with pytest.raises(ConnectionResetError):
            client.socket.recv(100)


def test_a_disconnect_is_an_end(broker: MockBroker) -> None:
    with connected(broker) as client, broker.faults.armed(Fault(api="Heartbeat", disconnect=True)):
        client.send(BEAT, 4)
        assert client.socket.recv(100) == b""


def test_a_half_closed_connection_still_takes_bytes(broker: MockBroker) -> None:
    rule = Fault(api="Heartbeat", half_close=True, stage="after")
    with connected(broker) as client, broker.faults.armed(rule):
        client.send(BEAT, 4)
        assert client.receive(HeartbeatResponse).error_code == 25
        assert client.socket.recv(100) == b""
        for _ in range(20):
            client.socket.sendall(b"\0" * 4096)
        assert client.socket.recv(100) == b""


def refused(address: tuple[str, int]) -> None:
    """Nobody listens there; a connection that was on its way is reset."""
    with (
        pytest.raises(OSError, match=r"(?i)refused|reset"),
        socket.create_connection(address, timeout=20) as late,
    ):
        late.recv(1)


def come_back(broker: MockBroker) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            with connected(broker):
                return
        except OSError:
            assert time.monotonic() < deadline


def test_a_refusing_broker_is_down_and_comes_back_at_its_address(broker: MockBroker) -> None:
    address = (broker.host, broker.port)
    with connected(broker) as client:
        with broker.faults.armed(Fault(refuse=True)):
            refused(address)
            (status,) = broker.faults.list()
            assert status.hits == 1  # the listener went down once
            with pytest.raises((ClosedByPeerError, ConnectionError)):
                beat(client)
        come_back(broker)


def test_a_broker_is_down_for_a_time_on_its_own_clock(broker: MockBroker) -> None:
    broker.clock.freeze()
    broker.faults.add(Fault(refuse=True, after_ms=1_000, for_ms=5_000))
    with connected(broker):
        broker.clock.advance(1_001)  # a timer has ticks of a millisecond
    refused((broker.host, broker.port))
    broker.clock.advance(5_000)
    come_back(broker)
