"""A listening socket that is bound, serves, is shut and opened again at its address."""

from __future__ import annotations

import asyncio

import pytest

from mockbroker.network.acceptor import Acceptor, listening_socket


class Client(asyncio.Protocol):
    """Accepted, and cut off at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


def acceptor(port: int = 0) -> Acceptor:
    return Acceptor("PLAINTEXT", "127.0.0.1", port, Client)


async def is_reached(address: tuple[str, int]) -> bool:
    try:
        reader, writer = await asyncio.open_connection(*address)
    except ConnectionRefusedError:
        return False
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    return True


async def test_it_listens_once_it_serves_until_it_is_shut() -> None:
    one = acceptor()
    address = await one.bind()
    assert address == ("127.0.0.1", one.port)
    assert not await is_reached(address)
    await one.serve()
    assert await is_reached(address)
    one.shut()
    assert not await is_reached(address)


async def test_it_listens_again_at_its_old_port_at_once() -> None:
    one = acceptor()
    address = await one.bind()
    one.shut()
    one.listen_again()
    assert await is_reached(address)
    assert one.opening is not None
    await one.opening
    one.shut()
    assert not await is_reached(address)


async def test_one_that_is_shut_before_it_is_open_again_stays_shut() -> None:
    one = acceptor()
    address = await one.bind()
    one.shut()
    one.listen_again()
    one.shut()
    assert one.opening is not None
    await one.opening
    assert not await is_reached(address)


async def test_a_port_that_is_taken_is_told() -> None:
    with listening_socket("127.0.0.1", 0) as taken:
        taken.listen()
        one = acceptor(taken.getsockname()[1])
        with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
            await one.bind()
        with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
            one.listen_again()


def test_ipv6_addresses_are_bound_too() -> None:
    with listening_socket("::1", 0) as sock:
        assert sock.getsockname()[0] == "::1"
