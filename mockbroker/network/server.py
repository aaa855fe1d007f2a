"""Serves the brokers of a cluster on TCP: one step, one write loop and one timer for all of them.

`server.launch` makes it in a running loop. A step of any broker ends in `end_step`: what brokers
sent each other arrives before anything is written to clients.

Invariants: the one timer is armed at or before the earliest deadline of all; after `stop` no socket
and no timer is left.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.journal import LoopBlocked
from mockbroker.network.alarm import Alarm
from mockbroker.network.beside import Beside
from mockbroker.network.freed_memory import FreedMemory
from mockbroker.network.socket_server import SocketServer
from mockbroker.network.spin import Spin
from mockbroker.network.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.cluster.nodes import Node
    from mockbroker.network.acceptor import Acceptor
    from mockbroker.network.outgoing import OutgoingConnections
    from mockbroker.network.timekeeper import TimeKeeper
    from mockbroker.network.tls_transport import TlsListener

T = TypeVar("T")
BLOCKED_SECONDS: Final = 0.25
"""A step that takes longer is told in the journal: nobody else was served meanwhile."""


class ClusterServer:
    """Serves all brokers of a cluster, one or several."""

    def __init__(self, cluster: Cluster, timekeeper: TimeKeeper) -> None:
        self.cluster = cluster
        self.timekeeper = timekeeper
        self.after_step: Callable[[], None] | None = None
        """Called after each step, while someone waits for what a step may bring."""
        self.turn = Turn()
        self._beside = Beside(self.end_step)
        self._freed = FreedMemory()
        self.servers = [self._server_of(node) for node in cluster.nodes]
        """Of the brokers, and then of the controller."""
        self._outgoing: OutgoingConnections | None = None
        self._alarm = Alarm(timekeeper, cluster.next_deadline, self._ring)
        self._spin = Spin.of(cluster.nodes[0].config)
        self._running = False
        self._going_on = False

    def _server_of(self, node: Node) -> SocketServer:
        return SocketServer(
            node, self.timekeeper, self.end_step, self.turn, self._beside, self._freed
        )

    async def start(
        self,
        name: str,
        host: str,
        ports: Sequence[int],
        advertise: Callable[[int, int], None],
        tls: Sequence[TlsListener] = (),
    ) -> list[tuple[str, int]]:
        """Listen on a port for each broker (0: any free one); returns the addresses bound.

        All are bound before any accepts: meanwhile `advertise(index, port)` is called for each
        broker, so that the first client is told all of them. Raises OSError when one cannot be
        bound; nothing listens there then. Called again the brokers listen there too, under
        another name. With TLS there is one of `tls` for each broker.
        """
        return await self._listen(self.servers, name, host, ports, advertise, tls)

    async def start_controller(
        self, name: str, host: str, port: int, bound: Callable[[int], None]
    ) -> None:
        """Let the controller listen for brokers of other processes; no fault rule shuts it.

        `bound` is told the port before anyone may connect to it. Raises OSError.
        """
        from mockbroker.network.outgoing import OutgoingConnections

        node = self.cluster.add_controller()
        controller = self._server_of(node)
        self.servers.append(controller)
        self._outgoing = OutgoingConnections(
            self.cluster.interconnect,
            lambda: self.cluster.set_time(self.timekeeper.now_ms()),
            self.end_step,
        )
        self.cluster.interconnect.outside = self._outgoing
        await self._listen([controller], name, host, [port], lambda _, port: bound(port))

    async def _listen(
        self,
        servers: Sequence[SocketServer],
        name: str,
        host: str,
        ports: Sequence[int],
        bound: Callable[[int, int], None],
        tls: Sequence[TlsListener] = (),
    ) -> list[tuple[str, int]]:
        opened: list[tuple[SocketServer, Acceptor]] = []
        addresses: list[tuple[str, int]] = []
        try:
            for index, (broker, port) in enumerate(zip(servers, ports, strict=False)):
                own = tls[index] if tls else None
                acceptor, address = await broker.bind(name, host, port, own)
                acceptor.refusable = broker.node in self.cluster.nodes
                opened.append((broker, acceptor))
                addresses.append(address)
            for index, (_, port) in enumerate(addresses):
                bound(index, port)
            now_ms = self.timekeeper.now_ms()
            self.cluster.set_time(now_ms)
            self.cluster.drain(now_ms)
            self.end_step()
            for broker, acceptor in opened:
                await broker.serve(acceptor)
        except BaseException:
            for broker, acceptor in opened:
                broker.remove(acceptor)
            raise
        self._running = True
        self._alarm.start(asyncio.get_running_loop())
        return addresses

    async def stop(self) -> None:
        """Stop accepting, answer what is parked, close every connection."""
        for each in self.servers:
            await each.stop_accepting()
        if self._running:
            self._running = False
            now_ms = self.timekeeper.now_ms()
            self.turn.unlimited = True
            self.cluster.release_parked(now_ms)
            self.end_step()
            if self._outgoing is not None:
                self._outgoing.stop()
            await asyncio.gather(*(each.close() for each in self.servers))
        self._alarm.stop()
        self._freed.stop()
        if self._spin is not None:
            self._spin.stop()

    def act(self, action: Callable[[], T]) -> T:
        """Someone in this process looks or acts, in this server's loop: a step as any other."""
        now_ms = self.timekeeper.now_ms()
        self.cluster.set_time(now_ms)
        self.turn.unlimited = True
        try:
            return action()
        finally:
            self.turn.unlimited = False
            self.cluster.drain(now_ms)
            self.end_step()

    def end_step(self) -> None:
        """After a verb: let arrive what brokers sent each other, write, see to the timer."""
        arrive = self.cluster.end_step
        if arrive is not None:
            arrive()
        for each in self.servers:
            each.write_outbox()
            if each.broker.requests.unfinished and not self._going_on:
                self._going_on = True
                asyncio.get_running_loop().call_soon(self._let_others_go_first)
        self._alarm.rearm()
        self.turn.ends = 0.0
        if monotonic() - self.timekeeper.read_seconds > BLOCKED_SECONDS:
            self._tell_blocked()
        if self.after_step is not None:
            self.after_step()
        if self._spin is not None and self._running:
            self._spin.stepped()

    def _tell_blocked(self) -> None:
        """This step kept everybody else waiting: say whose request it was."""
        blocked_ms = (monotonic() - self.timekeeper.read_seconds) * 1000.0
        for broker in self.cluster.cores:
            latest = broker.requests.take_latest()
            if latest is not None:
                broker.loop_blocked += 1
                event = LoopBlocked(
                    blocked_ms,
                    latest.api_name,
                    latest.client_id,
                    latest.request_bytes,
                    broker.broker_id,
                )
                break
        else:
            event = LoopBlocked(blocked_ms, None, "", 0)
        self.cluster.journal.record(event)

    def _let_others_go_first(self) -> None:
        """What arrived during a slice is not behind the next one: the loop reads sockets now."""
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """Go on with what was left when turns were over, now that others had theirs."""
        for each in self.servers:
            each.catch_up()
        self._going_on = False
        now_ms = self.timekeeper.now_ms()
        try:
            for broker in self.cluster.cores:
                if broker.requests.unfinished:
                    broker.go_on(now_ms, self.turn.over)
        finally:
            self.end_step()

    def _ring(self) -> None:
        now_ms = self.timekeeper.now_ms()
        try:
            self.cluster.tick(now_ms)
        finally:
            self.end_step()
