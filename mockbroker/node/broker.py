"""The core of one node: it takes bytes of its connections in and hands chunks out.

Shell, cluster and simulation call the same verbs and nothing else: `connect`, `receive` (or
`receive_buffer` and `received`, which save a copy), `disconnect`, `block`, `tick`,
`next_deadline`, `take_outbox`. It knows no socket, clock, thread or file: time comes in as
`now_ms`, randomness as a seeded `Random`.

A step is one verb. It ends with the drain: what appends and timers made ready is completed then,
after the answers of the step itself are queued, so nothing completes re-entrantly. What becomes of
a request is told by `request_handler`. A shell with a clock sets `requests.turn_over`: a step then
ends with its turn, and while `requests.unfinished` the shell calls `go_on` after others had theirs
(`slices`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mockbroker.journal import PEER, SHUTDOWN, TIMEOUT, ConnectionClosed, ConnectionOpened
from mockbroker.node.connection import Connection
from mockbroker.node.outbox import Outbox
from mockbroker.node.request_handler import RequestHandler
from mockbroker.node.tls_session import ANONYMOUS
from mockbroker.security.admission import HANDSHAKE
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.frames import SHARED_BYTES, FrameBuffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import ServedApis, Services
    from mockbroker.clock import Clock, Timer
    from mockbroker.journal import Journal
    from mockbroker.node.tls_session import TlsSession
    from mockbroker.security.authenticator import Authenticator
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.primitives import Buffer


class Broker:
    """One node. `services` are its rooms, `registry` its APIs, `journal` what it tells."""

    requests_made_by: ClassVar[type[RequestHandler]] = RequestHandler

    def __init__(self, services: Services, registry: ServedApis, journal: Journal) -> None:
        self.services = services
        self.registry = registry
        self.journal = journal
        self.broker_id = services.broker_id
        self._clock: Clock = services.clock
        self._timer: Timer = services.timer
        self._connections: dict[int, Connection] = {}
        self._outbox = Outbox()
        self.take_outbox = self._outbox.take
        """What the steps so far want written to clients, in the order in which they got answers."""
        self.take_for_brokers = self._outbox.take_for_brokers
        """What they want written to other brokers, whose connections have negative ids."""
        self.requests = self.requests_made_by(services, journal, self._connections, self._outbox)
        self.connections_opened = 0
        self.rounds_skipped = 0
        """Heartbeats, fetches of followers here and looks for lag that moved time left out."""
        self.connections_refused = 0
        """Told by the shell, as how often a step of this broker kept its loop from others."""
        self.loop_blocked = 0
        self.unread_bytes = 0
        """Of answers that wait for clients to read, which the shell tells too."""
        self._receive_area = memoryview(bytearray(SHARED_BYTES))
        self._max_frame_bytes = services.config.int("socket.request.max.bytes")

    # -- connections -----------------------------------------------------------------------

    def connect(
        self,
        connection_id: int,
        peer: str,
        now_ms: float,
        *,
        local_address: tuple[str, int],
        listener: str = "PLAINTEXT",
        peer_port: int = 0,
        tls: TlsSession | None = None,
    ) -> None:
        """A client connected, `tls` if by a handshake. Call `receive` next, or `disconnect`."""
        assert connection_id not in self._connections
        self._clock.now_ms = now_ms
        self.connections_opened += 1
        conn = self._connections[connection_id] = Connection(
            connection_id,
            peer,
            local_address,
            listener,
            FrameBuffer(self._receive_area, self._max_frame_bytes),
            now_ms,
            self.services.registry_of(listener),
        )
        opened = ConnectionOpened(connection_id, peer, listener, self.broker_id, peer_port)
        if tls is not None:
            conn.tls = tls
            opened.principal = conn.principal = tls.principal
            opened.tls_version, opened.tls_cipher = tls.version, tls.cipher
            opened.fault = tls.fault
        authenticator = self.services.admission.authenticator(listener)
        if authenticator is not None:
            # Kafka: the principal of a login counts alone (DefaultKafkaPrincipalBuilder).
            opened.principal = conn.principal = ANONYMOUS
            self._guard(conn, authenticator)
        elif tls is not None:
            self.services.admission.count(listener, HANDSHAKE, failed=False)
        self.journal.record(opened)

    def handshake_failed(self, listener: str) -> None:
        """A client connected whose TLS handshake failed."""
        self.services.admission.count(listener, HANDSHAKE, failed=True)

    def _guard(self, conn: Connection, authenticator: Authenticator) -> None:
        """Have the client of a connection log in before it is served."""
        from mockbroker.node.sasl_gate import SaslGate

        self.services.logins[conn.id] = SaslGate(
            self.requests, conn, authenticator, self.journal, self._outbox
        )

    def receive_buffer(self, connection_id: int, size_hint: int) -> memoryview:
        """Where the next bytes of this connection go; call `received` with their count at once."""
        return self._connections[connection_id].frames.get_buffer(size_hint)

    def received(self, connection_id: int, size_bytes: int, now_ms: float) -> None:
        """`size_bytes` were written to the buffer that `receive_buffer` gave.

        Unknown or malformed requests close the connection, and only it.
        """
        conn = self._connections[connection_id]
        self._clock.now_ms = now_ms
        try:
            frames = conn.frames.buffer_updated(size_bytes)
        except ProtocolError:
            frames = []  # `conn.frames.error` says it, after what came before was answered
        self._take(conn, frames)

    def arrived(self, connection_id: int, size_bytes: int) -> None:
        """As `received`, but the work waits for `run`: several connections then share a step."""
        conn = self._connections[connection_id]
        try:
            conn.push(conn.frames.buffer_updated(size_bytes))
        except ProtocolError:
            pass  # as above
        self.requests.runnable.append(conn)

    def run(self, now_ms: float) -> None:
        """Work on what `arrived`, in the order of arrival."""
        self._clock.now_ms = now_ms
        self.requests.drain()

    def receive(self, connection_id: int, data: Buffer, now_ms: float) -> None:
        """As `received` for a shell that has the bytes already."""
        conn = self._connections[connection_id]
        self._clock.now_ms = now_ms
        try:
            frames = conn.frames.feed(data)
        except ProtocolError:
            frames = []
        self._take(conn, frames)

    def _take(self, conn: Connection, frames: list[Frame]) -> None:
        """Work on what arrived, or queue it behind what is in work."""
        requests = self.requests
        if (
            len(frames) == 1
            and conn.in_work is None
            and not conn.queue
            and not conn.blocked
            and conn.muted is None
            and not conn.closing
        ):
            requests.serve(conn, frames[0])
        else:
            conn.push(frames)
        if conn.queue or conn.frames.error is not None:
            requests.work(conn)
            if conn.full:
                self._outbox.touch(conn)
        requests.drain()

    def ended(self, connection_id: int) -> bool:
        """The client has closed its end; True: wait, for what it had sent is still worked on.

        The broker closes the connection when that is done (Kafka: Selector, which closes a channel
        once its receives were processed): a producer with acks=0 closes when all is sent.
        """
        conn = self._connections.get(connection_id)
        if conn is None or conn.blocked or conn.closing or conn.frames.error is not None:
            return False
        ctx = conn.in_work
        if ctx is None:
            conn.ended = bool(conn.queue)
        else:
            conn.ended = ctx.api_key != ApiKey.FETCH and ctx in self.requests.slices
        if conn.ended:
            conn.frames.error = ProtocolError("the client has closed")  # nothing more comes
        return conn.ended

    def block(self, connection_id: int, blocked: bool, now_ms: float) -> None:
        """The shell's write buffer is full (no further request is worked on), or has room."""
        conn = self._connections.get(connection_id)
        if conn is not None:
            conn.blocked = blocked
            if not blocked:
                self.resume(connection_id, now_ms)

    def resume(self, connection_id: int, now_ms: float) -> None:
        """Go on with a pipeline that was cut at the outbox's limit, now that it was taken."""
        conn = self._connections.get(connection_id)
        if conn is None:
            return
        self._clock.now_ms = now_ms
        self.requests.work(conn)
        self.requests.drain()

    def disconnect(self, connection_id: int, now_ms: float) -> None:
        """The connection is gone; a parked request of it is cancelled."""
        conn = self._connections.pop(connection_id, None)
        if conn is None:
            return
        self._clock.now_ms = now_ms
        reason = conn.close_reason
        conn.close(reason)
        self.requests.abandon(conn)
        self.services.disconnected(connection_id)
        self.journal.record(
            ConnectionClosed(
                connection_id,
                conn.peer,
                conn.client_id,
                conn.requests,
                now_ms - conn.opened_ms,
                reason,
                self.broker_id,
            )
        )
        self.requests.drain()

    def crash(self) -> None:
        """The broker is gone, and its connections with it, of which nothing more is told."""
        self._connections.clear()

    def connection(self, connection_id: int) -> Connection | None:
        """One of them; None when it has gone."""
        return self._connections.get(connection_id)

    def connections(self) -> list[Connection]:
        """The connections as they are now, for those who look and change nothing."""
        return list(self._connections.values())

    # -- steps -----------------------------------------------------------------------------

    def go_on(self, now_ms: float, turn_over: Callable[[], bool]) -> None:
        """Go on with what was left to a later turn, until this one is over."""
        self._clock.now_ms = now_ms
        self.requests.go_on(turn_over)

    def tick(self, now_ms: float) -> None:
        """Time passed: run what is due. Call it when `next_deadline` is reached."""
        self._clock.now_ms = now_ms
        self.requests.step_cause = TIMEOUT
        try:
            self._timer.advance(now_ms)
        finally:
            self.requests.step_cause = PEER
            self.requests.drain()

    def next_deadline(self) -> float | None:
        """When `tick` is wanted next, in ms on the core's clock; None: nothing waits."""
        return self._timer.next_deadline()

    def release_parked(self, now_ms: float) -> None:
        """Answer every parked request that time alone would answer (a clean shutdown)."""
        self._clock.now_ms = now_ms
        self.requests.step_cause = SHUTDOWN
        self.services.release_parked()
        self.requests.step_cause = PEER
        self.requests.drain()

    def client_ids(self) -> list[str]:
        """The client id of each connection that has asked for something."""
        return [conn.client_id for conn in self._connections.values() if conn.client_id]

    def metrics(self) -> dict[str, float]:
        """What this node counts, value by name, as it is now."""
        from mockbroker.node.metrics import read

        return read(
            self.services,
            connections=self.connections(),
            connections_opened=self.connections_opened,
            connections_refused=self.connections_refused,
            requests_refused=self.requests.requests_refused,
            rounds_skipped=self.rounds_skipped,
            loop_blocked=self.loop_blocked,
            unread_bytes=self.unread_bytes,
        )
