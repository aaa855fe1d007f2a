"""One connection's shell: how chunks are written, and when the socket is read."""

from __future__ import annotations

import asyncio
from random import Random
from typing import cast

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.network.beside import Beside
from mockbroker.network.freed_memory import FreedMemory
from mockbroker.network.socket_server import SocketServer
from mockbroker.network.timekeeper import TimeKeeper
from mockbroker.network.transport import (
    JOIN_LIMIT_BYTES,
    WRITE_HIGH_WATER_BYTES,
    ClientTransport,
)
from mockbroker.network.turn import Turn
from mockbroker.node.outbox import Outgoing


class FakeSocket(asyncio.Transport):
    """Records what asyncio is asked to do."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 9092)})
        self.calls: list[tuple[str, object]] = []

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.calls.append(("limits", high))

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: object) -> None:
        self.calls.append(("write", data))

    def writelines(self, list_of_data: object) -> None:
        self.calls.append(("writelines", list_of_data))

    def close(self) -> None:
        self.calls.append(("close", None))

    def abort(self) -> None:
        self.calls.append(("abort", None))

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.calls.append(("pause", None))

    def resume_reading(self) -> None:
        self.calls.append(("resume", None))


def socket_server(cluster: Cluster) -> SocketServer:
    server = SocketServer(
        cluster.nodes[0],
        TimeKeeper(cluster),
        lambda: None,
        Turn(),
        Beside(lambda: None),
        FreedMemory(),
    )
    server.is_open = True
    return server


def connected() -> tuple[ClientTransport, FakeSocket]:
    cluster = Cluster({}, {}, substream=Random, epoch_ms=0)
    transport = socket_server(cluster).accept("PLAINTEXT")
    socket = FakeSocket()
    transport.connection_made(socket)
    socket.calls.clear()
    return transport, socket


def test_one_chunk_is_written_as_it_is() -> None:
    transport, socket = connected()
    chunk = bytes(10)
    transport.write(Outgoing(1, [chunk], 10, close=False))
    assert socket.calls == [("write", chunk)]
    assert socket.calls[0][1] is chunk


def test_small_chunks_go_out_as_one() -> None:
    transport, socket = connected()
    transport.write(Outgoing(1, [b"ab", b"cd"], 4, close=False))
    assert socket.calls == [("write", b"abcd")]


def test_large_answers_are_not_joined() -> None:
    transport, socket = connected()
    large = memoryview(bytes(JOIN_LIMIT_BYTES))
    transport.write(Outgoing(1, [b"head", large], 4 + JOIN_LIMIT_BYTES, close=False))
    call = socket.calls[0]
    assert call[0] == "writelines"
    assert cast("list[object]", call[1])[1] is large


@pytest.mark.parametrize(
    ("forgets", "after"), [(True, [("limits", WRITE_HIGH_WATER_BYTES)]), (False, [])]
)
def test_the_write_buffer_is_looked_at_again_where_asyncio_forgets_to(
    monkeypatch: pytest.MonkeyPatch, forgets: bool, after: list[object]
) -> None:
    monkeypatch.setattr("mockbroker.network.transport.WRITELINES_FORGETS_TO_PAUSE", forgets)
    transport, socket = connected()
    transport.write(Outgoing(1, [b"a", bytes(JOIN_LIMIT_BYTES)], 1 + JOIN_LIMIT_BYTES, close=False))
    assert socket.calls[1:] == after


def test_a_refused_client_gets_its_last_answer_before_the_close() -> None:
    transport, socket = connected()
    transport.write(Outgoing(1, [b"x"], 1, close=True))
    assert [name for name, _ in socket.calls] == ["write", "close"]


async def test_reading_is_paused_and_resumed_once() -> None:
    transport, socket = connected()
    for read in (True, False, False, True):
        transport.write(Outgoing(1, [], 0, close=False, read=read))
    assert [name for name, _ in socket.calls] == ["pause", "resume"]


def test_nothing_is_done_once_the_socket_is_gone() -> None:
    transport, socket = connected()
    transport.connection_lost(None)
    transport.write(Outgoing(1, [b"x"], 1, close=True))
    transport.close()
    transport.abort()
    assert socket.calls == []


def test_a_full_write_buffer_blocks_the_connection_in_the_core() -> None:
    cluster = Cluster({}, {}, substream=Random, epoch_ms=0)
    broker = cluster.brokers[0]
    transport = socket_server(cluster).accept("PLAINTEXT")
    transport.connection_made(FakeSocket())
    (connection,) = broker.connections()
    transport.pause_writing()
    assert connection.blocked
    transport.resume_writing()
    assert not connection.blocked
