"""Connections with TLS on real sockets: handshakes right and wrong, limits, the end."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.journal import ConnectionOpened, ConnectionRefused
from mockbroker.network import tls_transport
from mockbroker.network.tls_transport import (
    CIPHERTEXT_BYTES,
    ENCRYPT_BYTES,
    RECORD_BYTES,
    TlsTransport,
    reason_of,
)
from mockbroker.network.transport import WRITE_HIGH_WATER_BYTES
from mockbroker.node.outbox import Outgoing
from mockbroker.server.launch import RunningBroker, launch
from mockbroker.server.settings import Settings
from mockbroker.server.tls_listener import TlsListener
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
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
from tests.support.certificates import client, configs, context, server
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from mockbroker.server.certificates import Certificate
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.slices import Aside

LARGE = 5 << 20


class Running:
    """A broker with a listener for TLS and one without."""

    def __init__(self, running: RunningBroker) -> None:
        self.running = running
        self.address = running.bootstrap_by_listener["SSL"]
        self.plain = running.bootstrap_by_listener["PLAINTEXT"]
        self.broker = running.cluster.brokers[0]

    def opened(self) -> list[ConnectionOpened]:
        return [one for one in self.running.journal.events() if type(one) is ConnectionOpened]

    def refusals(self) -> list[str]:
        return [
            one.reason for one in self.running.journal.events() if type(one) is ConnectionRefused
        ]


@pytest.fixture
async def running(request: pytest.FixtureRequest) -> AsyncIterator[Running]:
    more: dict[str, str] = getattr(request, "param", {})
    settings = Settings(
        listeners=["SSL://:0", "PLAINTEXT://:0"],
        topics={"orders": 1},
        config={"message.max.bytes": str(2 * LARGE), **configs(client_auth="requested"), **more},
    )
    broker = await launch(settings)
    yield Running(broker)
    await broker.stop()


def fetch(offset: int = 0) -> FetchRequest:
    part = FetchRequestPartition(partition=0, fetch_offset=offset, partition_max_bytes=3 * LARGE)
    topic = FetchRequestTopic(topic="orders", partitions=[part])
    return FetchRequest(
        replica_id=-1, max_wait_ms=60_000, min_bytes=1, max_bytes=3 * LARGE, topics=[topic]
    )


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


async def test_a_client_is_served_and_told_of_as_its_certificate_says(
    running: Running, tmp_path: Path
) -> None:
    async with await RawConnection.open(
        running.address, tls=context(tmp_path, client("alice"))
    ) as raw:
        assert (await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)).error_code == 0
        (conn,) = running.broker.connections()
        assert conn.principal == "User:CN=alice"
        assert conn.tls is not None
        assert conn.tls.version == "TLSv1.3"
    (opened,) = running.opened()
    assert (opened.principal, opened.tls_version) == ("User:CN=alice", "TLSv1.3")
    assert opened.tls_cipher == conn.tls.cipher
    async with await RawConnection.open(running.plain) as raw:
        await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert (running.opened()[1].principal, running.opened()[1].tls_version) == (
        "User:ANONYMOUS",
        None,
    )


async def test_large_requests_and_answers_arrive_whole(running: Running, tmp_path: Path) -> None:
    tls = context(tmp_path)
    async with await RawConnection.open(running.address, tls=tls, limit=1 << 20) as raw:
        answer = await raw.call(produce(LARGE), 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0
        found = await raw.call(fetch(), 12, FetchResponse)
        part = found.responses[0].partitions[0]
        assert part.records is not None
        assert len(part.records) > LARGE
        for _ in range(3):
            raw.send(fetch(), 12)
        for _ in range(3):
            again = await raw.receive(FetchResponse, 12)
            assert again.responses[0].partitions[0].records == part.records


async def test_requests_may_be_cut_anywhere(running: Running, tmp_path: Path) -> None:
    async with await RawConnection.open(running.address, tls=context(tmp_path)) as raw:
        for byte in raw.request(ApiVersionsRequest(), 0):
            raw.writer.write(bytes((byte,)))
            await raw.writer.drain()
        assert (await raw.receive(ApiVersionsResponse, 0)).error_code == 0


async def test_what_a_client_does_not_read_is_not_encrypted(
    running: Running, tmp_path: Path
) -> None:
    async with await RawConnection.open(running.address, tls=context(tmp_path), limit=1) as raw:
        for _ in range(2):  # more than the system takes, which is not held here
            await raw.call(produce(LARGE), 9, ProduceResponse)
        raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(8):
            raw.send(fetch(), 12)
        (conn,) = running.broker.connections()
        await until(lambda: conn.blocked)
        server = running.running._server.servers[0]
        (transport,) = server._transports.values()
        assert isinstance(transport, tls_transport.TlsTransport)
        assert transport.inner is not None
        held = transport.inner.get_write_buffer_size()
        assert 0 < held < WRITE_HIGH_WATER_BYTES + 2 * tls_transport.ENCRYPT_BYTES
        assert held < transport.unread_bytes < 3 * LARGE
        raw.writer.transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(8):
            answer = await raw.receive(FetchResponse, 12)
            records = answer.responses[0].partitions[0].records
            assert records is not None
            assert len(records) > LARGE
        assert not conn.blocked
        assert transport.unread_bytes == 0


async def test_a_client_that_runs_ahead_is_not_read(running: Running, tmp_path: Path) -> None:
    async with await RawConnection.open(running.address, tls=context(tmp_path)) as raw:
        end = raw.request(fetch(0), 12)
        request = raw.request(ApiVersionsRequest(), 0)
        raw.writer.write(end + request * 60_000)
        await until(lambda: any(conn.full for conn in running.broker.connections()))
        async with await RawConnection.open(running.plain) as other:
            await other.call(produce(), 9, ProduceResponse)
            server = running.running._server.servers[0]
            (transport,) = (
                one
                for one in server._transports.values()
                if isinstance(one, tls_transport.TlsTransport)
            )
            assert transport._incoming.pending <= CIPHERTEXT_BYTES
        await raw.receive(FetchResponse, 12)
        for _ in range(100):
            await raw.receive(ApiVersionsResponse, 0)


def pieces(*parts: bytes) -> list[Buffer]:
    """What is encrypted at once of these."""
    listener = SimpleNamespace(read_area=memoryview(b""), wrap=lambda *_: None)
    transport = TlsTransport(Admitting(), 1, "SSL", listener)  # type: ignore[arg-type]
    transport._pending = deque(parts)
    found = []
    while transport._pending:
        found.append(transport._next_piece())
    return found


def test_a_large_part_is_encrypted_where_it_is_and_small_ones_together() -> None:
    large = bytes(ENCRYPT_BYTES + RECORD_BYTES + 1)
    head, first, rest, tail = pieces(b"a", b"b", large, b"c")
    assert (head, tail) == (b"ab", b"c")
    assert isinstance(first, memoryview)
    assert isinstance(rest, memoryview)
    assert (first.obj, rest.obj) == (large, large)
    assert (len(first), len(rest)) == (ENCRYPT_BYTES, RECORD_BYTES + 1)
    small = [bytes(RECORD_BYTES)] * (1 + ENCRYPT_BYTES // RECORD_BYTES)
    assert [len(piece) for piece in pieces(*small)] == [ENCRYPT_BYTES, RECORD_BYTES]


# -- handshakes that fail ------------------------------------------------------------------


async def test_a_client_without_tls_is_told_of_and_ended(running: Running) -> None:
    async with await RawConnection.open(running.address) as raw:
        raw.send(ApiVersionsRequest(), 0)
        await until(raw.reader.at_eof)
    assert running.refusals() == ["TLS handshake: the client does not speak TLS"]
    assert running.opened() == []
    assert running.broker.connections_refused == 1
    await until(lambda: running.running._server.servers[0].connections == 0)


async def test_a_client_that_does_not_trust_the_broker_says_so(
    running: Running, tmp_path: Path
) -> None:
    tls = context(tmp_path, trusted="other")

    def talk() -> None:
        host, _, port = running.address.rpartition(":")
        with socket.create_connection((host, int(port)), 20) as plain:
            tls.wrap_socket(plain, server_hostname="localhost")

    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.to_thread(talk)
    await until(lambda: len(running.refusals()) == 1)
    assert running.refusals() == ["TLS handshake: the client says unknown ca"]


@pytest.mark.parametrize("running", [{"ssl.client.auth": "required"}], indirect=True)
@pytest.mark.parametrize(
    ("authority", "days", "reason"),
    [
        (None, 1, "the client showed no certificate"),
        (
            "other",
            30,
            "the client's certificate is refused, unable to get local issuer certificate",
        ),
        ("", -2, "the client's certificate is refused, certificate has expired"),
    ],
)
async def test_a_client_with_a_wrong_certificate_or_none_is_told_why(
    running: Running, tmp_path: Path, authority: str | None, days: int, reason: str
) -> None:
    shown = None if authority is None else client("bob", authority, days)
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        async with await RawConnection.open(running.address, tls=context(tmp_path, shown)) as raw:
            await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert running.refusals() == [f"TLS handshake: {reason}"]
    assert running.opened() == []


@pytest.mark.parametrize(
    "running", [{"ssl.principal.mapping.rules": "RULE:^CN=bob$/bob/"}], indirect=True
)
async def test_a_client_that_no_rule_names_is_sent_away(running: Running, tmp_path: Path) -> None:
    tls = context(tmp_path, client("alice"))
    async with await RawConnection.open(running.address, tls=tls) as raw:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    assert running.refusals() == [
        "TLS handshake: no rule of ssl.principal.mapping.rules is for CN=alice"
    ]
    assert running.opened() == []


async def test_a_rule_breaks_handshakes_off(running: Running, tmp_path: Path) -> None:
    tls = context(tmp_path)
    faults = running.running.cluster.faults
    async with await RawConnection.open(running.address, tls=tls) as old:
        faults.add({"break_handshake": True, "listener": "SSL", "id": "cut"})
        for _ in range(2):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await RawConnection.open(running.address, tls=tls)
        await old.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        async with await RawConnection.open(running.plain) as raw:
            await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    (rule,) = faults.list()
    assert rule.hits == 2
    assert running.refusals() == ["TLS handshake: broken off by cut"] * 2
    running.running.reset()
    async with await RawConnection.open(running.address, tls=tls) as raw:
        await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


async def test_a_handshake_that_takes_too_long_is_ended(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_transport, "HANDSHAKE_SECONDS", 0.3)
    async with await RawConnection.open(running.address) as raw:
        raw.writer.write(b"\x16\x03\x01\x02")
        assert await raw.reader.read() == b""
    assert running.refusals() == ["TLS handshake: it was not done in 0.3 s"]


async def test_one_that_breaks_off_is_told_and_one_that_looks_is_not(running: Running) -> None:
    server = running.running._server.servers[0]
    for sent in (b"", b"\x16\x03\x01\x02"):
        async with await RawConnection.open(running.address) as raw:
            raw.writer.write(sent)
            await until(lambda: server.connections == 1)
        await until(lambda: server.connections == 0)
    assert running.refusals() == ["TLS handshake: the client has hung up"]


@pytest.mark.parametrize("running", [{"max.connections.per.ip": "1"}], indirect=True)
async def test_a_handshake_counts_as_a_connection(running: Running, tmp_path: Path) -> None:
    server = running.running._server.servers[0]
    async with await RawConnection.open(running.address) as raw:
        await until(lambda: server.connections == 1)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await RawConnection.open(running.address, tls=context(tmp_path))
        assert "max.connections.per.ip" in running.refusals()[0]
        raw.writer.close()
    await until(lambda: server.connections == 0)
    async with await RawConnection.open(running.address, tls=context(tmp_path)) as raw:
        await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


@pytest.mark.parametrize("running", [{"max.connections": "1"}], indirect=True)
async def test_one_that_waits_for_room_shakes_hands_later(running: Running, tmp_path: Path) -> None:
    tls = context(tmp_path)
    server = running.running._server.servers[0]
    async with await RawConnection.open(running.address, tls=tls):
        opening = asyncio.create_task(RawConnection.open(running.address, tls=tls))
        await until(lambda: len(server._waiting) == 1)
        assert not opening.done()
    async with await opening as raw:
        await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


async def test_a_broker_that_goes_down_ends_handshakes_and_comes_back(tmp_path: Path) -> None:
    broker = await launch(Settings(listeners=["SSL://:0"], brokers=2, config=configs()))
    try:
        server, tls = broker._server.servers[0], context(tmp_path)
        address = broker.bootstrap_servers.split(",")[0]
        async with await RawConnection.open(address) as raw:
            raw.writer.write(b"\x16\x03\x01\x02")
            await until(lambda: server.connections == 1)
            broker.act(lambda cluster: cluster.controls.kill(1))
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await raw.reader.readexactly(1)
        assert not any(type(one) is ConnectionRefused for one in broker.journal.events())
        broker.act(lambda cluster: cluster.controls.revive(1))
        async with await RawConnection.open(address, tls=tls) as raw:
            await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    finally:
        await broker.stop()


# -- certificates that change --------------------------------------------------------------


async def alter(raw: RawConnection, shown: Certificate) -> tuple[int, str | None]:
    """What a broker answers to a new certificate of its listener."""
    store = "listener.name.ssl.ssl.keystore."
    texts = {f"{store}key": shown.key, f"{store}certificate.chain": shown.certificate}
    changes = [IncrementalAlterableConfig(name, 0, text) for name, text in texts.items()]
    request = IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(4, "1", changes)])
    (answer,) = (await raw.call(request, 1, IncrementalAlterConfigsResponse)).responses
    return answer.error_code, answer.error_message


async def shown_to(address: str, tls: ssl.SSLContext) -> bytes | None:
    """The certificate of the broker, as a client that connects now is shown it."""
    async with await RawConnection.open(address, tls=tls) as raw:
        await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        end: ssl.SSLObject = raw.writer.get_extra_info("ssl_object")
        return end.getpeercert(binary_form=True)


async def test_certificates_are_exchanged_while_clients_are_connected(
    running: Running, tmp_path: Path
) -> None:
    tls = context(tmp_path)
    before = await shown_to(running.address, tls)
    async with await RawConnection.open(running.address, tls=tls) as raw:
        assert await alter(raw, server(60)) == (0, None)
        after = await shown_to(running.address, tls)
        assert after == ssl.PEM_cert_to_DER_cert(server(60).certificate) != before
        await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        code, message = await alter(raw, client("alice"))
        assert code == 42
        assert message is not None
        assert "Keystore DistinguishedName does not match" in message
        assert await shown_to(running.address, tls) == after
        assert await alter(raw, server(-2)) == (0, None)  # as Kafka: the test may want to see it
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            await shown_to(running.address, tls)
        running.running.reset()
        assert await shown_to(running.address, tls) == before
        await raw.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


# -- the end -------------------------------------------------------------------------------


async def test_the_end_is_said(running: Running, tmp_path: Path) -> None:
    tls = context(tmp_path)

    def talk() -> bytes:
        host, _, port = running.address.rpartition(":")
        with (
            socket.create_connection((host, int(port)), 20) as plain,
            tls.wrap_socket(
                plain, server_hostname="localhost", suppress_ragged_eofs=False
            ) as secured,
        ):
            secured.sendall(b"\xff\xff\xff\xff")  # no length of a frame
            return secured.recv(10)

    assert await asyncio.to_thread(talk) == b""


async def test_an_answer_that_comes_after_the_end_is_dropped(
    running: Running, tmp_path: Path
) -> None:
    """A fetch waits while its client ends, and is answered before its socket is gone."""
    raw = await RawConnection.open(running.address, tls=context(tmp_path))
    raw.send(fetch(), 12)
    purgatory = running.broker.services.replicas.fetch_purgatory
    await until(lambda: purgatory.num_delayed_operations == 1)
    server = running.running._server.servers[0]
    (transport,) = server._transports.values()
    transport.close()
    transport.write(Outgoing(transport.id, [b"late"], 4, False, True))
    transport.write(Outgoing(transport.id, [bytes(LARGE)], LARGE, False, True))
    assert transport.unread_bytes < LARGE
    await until(lambda: server.connections == 0)
    assert purgatory.num_delayed_operations == 0
    raw.writer.transport.abort()


async def test_a_client_that_ends_is_forgotten(running: Running, tmp_path: Path) -> None:
    raw = await RawConnection.open(running.address, tls=context(tmp_path))
    await until(lambda: len(running.broker.connections()) == 1)
    raw.writer.close()
    await raw.writer.wait_closed()
    await until(lambda: running.broker.connections() == [])


async def test_a_client_that_closes_when_it_has_sent_all_is_not_cut_off(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Aside[object], Callable[[], None]]] = []
    running.broker.requests.beside = lambda work, then: given.append((work, then))
    records = [Record(index, 0, None, b"v" * 1000) for index in range(5_000)]
    batch = build_batch(records, compression=ZSTD)
    topic = ProduceRequestTopic("orders", partition_data=[ProduceRequestPartition(0, batch)])
    monkeypatch.setattr("mockbroker.apis.produce.LARGE_BATCH_BYTES", 100)
    async with await RawConnection.open(running.address, tls=context(tmp_path)) as raw:
        for _ in range(2):
            raw.send(ProduceRequest(None, 0, 1000, [topic]), 9)
        await until(lambda: len(given) == 1)
        raw.writer.close()
        server = running.running._server
        (transport,) = server.servers[0]._transports.values()
        assert isinstance(transport, tls_transport.TlsTransport)
        await until(lambda: transport._has_ended)
        transport.go_on()  # as when there is room again for what a client sends
        raw.writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
        for _ in range(20):
            await asyncio.sleep(0)
        assert server.servers[0].connections == 1
        for _ in range(2):
            await until(lambda: bool(given))
            work, then = given.pop()
            work.run()
            then()
            server.end_step()
        await until(lambda: server.servers[0].connections == 0)
    partition = running.broker.services.replicas.partition("orders", 0)
    assert partition is not None
    assert partition.high_watermark == 10_000


async def test_what_was_not_encrypted_ends_its_connection_alone(
    running: Running, tmp_path: Path
) -> None:
    tls = context(tmp_path)
    async with await RawConnection.open(running.address, tls=tls) as other:
        raw = await RawConnection.open(running.address, tls=tls)
        await until(lambda: len(running.broker.connections()) == 2)
        sock = raw.writer.get_extra_info("socket")
        fake = socket.socket(fileno=socket.dup(sock.fileno()))
        fake.send(b"\x17\x03\x03\x00\x10" + bytes(16))
        fake.close()
        await until(lambda: len(running.broker.connections()) == 1)
        raw.writer.transport.abort()
        await other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


def test_a_reason_is_in_words() -> None:
    error = ssl.SSLError(1, "[SSL: NO_SUITABLE_SIGNATURE_ALGORITHM] x")
    error.reason = "NO_SUITABLE_SIGNATURE_ALGORITHM"
    assert reason_of(error) == "no suitable signature algorithm"
    error.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert reason_of(error) == "the client says certificate required"


# -- by hand -------------------------------------------------------------------------------


class RecordedSocket:
    """Keeps the options that are set."""

    def __init__(self) -> None:
        self.options: list[tuple[int, ...]] = []

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)


class HeldTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self, sock: RecordedSocket) -> None:
        super().__init__({"socket": sock})
        self.written = ssl.MemoryBIO()

    def write(self, data: object) -> None:
        assert isinstance(data, bytes)
        self.written.write(data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There are none."""

    def is_closing(self) -> bool:
        return True


class Admitting:
    """Lets everybody in."""

    def __init__(self) -> None:
        self.served: list[object] = []
        self.node = SimpleNamespace(handshake_faults=None)

    def opened(self, transport: tls_transport.TlsTransport) -> None:
        transport.admitted()

    def connected(self, transport: tls_transport.TlsTransport) -> None:
        self.served.append(transport.session)


@pytest.mark.skipif(tls_transport.QUICK_ACK < 0, reason="of Linux alone")
async def test_the_end_of_a_handshake_is_acknowledged_at_once(tmp_path: Path) -> None:
    listener = TlsListener(BrokerConfig(configs()), "SSL", logs_in=False)
    server, sock = Admitting(), RecordedSocket()
    transport = tls_transport.TlsTransport(server, 1, "SSL", listener)  # type: ignore[arg-type]
    held = HeldTransport(sock)
    transport.connection_made(held)
    sent = ssl.MemoryBIO()
    theirs = context(tmp_path).wrap_bio(held.written, sent, server_hostname="localhost")
    for _ in range(2):
        assert (server.served, sock.options) == ([], [])
        try:
            theirs.do_handshake()
        except ssl.SSLWantReadError:
            pass
        data = sent.read()
        transport.get_buffer(-1)[: len(data)] = data
        transport.buffer_updated(len(data))
    assert len(server.served) == 1
    assert sock.options == [(socket.IPPROTO_TCP, tls_transport.QUICK_ACK, 1)]
