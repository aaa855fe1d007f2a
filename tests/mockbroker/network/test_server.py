"""Three brokers on three ports in one loop: a step of one is a step of all."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.cluster import Cluster
from mockbroker.network.acceptor import listening_socket
from mockbroker.network.server import ClusterServer
from mockbroker.network.timekeeper import TimeKeeper
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from scripts.bench import calls
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Served:
    def __init__(self, server: ClusterServer, addresses: list[tuple[str, int]]) -> None:
        self.server = server
        self.cluster = server.cluster
        self.addresses = [f"{host}:{port}" for host, port in addresses]

    async def metadata(self, index: int) -> MetadataResponse:
        async with await RawConnection.open(self.addresses[index]) as client:
            return await client.call(MetadataRequest(topics=None), 8, MetadataResponse)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    cluster = Cluster({}, {"t": 1}, substream=Random, epoch_ms=0, brokers=3)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    addresses = await server.start(
        "PLAINTEXT",
        "127.0.0.1",
        [0, 0, 0],
        lambda index, port: cluster.advertise(index, None, port),
    )
    yield Served(server, addresses)
    await server.stop()


async def test_each_broker_tells_the_ports_of_all(served: Served) -> None:
    for index in range(3):
        answer = await served.metadata(index)
        assert [f"{each.host}:{each.port}" for each in answer.brokers] == served.addresses


async def test_nobody_is_accepted_before_all_ports_are_told() -> None:
    cluster = Cluster({}, {}, substream=Random, epoch_ms=0, brokers=3)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    bound: list[int] = []
    met: list[int] = []

    def advertise(index: int, port: int) -> None:
        bound.append(port)
        for each in bound:
            with socket.socket() as client:
                met.append(client.connect_ex(("127.0.0.1", each)))
        cluster.advertise(index, None, port)

    addresses = await server.start("PLAINTEXT", "127.0.0.1", [0, 0, 0], advertise)
    try:
        assert met == [errno.ECONNREFUSED] * 6
        assert [port for _, port in addresses] == bound
        served = Served(server, addresses)
        assert [each.port for each in (await served.metadata(0)).brokers] == bound
    finally:
        await server.stop()


async def test_the_alarm_of_all_rings_for_each(served: Served) -> None:
    broker = served.cluster.brokers[2]
    rang = asyncio.Event()
    timer = broker.services.timer
    served.server.act(lambda: timer.schedule(broker.services.clock.now_ms + 5, rang.set))
    async with asyncio.timeout(60):
        await rang.wait()


async def test_a_killed_broker_refuses_and_serves_again_on_its_port(served: Served) -> None:
    async with await RawConnection.open(served.addresses[1]) as client:
        await client.call(MetadataRequest(topics=None), 8, MetadataResponse)
        served.server.act(lambda: served.cluster.controls.kill(2))
        assert await client.closed_by_peer()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await served.metadata(1)
    assert [each.node_id for each in (await served.metadata(0)).brokers] == [1, 3]
    served.server.act(lambda: served.cluster.controls.revive(2))
    assert [each.node_id for each in (await served.metadata(1)).brokers] == [1, 2, 3]


async def test_who_was_accepted_by_a_broker_that_went_down_meanwhile_is_cut_off(
    served: Served,
) -> None:
    """Its broker's next incarnation knows nothing of that connection."""
    told: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: told.append(context))
    late = served.server.servers[1].accept("PLAINTEXT")
    served.server.act(lambda: served.cluster.controls.stop(2))
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with theirs:
        await loop.connect_accepted_socket(lambda: late, ours)
        served.server.act(lambda: served.cluster.controls.revive(2))
        with suppress(BrokenPipeError):
            theirs.send(bytes(8))
        assert await loop.sock_recv(theirs, 1) == b""
    assert told == []


async def test_a_broker_whose_port_was_taken_meanwhile_listens_once_it_is_free(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockbroker.network.socket_server.REOPEN_SECONDS", 0)
    served.server.act(lambda: served.cluster.controls.kill(2))
    with listening_socket("127.0.0.1", int(served.addresses[1].rpartition(":")[2])) as taken:
        taken.listen()
        served.server.act(lambda: served.cluster.controls.revive(2))
        assert served.cluster.broker(2) is not None
    async with asyncio.timeout(60):
        while True:
            with suppress(ConnectionRefusedError):
                await served.metadata(1)
                break


async def test_steps_are_told(served: Served) -> None:
    steps: list[int] = []
    served.server.after_step = lambda: steps.append(1)
    assert served.server.act(lambda: 7) == 7
    assert steps


async def test_a_port_that_is_taken_leaves_nothing_behind(served: Served) -> None:
    cluster = Cluster({}, {}, substream=Random, epoch_ms=0, brokers=2)
    server = ClusterServer(cluster, TimeKeeper(cluster))
    taken = int(served.addresses[0].rpartition(":")[2])
    with pytest.raises(OSError, match="in use"):
        await server.start("PLAINTEXT", "127.0.0.1", [0, taken], lambda _index, _port: None)


def test_a_request_costs_no_more_work_than_it_did() -> None:
    """From bytes read to bytes written. What fails here made each request of all clients slower."""
    costs = calls.measure()
    bounds = {
        "ApiVersions": (130, 1290),
        "Metadata of one topic": (58, 460),
        "Fetch of one partition, empty": (60, 514),
        "Fetch of one partition, one batch": (71, 608),
        "Fetch of a session of 1,000 partitions, empty": (57, 392),
        "Produce of one record": (102, 807),
        "Heartbeat": (52, 316),
        "OffsetCommit of one partition": (166, 1045),
        "OffsetFetch of one partition": (66, 500),
    }
    assert costs.keys() == bounds.keys()
    over = {
        name: (cost, bounds[name])
        for name, cost in costs.items()
        if any(found > bound for found, bound in zip(cost, bounds[name], strict=True))
    }
    assert over == {}


def test_the_extension_costs_an_ordinary_client_one_look() -> None:
    """A function that finds no tagged fields and nobody who uses it: within 1 % of a request."""
    plain = calls.measure()
    extended = calls.measure({"coop.extension.enable": "true"})
    more = {name: cost.calls - plain[name].calls for name, cost in extended.items()}
    assert more.pop("Produce of one record") == more.pop("Heartbeat") == 0
    assert more.pop("OffsetCommit of one partition") <= 2
    assert set(more.values()) == {1}
