"""The listener of one broker: accepts, steps the core, writes its outbox, keeps its one timer.

Called by `app` and `api` with a running loop. Each callback of asyncio is one step of the core;
time is read once a step.

Invariants: the timer is armed at or before the core's next deadline; after `stop` no socket and
no timer of this server is left.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.network.alarm import Alarm
from mockbroker.network.transport import ClientTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.faults.fault_set import ArmedFault
    from mockbroker.network.shaping import ShapedTransport
    from mockbroker.network.timekeeper import TimeKeeper
    from mockbroker.node.broker import Broker

T = TypeVar("T")

BACKLOG: Final = 1024
STOP_GRACE_SECONDS: Final = 0.5
"""How long a client may take to read its last answers when the server stops."""


LISTENER: Final = "PLAINTEXT"
_ADDRESS_CHARACTERS: Final = "0123456789.:"
REOPEN_SECONDS: Final = 0.1


class Door:
    """A listening socket of a broker's own. `server` is None while nobody listens there."""

    __slots__ = ("host", "name", "opening", "port", "server")

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.server: asyncio.Server | None = None
        self.opening: asyncio.Task[None] | None = None

    def shut(self) -> None:
        """Stop listening."""
        if self.server is not None:
            self.server.close()
            self.server = None


class BrokerServer:
    """Serves one `Broker` core on TCP, at one address or at several under names of their own."""

    def __init__(self, broker: Broker, timekeeper: TimeKeeper, alarm: Alarm | None = None) -> None:
        self.broker = broker
        self.timekeeper = timekeeper
        self._alarm = alarm or Alarm(timekeeper, broker.next_deadline, self._ring)
        broker.on_network_faults = self._reshape
        self._transports: dict[int, ClientTransport | ShapedTransport] = {}
        self._doors: list[Door] = []
        self._open = False
        self._refusing: set[str] = set()
        """Names of the listeners that a fault rule has shut."""
        self._next_id = 0
        self._last_id = 0
        self._collecting = False
        self._more_listeners: list[asyncio.Server] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: asyncio.Event | None = None
        self._stopping = False
        self.after_step: Callable[[], None] | None = None
        """Called after each step, while someone waits for what a step may bring."""

    async def start(self, host: str, port: int, name: str = LISTENER) -> tuple[str, int]:
        """Listen on `host`:`port` (0: any free port); returns the address bound.

        Raises OSError when the address cannot be bound. Called again it listens there too, under
        another name.
        """
        bound = await self.bind(host, port, name)
        try:
            await self.serve()
        except BaseException:
            self._doors.pop().shut()
            raise
        return bound

    async def bind(self, host: str, port: int, name: str = LISTENER) -> tuple[str, int]:
        """Take an address, where nobody is accepted before `serve`. Raises OSError."""
        self._loop = asyncio.get_running_loop()
        door = Door(name, host, port)
        door.server, bound = await self._bind(host, port, lambda: self._accept(name))
        door.port = bound[1]
        self._doors.append(door)
        return bound

    async def serve(self) -> None:
        """Accept clients wherever `bind` was called."""
        assert self._loop is not None
        for door in self._doors:
            if door.server is not None and not door.server.is_serving():
                await door.server.start_serving()
        self._open = True
        self._alarm.start(self._loop)
        self._reshape()

    async def add_listener(
        self, name: str, host: str, port: int, bound: Callable[[int], None]
    ) -> None:
        """Listen for others than clients, as `start` does; no fault rule shuts this listener.

        `bound` is told the port before anyone may connect to it.
        """
        listener, _ = await self._listen(host, port, lambda: self._accept(name), bound)
        self._more_listeners.append(listener)

    async def _listen(
        self,
        host: str,
        port: int,
        accept: Callable[[], ClientTransport],
        bound: Callable[[int], None],
    ) -> tuple[asyncio.Server, tuple[str, int]]:
        listener, address = await self._bind(host, port, accept)
        try:
            bound(address[1])
            await listener.start_serving()
        except BaseException:
            listener.close()
            raise
        return listener, address

    async def _bind(
        self, host: str, port: int, accept: Callable[[], ClientTransport]
    ) -> tuple[asyncio.Server, tuple[str, int]]:
        assert self._loop is not None
        sock = listening_socket(host, port)
        try:
            listener = await self._loop.create_server(
                accept, sock=sock, backlog=BACKLOG, start_serving=False
            )
        except BaseException:
            sock.close()
            raise
        address = sock.getsockname()
        return listener, (str(address[0]), int(address[1]))

    async def stop(self) -> None:
        """Stop accepting, answer what is parked, close every connection."""
        if not self._open:
            for door in self._doors:
                door.shut()  # bound, and never served
            return
        self._stopping = True
        for door in self._doors:
            if door.opening is not None:
                await door.opening
            door.shut()
        for listener in self._more_listeners:
            listener.close()
        self.broker.release_parked(self.now_ms())
        self._after_step()
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
        self._alarm.stop()
        self._open = False

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._transports)

    def now_ms(self) -> float:
        """The core's clock, in milliseconds."""
        keeper = self.timekeeper
        return keeper.anchor_ms + (monotonic() - keeper.anchor_seconds) * keeper.scale

    # -- steps, called by the transports ---------------------------------------------------

    def opened(
        self,
        transport: ClientTransport,
        peer: tuple[str, int] | None,
        local: tuple[str, int] | None,
    ) -> None:
        """A client connected; one that was accepted just before the stop is sent away."""
        if self._stopping:
            transport.abort()
            return
        if transport.listener in self._refusing:
            transport.abort()  # it was in the queue of the socket that no longer listens
            return
        self._transports[transport.id] = transport
        if self.broker.network_faults:
            self._shape(transport)
        host, port = ("unknown", 0) if peer is None else peer[:2]
        self.broker.connect(
            transport.id,
            f"/{host}",
            self.now_ms(),
            local_address=("", 0) if local is None else (local[0], local[1]),
            listener=transport.listener,
            peer_port=port,
        )

    def received(self, connection_id: int, size_bytes: int) -> None:
        """Bytes arrived in the core's buffer.

        While one client talks its requests are worked on at once. When several do, what this
        turn of the loop brings is collected and worked on in one step: the same code then runs
        for all of them without the kernel's in between, which costs a quarter less.
        """
        if connection_id == self._last_id and not self._collecting:
            self.broker.received(connection_id, size_bytes, self.now_ms())
            self._after_step()
            return
        self._last_id = connection_id
        self.broker.arrived(connection_id, size_bytes)
        if not self._collecting:
            self._collecting = True
            assert self._loop is not None
            self._loop.call_soon(self._run)

    def blocked(self, connection_id: int, blocked: bool) -> None:
        """A client stopped, or went on, reading its answers."""
        self.broker.block(connection_id, blocked, self.now_ms())
        self._after_step()

    def lost(self, transport: ClientTransport) -> None:
        """A connection ended."""
        self._transports.pop(transport.id, None)
        self.broker.disconnect(transport.id, self.now_ms())
        self._after_step()
        if not self._transports and self._idle is not None:
            self._idle.set()

    def act(self, action: Callable[[], T]) -> T:
        """Someone in this process looks or acts, in this server's loop: a step as any other."""
        try:
            return self.broker.act(action, self.now_ms())
        finally:
            self._after_step()

    # -- the shell's own work --------------------------------------------------------------

    def _accept(self, listener: str = LISTENER) -> ClientTransport:
        self._next_id += 1
        return ClientTransport(self, self._next_id, listener)

    def _after_step(self) -> None:
        """Write what the step wants written, and see that the timer rings in time."""
        transports = self._transports
        for outgoing in self.broker.take_outbox():
            transport = transports.get(outgoing.connection_id)
            if transport is not None:
                transport.write(outgoing)
                if outgoing.more:
                    assert self._loop is not None
                    self._loop.call_soon(self._resume, outgoing.connection_id)
        self._alarm.rearm()
        if self.after_step is not None:
            self.after_step()

    def _run(self) -> None:
        """Work on what this turn of the loop collected."""
        self._collecting = False
        try:
            self.broker.run(self.now_ms())
        finally:
            self._after_step()

    def _resume(self, connection_id: int) -> None:
        """Go on with a long pipeline, after the other connections had their turn."""
        self.broker.resume(connection_id, self.now_ms())
        self._after_step()

    # -- faults of the network -------------------------------------------------------------

    def _reshape(self) -> None:
        """The rules about connections have changed, or the time at which one begins or ends."""
        rules = self.broker.network_faults
        for transport in list(self._transports.values()):
            if isinstance(transport, ClientTransport):
                if rules:
                    self._shape(transport)
            elif not rules:
                transport.flush()
                self._transports[transport.id] = transport.transport
        if self._open and not self._stopping:
            for door in self._doors:
                self._open_or_shut(door)

    def _open_or_shut(self, door: Door) -> None:
        """Go by the rules that make a broker refuse to be connected to."""
        now_ms = self.broker.services.clock.now_ms
        refusers = [
            rule
            for rule in self.broker.network_faults
            if rule.fault.refuse
            and rule.in_time(now_ms)
            and rule.is_for_connection("", door.name, self.broker.broker_id, 0)
        ]
        if bool(refusers) == (door.name in self._refusing):
            return
        if refusers:
            for rule in refusers:
                rule.hits += 1
            self._refusing.add(door.name)
            self._refuse(door)
        else:
            self._refusing.discard(door.name)
            self._listen_again(door)

    def _shape(self, transport: ClientTransport) -> None:
        from mockbroker.network.shaping import ShapedTransport

        assert self._loop is not None
        shaped = ShapedTransport(transport, self._rules_for, self._loop)
        self._transports[transport.id] = shaped

    def _rules_for(self, connection_id: int) -> list[ArmedFault]:
        conn = self.broker.connection(connection_id)
        now_ms = self.broker.services.clock.now_ms
        return [
            rule
            for rule in self.broker.network_faults
            if conn is not None
            and not rule.fault.refuse
            and rule.in_time(now_ms)
            and rule.is_for_connection(
                conn.client_id, conn.listener, self.broker.broker_id, connection_id
            )
        ]

    def _refuse(self, door: Door) -> None:
        """As a broker that is down: nobody listens, and its connections are gone."""
        door.shut()
        for transport in list(self._transports.values()):
            inner = transport if isinstance(transport, ClientTransport) else transport.transport
            if inner.listener == door.name:
                transport.abort()

    def _listen_again(self, door: Door) -> None:
        assert self._loop is not None
        door.opening = self._loop.create_task(self._reopen(door))

    async def _reopen(self, door: Door) -> None:
        """Listen on the same address; again in a while if someone else has taken it."""
        if not self._may_listen(door):
            return
        try:
            door.server, _ = await self._listen(
                door.host, door.port, lambda: self._accept(door.name), lambda _: None
            )
        except OSError:
            assert self._loop is not None
            self._loop.call_later(REOPEN_SECONDS, self._listen_again, door)
            return
        if not self._may_listen(door):
            door.shut()

    def _may_listen(self, door: Door) -> bool:
        return self._open and not self._stopping and door.name not in self._refusing

    def _ring(self) -> None:
        try:
            self.broker.tick(self.now_ms())
        finally:
            self._after_step()


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound TCP socket; IPv6 hosts work too. Raises OSError."""
    try:
        # An address needs no codec for names, which is slow to import; bytes are taken as they are.
        spelled = host.encode() if not host.strip(_ADDRESS_CHARACTERS) else host
        family, kind, proto, _, address = socket.getaddrinfo(
            spelled, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except UnicodeError:  # an empty label, or one that is too long
        raise OSError(errno.EINVAL, "not a host name") from None
    sock = socket.socket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
