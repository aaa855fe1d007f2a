"""The listeners of several brokers: one server each, one step, one timer for all.

`launch` makes it for a cluster of more than one broker. A step of any broker ends with the
cluster's drain, so what brokers send each other arrives before anything is written to clients. A
broker that goes down loses its listener and connections as a dead process does; one that comes
back listens at its old port.

Invariants: the one timer is armed at or before the earliest deadline of all; after `stop` no socket
and no timer is left.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from mockbroker.network.alarm import Alarm
from mockbroker.network.server import BACKLOG, LISTENER, BrokerServer, listening_socket

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.network.server import Door
    from mockbroker.network.timekeeper import TimeKeeper
    from mockbroker.network.transport import ClientTransport
    from mockbroker.node.broker import Broker

T = TypeVar("T")


class MemberServer(BrokerServer):
    """One broker's listener; steps end in the cluster's."""

    def __init__(self, group: ClusterServer, broker: Broker, index: int) -> None:
        # The group's alarm is the only one.
        super().__init__(broker, group.timekeeper, Alarm(group.timekeeper, _never, _nothing))
        self._group = group
        self._index = index

    def crash(self) -> None:
        """Its broker is gone: so are listeners and connections, whatever was to be written."""
        self._open = False
        for door in self._doors:
            door.shut()
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            transport.abort()

    def leave(self) -> None:
        """Its broker stops cleanly: what it wanted written is sent before the connections close."""
        self.write_outbox()
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            transport.close()

    def come_back(self, broker: Broker) -> None:
        """Serve another life of the broker; clients may connect from now on."""
        self.broker = broker
        broker.on_network_faults = self._reshape
        if self._stopping:
            return
        self._open = True
        for door in self._doors:
            if door.name not in self._refusing:
                self._come_back_at(door)

    def _come_back_at(self, door: Door) -> None:
        assert self._loop is not None
        loop = self._loop
        sock = listening_socket(door.host, door.port)
        sock.listen(BACKLOG)

        async def reopen() -> None:
            door.server = await loop.create_server(
                lambda: self._accept(door.name), sock=sock, backlog=BACKLOG
            )

        door.opening = loop.create_task(reopen())

    def lost(self, transport: ClientTransport) -> None:
        """A connection ended; one of an earlier life concerns nobody."""
        if transport.id in self._transports:
            super().lost(transport)

    def write_outbox(self) -> None:
        """Write what this broker wants written."""
        transports = self._transports
        for outgoing in self._group.cluster.take_outbox(self._index):
            transport = transports.get(outgoing.connection_id)
            if transport is not None:
                transport.write(outgoing)
                if outgoing.more:
                    assert self._loop is not None
                    self._loop.call_soon(self._resume, outgoing.connection_id)

    def _after_step(self) -> None:
        self._group.end_step()


def _never() -> None:
    """No deadline."""


def _nothing() -> None:
    """Nobody rings."""


class ClusterServer:
    """Serves all brokers of a cluster on TCP."""

    def __init__(self, cluster: Cluster, timekeeper: TimeKeeper) -> None:
        fabric = cluster.fabric
        assert fabric is not None
        self.cluster = cluster
        self.timekeeper = timekeeper
        self.after_step: Callable[[], None] | None = None
        """Called after each step, while someone waits for what a step may bring."""
        self._servers = [
            MemberServer(self, broker, index) for index, broker in enumerate(cluster.brokers)
        ]
        self._alarm = Alarm(timekeeper, cluster.next_deadline, self._ring)
        fabric.on_leaving.append(lambda index: self._servers[index].leave())
        fabric.on_down.append(lambda index: self._servers[index].crash())
        fabric.on_up.append(self._came_back)

    async def start(
        self,
        host: str,
        ports: Sequence[int],
        name: str = LISTENER,
        advertise: Callable[[int, int], None] | None = None,
    ) -> list[tuple[str, int]]:
        """Listen on a port for each broker (0: any free one); returns the addresses bound.

        All are bound before any accepts: meanwhile `advertise(index, port)` is called for each
        broker, so that the first client is told all of them. Raises OSError when one cannot be
        bound; nothing listens then. Called again the brokers listen there too, under another name.
        """
        addresses: list[tuple[str, int]] = []
        try:
            for server, port in zip(self._servers, ports, strict=True):
                addresses.append(await server.bind(host, port, name))
            if advertise is not None:
                for index, (_, port) in enumerate(addresses):
                    advertise(index, port)
            self.end_step()
            for server in self._servers:
                await server.serve()
        except BaseException:
            await self.stop()
            raise
        self._alarm.start(asyncio.get_running_loop())
        return addresses

    async def stop(self) -> None:
        """Stop accepting, answer what is parked, close every connection."""
        for server in self._servers:
            await server.stop()
        self._alarm.stop()

    def act(self, action: Callable[[], T]) -> T:
        """Someone in this process looks or acts: a step as any other."""
        self.cluster.set_time(self.timekeeper.now_ms())
        try:
            return action()
        finally:
            self.end_step()

    def end_step(self) -> None:
        """Let arrive what brokers sent each other, write to clients, see to the timer."""
        self.cluster.drain(self.timekeeper.now_ms())
        for server in self._servers:
            server.write_outbox()
        self._alarm.rearm()
        if self.after_step is not None:
            self.after_step()

    def _came_back(self, index: int) -> None:
        fabric = self.cluster.fabric
        assert fabric is not None
        life = fabric.members[index].life
        assert life is not None
        self._servers[index].come_back(life.broker)

    def _ring(self) -> None:
        try:
            self.cluster.tick(self.timekeeper.now_ms())
        finally:
            self.end_step()
