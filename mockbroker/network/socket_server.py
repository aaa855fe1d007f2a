"""The connections of one broker: accepts, steps its core, writes what the core wants written.

`server` has one for each broker (Kafka: SocketServer). Each callback of asyncio is one step of the
core; time is read once a step, and each step ends in `end_step`, the server's.

A broker that goes down loses its listeners and connections as a dead process does; one that comes
back listens at its old addresses.

Invariants: the core knows a connection from `opened` to `lost`, unless its broker goes down before;
no connection is accepted while the broker is down.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from mockbroker.journal import ConnectionRefused
from mockbroker.network.acceptor import BACKLOG, Acceptor
from mockbroker.network.connection_quotas import ConnectionQuotas
from mockbroker.network.open_files import leaves_too_few
from mockbroker.network.transport import ClientTransport
from mockbroker.network.unread import UnreadAnswers

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.cluster.nodes import Node
    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.network.beside import Beside
    from mockbroker.network.freed_memory import FreedMemory
    from mockbroker.network.shaping import ShapedTransport
    from mockbroker.network.timekeeper import TimeKeeper
    from mockbroker.network.tls_transport import TlsListener
    from mockbroker.network.turn import Turn

STOP_GRACE_SECONDS: Final = 0.5
"""How long a client may take to read its last answers when the server stops."""
REOPEN_SECONDS: Final = 0.1
FEW_CONNECTIONS: Final = 256
"""Those beyond have less that may wait for them to read before they are worked for no more."""


class SocketServer:
    """Serves the broker of `node` at one address, or at several under names of their own."""

    def __init__(
        self,
        node: Node,
        timekeeper: TimeKeeper,
        end_step: Callable[[], None],
        turn: Turn,
        beside: Beside,
        freed: FreedMemory,
    ) -> None:
        assert node.broker is not None
        self.node = node
        self.broker = node.broker
        self._turn = turn
        self._beside = beside
        self.broker.requests.turn_over = turn.over
        self.broker.requests.beside = beside.do
        self._freed = freed
        self.broker.services.replicas.gave_back = freed.gave_back
        node.watcher = self
        self._now_ms = timekeeper.now_ms
        self._end_step = end_step
        self._loop: asyncio.AbstractEventLoop
        self._transports: dict[int, ClientTransport | ShapedTransport] = {}
        self._acceptors: list[Acceptor] = []
        self.is_open = False
        """Whether clients are let in: not before the first listener, and not while it is down."""
        self._next_id = 0
        self._last_id = 0
        self._collecting = False
        self._idle: asyncio.Event | None = None
        self._quotas = ConnectionQuotas(node.config)
        self._unread = UnreadAnswers(node.config)
        self._addresses: dict[int, str] = {}
        """Of the connections that count, by their number."""
        self._waiting: dict[int, ClientTransport] = {}
        """Clients that connected while there was no room for them, in order."""

    # -- listening -------------------------------------------------------------------------

    async def bind(
        self, name: str, host: str, port: int, tls: TlsListener | None = None
    ) -> tuple[Acceptor, tuple[str, int]]:
        """Take an address, where no connection is accepted before `serve`. Raises OSError."""
        self._loop = asyncio.get_running_loop()
        acceptor = Acceptor(name, host, port, lambda: self.accept(name, tls))
        address = await acceptor.bind()
        self._acceptors.append(acceptor)
        return acceptor, address

    async def serve(self, acceptor: Acceptor) -> None:
        """Accept clients at an address that was bound."""
        self.is_open = True
        await acceptor.serve()
        if self.node.network_faults:
            self.network_faults_changed()

    def remove(self, acceptor: Acceptor) -> None:
        """Listen there no more."""
        acceptor.shut()
        self._acceptors.remove(acceptor)

    async def stop_accepting(self) -> None:
        """Accept no connection from now on."""
        self.is_open = False
        for acceptor in self._acceptors:
            if acceptor.opening is not None:
                await acceptor.opening
            acceptor.shut()

    async def close(self) -> None:
        """Close every connection once its last answers have been sent, or after a while."""
        for waiting in list(self._waiting.values()):
            waiting.abort()
        for transport in list(self._transports.values()):
            transport.close()
        if self._transports:
            self._idle = asyncio.Event()
            try:
                await asyncio.wait_for(self._idle.wait(), STOP_GRACE_SECONDS)
            except TimeoutError:
                for transport in list(self._transports.values()):
                    transport.abort()
                await self._idle.wait()

    def accept(self, listener: str, tls: TlsListener | None = None) -> ClientTransport:
        """A connection came in by a listener: who serves it."""
        self._next_id += 1
        if tls is None:
            return ClientTransport(self, self._next_id, listener)
        from mockbroker.network.tls_transport import TlsTransport

        return TlsTransport(self, self._next_id, listener, tls)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._transports)

    # -- steps, called by the transports ---------------------------------------------------

    def opened(self, transport: ClientTransport) -> None:
        """A client connected; one that waited in the queue of a socket shut since is sent away."""
        name = transport.listener
        if not self.is_open or any(each.refused for each in self._acceptors if each.name == name):
            transport.abort()
            return
        host, _ = _address(transport, "peername")
        refusal = self._quotas.refusal(host)
        if transport.inner is not None and leaves_too_few(transport.inner):
            refusal = "open files: there are too few left"
        if refusal is None and self._quotas.full:
            if len(self._waiting) < BACKLOG:
                transport.pause()
                self._waiting[transport.id] = transport
                self.refused(transport, "max.connections: it waits for another to go")
                return
            refusal = "max.connections: too many wait already"
        if refusal is not None:
            self.refused(transport, refusal)
            transport.abort()
            return
        self._let_in(transport, host)

    def refused(self, transport: ClientTransport, reason: str) -> None:
        """A client was sent away, or is kept waiting: tell of it."""
        host, _ = _address(transport, "peername")
        self.broker.connections_refused += 1
        self.broker.journal.record(
            ConnectionRefused(f"/{host}", transport.listener, reason, self.broker.broker_id)
        )

    def _let_in(self, transport: ClientTransport, host: str) -> None:
        if len(self._transports) >= FEW_CONNECTIONS:
            transport.hold_little()
        self._transports[transport.id] = transport
        self._addresses[transport.id] = host
        self._quotas.joined(host)
        transport.admitted()

    def connected(self, transport: ClientTransport) -> None:
        """A client may be served, now that its handshake is done if there was one."""
        if self.node.network_faults:
            self._shape(transport)
        host, port = _address(transport, "peername")
        self.broker.connect(
            transport.id,
            f"/{host}",
            self._now_ms(),
            local_address=_address(transport, "sockname"),
            listener=transport.listener,
            peer_port=port,
            tls=transport.session,
        )

    def _forget(self, connection_id: int) -> None:
        """A connection counts no more: one that waits may take its place."""
        self._unread.goes_on(connection_id)
        self.broker.unread_bytes = self._unread.total
        address = self._addresses.pop(connection_id, None)
        if address is not None:
            self._quotas.left(address)
        while self._waiting and self.is_open and not self._quotas.full:
            transport = self._waiting.pop(next(iter(self._waiting)))
            self._let_in(transport, _address(transport, "peername")[0])
            transport.go_on()

    def received(self, connection_id: int, size_bytes: int) -> None:
        """Bytes arrived in the core's buffer.

        While one client talks its requests are worked on at once. When several do, what this
        turn of the loop brings is collected and worked on in one step: the same code then runs
        for all of them without the kernel's in between, which costs a quarter less.
        """
        if connection_id == self._last_id and not self._collecting:
            now_ms = self._now_ms()
            self.broker.received(connection_id, size_bytes, now_ms)
            self._end_step()
            return
        self._last_id = connection_id
        self.broker.arrived(connection_id, size_bytes)
        if not self._collecting:
            self._collecting = True
            self._loop.call_soon(self._run)

    def blocked(self, connection_id: int, blocked: bool) -> None:
        """A client stopped, or went on, reading its answers."""
        if blocked:  # in the middle of `write_outbox`: nothing may be completed now
            self.broker.block(connection_id, blocked=True, now_ms=0.0)
            self._unread.stopped(connection_id, self._transports, self.broker)
        else:
            self._unread.goes_on(connection_id)
            now_ms = self._now_ms()
            self.broker.block(connection_id, blocked=False, now_ms=now_ms)
            self._end_step()
        self.broker.unread_bytes = self._unread.total

    def lost(self, transport: ClientTransport) -> None:
        """A connection ended; of one of an earlier incarnation no broker knows."""
        if self._transports.pop(transport.id, None) is None:
            self._waiting.pop(transport.id, None)
            return
        now_ms = self._now_ms()
        self.broker.disconnect(transport.id, now_ms)
        self._forget(transport.id)
        self._end_step()
        if not self._transports and self._idle is not None:
            self._idle.set()

    def write_outbox(self) -> None:
        """Write what the broker wants written to its clients."""
        transports = self._transports
        for outgoing in self.broker.take_outbox():
            transport = transports.get(outgoing.connection_id)
            if isinstance(transport, ClientTransport):  # noqa: SIM114 -- compiled, no look-up
                transport.write(outgoing)
            elif transport is not None:
                transport.write(outgoing)
            else:
                continue
            if outgoing.more:
                self._loop.call_soon(self._resume, outgoing.connection_id)

    def catch_up(self) -> None:
        """Work on what was collected before something else is begun."""
        if self._collecting:
            self._run()

    def _run(self) -> None:
        """Work on what this turn of the loop collected, unless that was done."""
        if not self._collecting:
            return
        self._collecting = False
        now_ms = self._now_ms()
        try:
            self.broker.run(now_ms)
        finally:
            self._end_step()

    def _resume(self, connection_id: int) -> None:
        """Go on with a long pipeline, after the other connections had their turn."""
        now_ms = self._now_ms()
        self.broker.resume(connection_id, now_ms)
        self._end_step()

    # -- the node goes and comes -------------------------------------------------------------

    def leaving(self) -> None:
        """The broker stops cleanly (`cluster.nodes.NodeWatcher`): its last answers are written."""
        self.write_outbox()
        transports, self._transports = self._transports, {}
        self._forget_all()
        for transport in transports.values():
            transport.close()

    def down(self) -> None:
        """It is gone, and connections with it."""
        self.is_open = False
        for acceptor in self._acceptors:
            acceptor.shut()
        transports, self._transports = self._transports, {}
        self._forget_all()
        for transport in transports.values():
            transport.abort()

    def _forget_all(self) -> None:
        self._unread.forget_all()
        for address in self._addresses.values():
            self._quotas.left(address)
        self._addresses.clear()
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.abort()

    def up(self) -> None:
        """It is back, and listens where it did."""
        assert self.node.broker is not None
        self.broker = self.node.broker
        self.broker.requests.turn_over = self._turn.over
        self.broker.requests.beside = self._beside.do
        self.broker.services.replicas.gave_back = self._freed.gave_back
        self.is_open = True
        for acceptor in self._acceptors:
            acceptor.refused = False
            self._listen_again(acceptor)
        if self.node.network_faults:
            self.network_faults_changed()

    def _listen_again(self, acceptor: Acceptor) -> None:
        """Listen at the same address; again in a while if someone else has taken it."""
        if not self.is_open or acceptor.refused:
            return
        try:
            acceptor.listen_again()
        except OSError:
            self._loop.call_later(REOPEN_SECONDS, self._listen_again, acceptor)

    # -- faults of the network -------------------------------------------------------------

    def network_faults_changed(self) -> None:
        """Connections come under the rules there are now; ports open and shut by them."""
        rules = self.node.network_faults
        for transport in list(self._transports.values()):
            if isinstance(transport, ClientTransport):
                if rules:
                    self._shape(transport)
            elif not rules:
                transport.flush()
                self._transports[transport.id] = transport.transport
        if self.is_open:
            for acceptor in self._acceptors:
                if acceptor.refusable:
                    self._open_or_shut(acceptor)

    def _open_or_shut(self, acceptor: Acceptor) -> None:
        """Go by the rules that make a broker refuse to be connected to."""
        now_ms = self.broker.services.clock.now_ms
        refusers = [
            rule
            for rule in self.node.network_faults
            if rule.fault.refuse
            and rule.in_time(now_ms)
            and rule.is_for_connection("", acceptor.name, self.node.node_id, 0)
        ]
        if bool(refusers) == acceptor.refused:
            return
        acceptor.refused = bool(refusers)
        for rule in refusers:
            rule.hits += 1
        if refusers:
            self._refuse(acceptor)
        else:
            self._listen_again(acceptor)

    def _refuse(self, acceptor: Acceptor) -> None:
        """As a broker that is down: its port is closed, and its connections are gone."""
        acceptor.shut()
        for transport in list(self._transports.values()):
            inner = transport if isinstance(transport, ClientTransport) else transport.transport
            if inner.listener == acceptor.name:
                transport.abort()

    def _shape(self, transport: ClientTransport) -> None:
        from mockbroker.network.shaping import ShapedTransport

        shaped = ShapedTransport(transport, self._rules_for, self.blocked, self._loop)
        self._transports[transport.id] = shaped

    def _rules_for(self, connection_id: int) -> list[ArmedFault]:
        conn = self.broker.connection(connection_id)
        now_ms = self.broker.services.clock.now_ms
        return [
            rule
            for rule in self.node.network_faults
            if conn is not None
            and not rule.fault.refuse
            and rule.in_time(now_ms)
            and rule.is_for_connection(
                conn.client_id, conn.listener, self.node.node_id, connection_id
            )
        ]


def _address(transport: ClientTransport, end: str) -> tuple[str, int]:
    """One end of a connection, `peername` or `sockname`."""
    inner = transport.inner
    found = None if inner is None else inner.get_extra_info(end)
    return ("unknown", 0) if not found else (found[0], found[1])
