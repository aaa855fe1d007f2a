"""The listener on real sockets: answers, back-pressure, a crowd, strangers, a clean stop."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.journal import ConnectionRefused, LoopBlocked
from mockbroker.network.server import ClusterServer
from mockbroker.network.timekeeper import TimeKeeper
from mockbroker.network.transport import LITTLE_BYTES, WRITE_HIGH_WATER_BYTES, ClientTransport
from mockbroker.node.connection import QUEUED_FRAMES_LIMIT
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import ZSTD, build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mockbroker.node.connection import Connection
    from mockbroker_protocol.slices import Aside


class Running:
    """A server on a free port, and its address."""

    def __init__(self, server: ClusterServer, address: str) -> None:
        self.server = server
        self.broker = server.cluster.brokers[0]
        self.address = address

    def connections(self) -> int:
        return self.server.servers[0].connections


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    cluster = Cluster({}, {"orders": 1}, substream=Random, epoch_ms=1_700_000_000_000)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    host, port = await listen(server)
    yield Running(server, f"{host}:{port}")
    await server.stop()


async def listen(server: ClusterServer, host: str = "127.0.0.1", port: int = 0) -> tuple[str, int]:
    (address,) = await server.start("PLAINTEXT", host, [port], lambda _index, _port: None)
    return address


def fetch(offset: int = 0, max_wait_ms: int = 60_000) -> FetchRequest:
    part = FetchRequestPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = FetchRequestTopic(topic="orders", partitions=[part])
    return FetchRequest(replica_id=-1, max_wait_ms=max_wait_ms, min_bytes=1, topics=[topic])


def produce(size: int = 10) -> ProduceRequest:
    batch = build_batch([Record(0, 1_700_000_000_000, None, bytes(size))])
    part = ProduceRequestPartition(index=0, records=batch)
    topic = ProduceRequestTopic(name="orders", partition_data=[part])
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something shows."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 -- what is awaited has no event
            await asyncio.sleep(0)


async def test_a_request_is_answered(running: Running) -> None:
    async with await RawConnection.open(running.address) as client:
        answer = await client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert answer.error_code == 0


async def test_ten_thousand_requests_pipelined_on_one_connection(running: Running) -> None:
    one = encode_request_header(18, 0, 1, "pipe")
    async with await RawConnection.open(running.address) as client:
        client.writer.write((struct.pack(">i", len(one)) + one) * 10_000)
        for _ in range(10_000):
            await client.frame()


async def test_a_thousand_parked_fetches_are_woken_by_one_append(running: Running) -> None:
    clients = [await RawConnection.open(running.address) for _ in range(1000)]
    for client in clients:
        client.send(fetch(), 12)
    replicas = running.broker.services.replicas
    await until(lambda: replicas.fetch_purgatory.num_delayed_operations == 1000)
    async with await RawConnection.open(running.address) as writer:
        await writer.call(produce(), 9, ProduceResponse)
    answers = [await client.receive(FetchResponse, 12) for client in clients]
    assert {answer.responses[0].partitions[0].high_watermark for answer in answers} == {1}
    assert replicas.fetch_purgatory.num_delayed_operations == 0
    for client in clients:
        client.writer.close()
    await until(lambda: running.connections() == 0)


async def test_a_client_that_never_reads_stops_being_worked_for(running: Running) -> None:
    async with await RawConnection.open(running.address) as writer:
        await writer.call(produce(900_000), 9, ProduceResponse)
    host, _, port = running.address.rpartition(":")
    deaf = socket.create_connection((host, int(port)))
    deaf.setblocking(False)
    frame = encode_request_header(1, 12, 1, "deaf")
    async with await RawConnection.open(running.address) as helper:
        body = helper.request(fetch(max_wait_ms=0), 12)[4 + len(frame) - 1 :]
    one = struct.pack(">i", len(frame) + len(body)) + frame + body
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(deaf, one * 200)

    def deaf_connections() -> list[Connection]:
        return [conn for conn in running.broker.connections() if conn.client_id == "deaf"]

    await until(lambda: any(conn.blocked for conn in deaf_connections()))
    (connection,) = deaf_connections()
    assert connection.queue, "some of the pipeline waits"
    async with await RawConnection.open(running.address) as other:
        answer = await other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert answer.error_code == 0
    deaf.close()
    await until(lambda: running.connections() == 0)


async def test_who_leaves_most_unread_goes_when_it_is_too_much() -> None:
    config = {"mockbroker.unread.answers.max.bytes": "3000000"}
    cluster = Cluster(config, {"orders": 1}, substream=Random, epoch_ms=1_700_000_000_000)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    host, port = await listen(server)
    broker = cluster.brokers[0]
    async with await RawConnection.open(f"{host}:{port}") as writer:
        await writer.call(produce(900_000), 9, ProduceResponse)
        deaf = [await deaf_reader(writer, host, port) for _ in range(5)]
        await until(lambda: broker.connections_refused > 0)
        await until(lambda: broker.unread_bytes <= 3_000_000)
        answer = await writer.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert answer.error_code == 0
    told = [event for event in cluster.journal.events() if isinstance(event, ConnectionRefused)]
    assert told
    assert told[0].reason.startswith("mockbroker.unread.answers.max.bytes: it left ")
    await until(lambda: len(broker.connections()) < 5)
    for client in deaf:
        client.close()
    await server.stop()
    assert broker.unread_bytes == 0


@pytest.mark.skipif(not hasattr(select, "POLLRDHUP"), reason="the system does not tell")
async def test_a_client_that_is_not_read_is_missed_when_it_goes(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockbroker.network.transport.GONE_SECONDS", 0.01)
    ahead = await RawConnection.open(running.address)
    ahead.send(fetch(max_wait_ms=2**31 - 1), 12)
    one = ahead.request(ApiVersionsRequest(), 0)
    ahead.writer.write(one * (QUEUED_FRAMES_LIMIT + 100))
    await until(lambda: any(conn.full for conn in running.broker.connections()))
    async with await RawConnection.open(running.address) as other:
        for _ in range(5):
            await other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert running.connections() == 2  # it is there, and stays
        ahead.writer.transport.abort()
        await until(lambda: running.connections() == 1)


async def deaf_reader(beside: RawConnection, host: str, port: int) -> socket.socket:
    """One more client that asks again and again, and reads nothing."""
    deaf = socket.create_connection((host, port))
    deaf.setblocking(False)
    one = beside.request(fetch(max_wait_ms=0), 12)
    await asyncio.get_running_loop().sock_sendall(deaf, one * 200)
    return deaf


async def test_of_many_connections_each_may_have_little_unread(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockbroker.network.socket_server.FEW_CONNECTIONS", 1)
    limits = []
    for _ in range(2):
        client = await RawConnection.open(running.address)
        await client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        limits.append(client)
    transports = running.server.servers[0]._transports.values()
    inner = [each.inner for each in transports if isinstance(each, ClientTransport)]
    found = [each.get_write_buffer_limits()[1] for each in inner if each is not None]
    assert found == [WRITE_HIGH_WATER_BYTES, LITTLE_BYTES]
    for client in limits:
        client.writer.close()


async def test_a_client_that_closes_when_it_has_sent_all_is_not_cut_off(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its batches are large, and inflated beside the loop."""
    given: list[tuple[Aside[object], Callable[[], None]]] = []
    running.broker.requests.beside = lambda work, then: given.append((work, then))
    values = [Record(index, 0, None, b"v" * 1000) for index in range(5_000)]
    batch = build_batch(values, compression=ZSTD)
    topic = ProduceRequestTopic("orders", partition_data=[ProduceRequestPartition(0, batch)])
    monkeypatch.setattr("mockbroker.apis.produce.LARGE_BATCH_BYTES", 100)
    async with await RawConnection.open(running.address) as client:
        for _ in range(2):
            client.send(ProduceRequest(None, 0, 1000, [topic]), 9)
        await until(lambda: len(given) == 1)
    for _ in range(2):
        await until(lambda: bool(given))
        assert running.connections() == 1
        work, then = given.pop()
        work.run()
        then()
        running.server.end_step()
    await until(lambda: running.connections() == 0)
    partition = running.broker.services.replicas.partition("orders", 0)
    assert partition is not None
    assert partition.high_watermark == 10_000


async def test_a_client_that_goes_while_parked_leaves_nothing_behind(running: Running) -> None:
    client = await RawConnection.open(running.address)
    client.send(fetch(), 12)
    purgatory = running.broker.services.replicas.fetch_purgatory
    await until(lambda: purgatory.num_delayed_operations == 1)
    client.writer.transport.abort()
    await until(lambda: purgatory.num_delayed_operations == 0)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        bytes.fromhex("16030100a5010000a10303") + bytes(300),
        struct.pack(">ihhih", 10, 9999, 0, 1, -1),
    ],
)
async def test_a_stranger_is_cut_off_and_nobody_else(running: Running, data: bytes) -> None:
    async with (
        await RawConnection.open(running.address) as neighbour,
        await RawConnection.open(running.address) as stranger,
    ):
        await neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        stranger.writer.write(data)
        assert await stranger.closed_by_peer()
        await neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


async def test_a_wait_ends_at_its_time(running: Running) -> None:
    loop = asyncio.get_running_loop()
    async with await RawConnection.open(running.address) as client:
        begin = loop.time()
        answer = await client.call(fetch(max_wait_ms=50), 12, FetchResponse)
        assert loop.time() - begin >= 0.049
    assert answer.responses[0].partitions[0].high_watermark == 0


async def test_stopping_answers_what_is_parked_and_refuses_newcomers(running: Running) -> None:
    client = await RawConnection.open(running.address)
    client.send(fetch(), 12)
    purgatory = running.broker.services.replicas.fetch_purgatory
    await until(lambda: purgatory.num_delayed_operations == 1)
    await running.server.stop()
    assert (await client.receive(FetchResponse, 12)).error_code == 0
    assert await client.closed_by_peer()
    with pytest.raises(ConnectionRefusedError):
        await RawConnection.open(running.address)
    client.writer.close()


async def test_a_busy_port_is_an_os_error(running: Running) -> None:
    host, _, port = running.address.rpartition(":")
    with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
        await listen(running.server, host, int(port))


async def test_a_start_that_fails_leaves_no_socket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[socket.socket] = []

    def open_socket(*args: int) -> socket.socket:
        opened.append(Unlistening(*args))
        return opened[-1]

    monkeypatch.setattr("mockbroker.network.acceptor.ListeningSocket", open_socket)
    cluster = Cluster({}, {}, substream=Random, epoch_ms=0)
    with pytest.raises(OSError, match="taken"):
        await listen(ClusterServer(cluster, TimeKeeper(cluster)))
    assert [one.fileno() for one in opened] == [-1]


class Unlistening(socket.socket):
    """Bound beside another socket that has begun to listen since."""

    def listen(self, _backlog: int = 0, /) -> None:
        raise OSError("taken")


async def test_after_the_stop_no_connection_and_no_timer_is_left() -> None:
    cluster = Cluster({}, {"orders": 1}, substream=Random, epoch_ms=0)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    await listen(server)
    await server.stop()
    cluster.timer.schedule(60_000, lambda: None)
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    with theirs:
        late = server.servers[0].accept("PLAINTEXT")
        transport, _ = await loop.connect_accepted_socket(lambda: late, ours)
        await until(lambda: transport.is_closing() and server.servers[0].connections == 0)
        assert theirs.recv(1) == b""
    assert cluster.brokers[0].connections() == []
    assert not server._alarm.is_set


async def test_what_is_no_host_name_cannot_be_bound() -> None:
    cluster = Cluster({}, {}, substream=Random, epoch_ms=0)
    with pytest.raises(OSError, match="not a host name"):
        await listen(ClusterServer(cluster, TimeKeeper(cluster)), "a..b")


async def test_a_client_too_many_from_one_address_is_sent_away() -> None:
    cluster = Cluster({"max.connections.per.ip": "1"}, {}, substream=Random, epoch_ms=0)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    host, port = await listen(server)
    first = await asyncio.open_connection(host, port)
    second = await asyncio.open_connection(host, port)
    assert await second[0].read() == b""
    (event,) = (e for e in cluster.journal.events() if isinstance(e, ConnectionRefused))
    assert event.reason == "max.connections.per.ip: 127.0.0.1 has 1 connections"
    assert cluster.brokers[0].connections_refused == 1
    first[1].close()
    second[1].close()
    await server.stop()


async def test_a_client_waits_while_the_broker_has_all_it_may() -> None:
    cluster = Cluster({"max.connections": "1"}, {}, substream=Random, epoch_ms=0)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    host, port = await listen(server)
    request = encode_request_header(18, 0, 7, "waits")
    first = await asyncio.open_connection(host, port)
    second = await asyncio.open_connection(host, port)
    for _, writer in (first, second):
        writer.write(len(request).to_bytes(4, "big") + request)
    assert await first[0].readexactly(4)
    assert server.servers[0].connections == 1
    first[1].close()
    assert await second[0].readexactly(4)
    assert server.servers[0].connections == 1
    second[1].close()
    await server.stop()


async def test_a_step_that_took_long_is_told_with_its_request(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockbroker.network.server.BLOCKED_SECONDS", -1.0)
    host, _, port = running.address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    request = encode_request_header(18, 0, 7, "slow")
    writer.write(len(request).to_bytes(4, "big") + request)
    assert await reader.readexactly(4)
    journal = running.server.cluster.journal
    blocked = [event for event in journal.events() if isinstance(event, LoopBlocked)]
    told = [(event.api_name, event.client_id, event.request_bytes) for event in blocked]
    assert ("ApiVersions", "slow", len(request)) in told
    assert running.broker.loop_blocked == 1
    writer.close()
