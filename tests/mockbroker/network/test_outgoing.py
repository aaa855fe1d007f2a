"""Connections to other processes, against servers of the test."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import pytest

from mockbroker.network import outgoing
from mockbroker.network.outgoing import OutgoingConnections

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mockbroker.cluster.interconnect import Interconnect

HOST = "127.0.0.1"


class Told:
    """The cluster's side; each thing that happens is a step."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.news: asyncio.Queue[tuple[int, bytes | None]] = asyncio.Queue()
        self.connections = OutgoingConnections(
            cast("Interconnect", self),
            lambda: self.steps.append("begin"),
            lambda: self.steps.append("end"),
        )

    def received_outside(self, connection_id: int, data: bytes) -> None:
        self.steps.append("received")
        self.news.put_nowait((connection_id, data))

    def lost_outside(self, connection_id: int) -> None:
        self.steps.append("lost")
        self.news.put_nowait((connection_id, None))


class Clients:
    """Who is connected to a server, and when nobody is any more."""

    def __init__(self) -> None:
        self.connected: list[asyncio.Transport] = []
        self.nobody = asyncio.Event()
        self.nobody.set()


class Echo(asyncio.Protocol):
    """Says back what it is told."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.clients.connected.append(self.transport)
        self.clients.nobody.clear()

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.clients.connected.remove(self.transport)
        if not self.clients.connected:
            self.clients.nobody.set()


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[int, Clients]]:
    """A port that says back what it is told, and who is connected."""
    clients = Clients()
    server = await asyncio.get_running_loop().create_server(lambda: Echo(clients), HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1], clients
    finally:
        server.close()
        for client in clients.connected:
            client.abort()
        await clients.nobody.wait()


async def test_the_first_bytes_connect_and_answers_are_steps() -> None:
    told = Told()
    async with echoing() as (port, clients):
        told.connections.send(-1, HOST, port, b"a")
        told.connections.send(-1, HOST, port, b"b")
        assert await told.news.get() == (-1, b"ab")
        assert told.steps == ["begin", "received", "end"]
        told.connections.send(-1, HOST, port, b"c")
        assert await told.news.get() == (-1, b"c")
        assert len(clients.connected) == len(told.connections) == 1
        told.connections.stop()


async def test_who_hangs_up_is_lost_once() -> None:
    told = Told()
    async with echoing() as (port, clients):
        told.connections.send(-1, HOST, port, b"a")
        await told.news.get()
        clients.connected[0].abort()
        assert await told.news.get() == (-1, None)
        assert told.steps[-3:] == ["begin", "lost", "end"]
        assert len(told.connections) == 0


async def test_nobody_there_is_a_connection_lost() -> None:
    told = Told()
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
    told.connections.send(-1, HOST, port, b"a")
    assert await told.news.get() == (-1, None)
    told.connections.send(-2, "no.such.host.invalid", port, b"a")
    assert await told.news.get() == (-2, None)
    told.connections.send(-3, "a" * 70, port, b"a")
    assert await told.news.get() == (-3, None)


async def test_a_connection_that_takes_too_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    monkeypatch.setattr(outgoing, "CONNECT_SECONDS", 0.0)
    async with echoing() as (port, _):
        told.connections.send(-1, HOST, port, b"a")
        assert await told.news.get() == (-1, None)


async def test_what_was_closed_is_told_of_no_more() -> None:
    told = Told()
    async with echoing() as (port, clients):
        told.connections.send(-1, HOST, port, b"a")
        told.connections.close(-1)  # while it is being opened
        told.connections.send(-2, HOST, port, b"b")
        assert await told.news.get() == (-2, b"b")
        told.connections.close(-2)
        told.connections.close(-2)
        told.connections.send(-3, HOST, port, b"c")
        assert await told.news.get() == (-3, b"c")
        assert len(told.connections) == 1
        told.connections.stop()
        assert len(told.connections) == 0
        await clients.nobody.wait()
        assert told.news.empty()


async def test_there_are_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    monkeypatch.setattr(outgoing, "MAX_CONNECTIONS", 1)
    async with echoing() as (port, _):
        told.connections.send(-1, HOST, port, b"a")
        told.connections.send(-2, HOST, port, b"b")
        assert told.steps == []
        news = {await told.news.get(), await told.news.get()}
        assert news == {(-1, b"a"), (-2, None)}
        told.connections.stop()
