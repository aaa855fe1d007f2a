"""The core of one node: it owns every room, takes bytes in and hands chunks out.

Shell, cluster and simulator call the same verbs and nothing else: `connect`, `receive` (or
`receive_buffer` and `received`, which save a copy), `disconnect`, `block`, `tick`,
`next_deadline`, `take_outbox`. No socket, clock, dice, thread or file is known here: time comes
in as `now_ms`, randomness as a seeded `Random`.

A step is one verb. It ends with the drain: what appends and timers made ready is completed then,
after the answers of the step itself are queued, so nothing completes re-entrantly.

Invariants: each request is answered at most once, in the order of its connection; a connection
that failed sends nothing after the answers already queued.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.apis.context import CLOSE, NO_RESPONSE, PARKED, RequestContext
from mockbroker.journal import (
    DISCONNECT,
    PEER,
    SHUTDOWN,
    TIMEOUT,
    ConnectionClosed,
    ConnectionOpened,
    HandlerFailed,
)
from mockbroker.node.connection import Connection
from mockbroker.node.refusals import refusal, unknown_api_versions, unserved_reason
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.frames import SHARED_BYTES, FrameBuffer, frame_response
from mockbroker_protocol.headers import (
    decode_request_header,
    encode_response_header,
    peek_request_header,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.apis.context import Services
    from mockbroker.apis.registry import Api, Registry
    from mockbroker.clock import Clock, Timer
    from mockbroker.faults.fault_set import ArmedFault, FaultSet
    from mockbroker.journal import Journal
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.headers import RequestHeader
    from mockbroker_protocol.primitives import Buffer


T = TypeVar("T")

FRAMES_PER_STEP: Final = 128
"""Queued requests of one connection that are worked on before others have their turn."""


class Outgoing:
    """What the shell must do for one connection, in this order.

    Write `chunks`; close if `close`, in the way of `ending` if a fault wants one; read on, or not,
    as `read` says (back-pressure); and if
    `more`, call `resume` soon: a long pipeline gives way to other connections.
    """

    __slots__ = ("chunks", "close", "connection_id", "ending", "more", "read", "size_bytes")

    def __init__(
        self,
        connection_id: int,
        chunks: list[Buffer],
        size_bytes: int,
        close: bool,
        read: bool = True,
        more: bool = False,
    ) -> None:
        self.connection_id = connection_id
        self.chunks = chunks
        self.size_bytes = size_bytes
        self.close = close
        self.read = read
        self.more = more
        self.ending: str | None = None


class Broker:
    """One node. `services` are its rooms, `registry` its APIs, `journal` what it tells."""

    def __init__(self, services: Services, registry: Registry, journal: Journal) -> None:
        self.services = services
        self.registry = registry
        self.journal = journal
        self.broker_id = services.broker_id
        services.fetch.log.journal = services.replicas.journal = journal
        services.fetch.log.broker_id = services.broker_id
        self._clock: Clock = services.clock
        self._timer: Timer = services.timer
        self._connections: dict[int, Connection] = {}
        self.touched: list[Connection] = []
        """The connections of which `take_outbox` will tell."""
        self._runnable: list[Connection] = []
        self.connections_opened = 0
        self.requests_refused = 0
        self.faults: FaultSet | None = None
        """The armed fault rules, while any is about requests."""
        self.on_network_faults: Callable[[], None] | None = None
        """What the shell wants called when the rules about connections change."""
        self.network_faults: Sequence[ArmedFault] = ()
        self._cause = PEER
        self._receive_area = memoryview(bytearray(SHARED_BYTES))

    # -- verbs -----------------------------------------------------------------------------

    def connect(
        self,
        connection_id: int,
        peer: str,
        now_ms: float,
        *,
        local_address: tuple[str, int],
        listener: str = "PLAINTEXT",
    ) -> None:
        """A client connected. Call `receive` next, or `disconnect`."""
        assert connection_id not in self._connections
        self._clock.now_ms = now_ms
        self.connections_opened += 1
        self._connections[connection_id] = Connection(
            connection_id,
            peer,
            local_address,
            listener,
            FrameBuffer(self._receive_area),
            now_ms,
            self.services.registry_of(listener),
        )
        self.journal.record(ConnectionOpened(connection_id, peer, listener, self.broker_id))

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
        self._runnable.append(conn)

    def run(self, now_ms: float) -> None:
        """Work on what `arrived`, in the order of arrival."""
        self._clock.now_ms = now_ms
        self._drain()

    def receive(self, connection_id: int, data: Buffer, now_ms: float) -> None:
        """As `received` for a shell that has the bytes already."""
        conn = self._connections[connection_id]
        self._clock.now_ms = now_ms
        try:
            frames = conn.frames.feed(data)
        except ProtocolError:
            frames = []
        self._take(conn, frames)

    def block(self, connection_id: int, blocked: bool, now_ms: float) -> None:
        """The shell's write buffer is full (no further request is worked on), or has room."""
        conn = self._connections.get(connection_id)
        if conn is None:
            return
        self._clock.now_ms = now_ms
        conn.blocked = blocked
        self._work(conn)
        self._drain()

    def resume(self, connection_id: int, now_ms: float) -> None:
        """Go on with a pipeline that was cut at the outbox's limit, now that it was taken."""
        conn = self._connections.get(connection_id)
        if conn is None:
            return
        self._clock.now_ms = now_ms
        self._work(conn)
        self._drain()

    def disconnect(self, connection_id: int, now_ms: float) -> None:
        """The connection is gone; a parked request of it is cancelled."""
        conn = self._connections.pop(connection_id, None)
        if conn is None:
            return
        self._clock.now_ms = now_ms
        reason = conn.close_reason
        conn.close(reason)
        self._abandon(conn)
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
        self._drain()

    def tick(self, now_ms: float) -> None:
        """Time passed: run what is due. Call it when `next_deadline` is reached."""
        self._clock.now_ms = now_ms
        self._cause = TIMEOUT
        try:
            self._timer.advance(now_ms)
        finally:
            self._cause = PEER
            self._drain()

    def act(self, action: Callable[[], T], now_ms: float) -> T:
        """Someone in this process looks or acts, such as a test: run it as a step."""
        self._clock.now_ms = now_ms
        try:
            return action()
        finally:
            self._drain()

    def next_deadline(self) -> float | None:
        """When `tick` is wanted next, in ms on the core's clock; None: nothing waits."""
        return self._timer.next_deadline()

    def take_outbox(self) -> list[Outgoing]:
        """What the steps so far want written, in the order in which connections got answers."""
        touched = self.touched
        if not touched:
            return []
        self.touched = []
        outbox = []
        for conn in touched:
            conn.touched = False
            chunks, size_bytes = conn.out, conn.out_bytes
            if size_bytes:
                conn.out = []
                conn.out_bytes = 0
            if conn.queue:
                read, more = not conn.full, conn.can_work
            else:
                read, more = True, False
            outgoing = Outgoing(conn.id, chunks, size_bytes, conn.closing, read, more)
            if conn.closing:
                outgoing.ending = conn.ending
            outbox.append(outgoing)
        return outbox

    @property
    def unsettled(self) -> bool:
        """Whether `settle` has something to do."""
        services = self.services
        return bool(services.replicas.ready or services.deferred or self._runnable)

    def settle(self) -> None:
        """Complete what was made ready from outside of this broker's own steps."""
        self._drain()

    # -- what a shell asks -----------------------------------------------------------------

    def has_connection(self, connection_id: int) -> bool:
        """Whether it knows the connection."""
        return connection_id in self._connections

    def connection(self, connection_id: int) -> Connection | None:
        """One of them; None when it has gone."""
        return self._connections.get(connection_id)

    def is_connected(self, connection_id: int) -> bool:
        """Whether a connection is still there."""
        return connection_id in self._connections

    def connections(self) -> list[Connection]:
        """The connections as they are now, for those who look and change nothing."""
        return list(self._connections.values())

    def metrics(self) -> dict[str, float]:
        """What this node counts, value by name, as it is now."""
        from mockbroker.node.metrics import read

        return read(
            self.services,
            connections=len(self._connections),
            connections_opened=self.connections_opened,
            requests_refused=self.requests_refused,
        )

    def release_parked(self, now_ms: float) -> None:
        """Answer every parked request that time alone would answer (a clean shutdown)."""
        self._clock.now_ms = now_ms
        self._cause = SHUTDOWN
        self.services.release_parked()
        self._cause = PEER
        self._drain()

    # -- one request -----------------------------------------------------------------------

    def _take(self, conn: Connection, frames: list[Frame]) -> None:
        """Work on what arrived, or queue it behind what is in work."""
        if len(frames) == 1 and conn.ready:
            self._serve(conn, frames[0])
        else:
            conn.push(frames)
        if conn.queue or conn.frames.error is not None:
            self._work(conn)
            if conn.full:
                self._touch(conn)
        self._drain()

    def _work(self, conn: Connection) -> None:
        """Work on what is queued; a long pipeline gives way to others after a while."""
        if conn.queue and conn.full:
            self._touch(conn)  # what is served here may answer nothing, and yet make room to read
        left = FRAMES_PER_STEP
        while conn.queue and conn.can_work:
            if not left:
                self._touch(conn)
                return
            left -= 1
            self._serve(conn, conn.pop())
        error = conn.frames.error
        if error is not None and conn.idle and not conn.closing:
            self._refuse(conn, None, str(error))

    def _serve(self, conn: Connection, frame: Frame) -> None:
        try:
            header = decode_request_header(frame)
        except ProtocolError as error:
            self._refuse(conn, peek_request_header(frame), f"request header: {error}")
            return
        client_id = header.client_id or ""
        conn.client_id = client_id
        api = conn.registry.get(header.api_key)
        version = header.api_version
        if api is None or not api.min_version <= version <= api.max_version:
            self._unserved(conn, header, api)
            return
        try:
            request = api.decode(frame, header.body_pos, version)
        except ProtocolError as error:
            self._refuse(conn, header, f"request body: {error}")
            return
        except Exception as error:  # noqa: BLE001 -- the request boundary, as in `_attempt`
            self._failed(conn, client_id, api, version, error)
            return
        conn.requests += 1
        api.requests += 1
        ctx = RequestContext(
            self,
            header.api_key,
            version,
            header.correlation_id,
            client_id,
            conn.id,
            conn.peer,
            conn.principal,
            conn.listener,
            conn.local_address,
            self._clock.now_ms,
            len(frame),
            frame,
        )
        conn.in_work = ctx
        quotas = self.services.quotas
        if quotas is not None and header.api_key != ApiKey.WRITE_TXN_MARKERS:
            ctx.throttle_time_ms = quotas.charge_request(ctx.principal, client_id)
        faults = self.faults
        if faults is not None and self._intercepted(faults, ctx, api, request):
            return
        self._attempt(conn, ctx, api, request, None)

    def complete(self, ctx: RequestContext, response: object) -> None:
        """A parked request has its answer (called through `RequestContext.respond`)."""
        self._complete(ctx, response, None)

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """As `complete`, with an answer that has yet to be made: a failure there is its own."""
        self._complete(ctx, None, make)

    def _complete(
        self, ctx: RequestContext, response: object | None, make: Callable[[], object] | None
    ) -> None:
        conn = self._connections.get(ctx.connection_id)
        if conn is None or conn.in_work is not ctx:
            return
        api = conn.registry.get(ctx.api_key)
        assert api is not None
        if ctx.woken_by is PEER:
            ctx.woken_by = self.cause
        self._attempt(conn, ctx, api, None, response, make)
        if conn.queue or conn.frames.error is not None:
            self._runnable.append(conn)

    def _attempt(
        self,
        conn: Connection,
        ctx: RequestContext,
        api: Api,
        request: object,
        response: object | None,
        make: Callable[[], object] | None = None,
    ) -> None:
        """The request boundary: handle or make the response unless it is there, then answer."""
        try:
            if response is None:
                response = api.handle(self.services, ctx, request) if make is None else make()
            if response is not PARKED:
                self._finish(conn, ctx, api, response)
            elif not ctx.done:
                ctx.woken_by = PEER  # until the end of its wait says better
        except Exception as error:  # noqa: BLE001 -- the request boundary: our bug, not theirs
            self._failed(conn, ctx.client_id, api, ctx.api_version, error)

    def _failed(
        self, conn: Connection, client_id: str, api: Api, version: int, error: Exception
    ) -> None:
        self.journal.record(
            HandlerFailed(conn.id, conn.peer, client_id, api.name, version, error, self.broker_id)
        )
        self._close(conn, f"{api.name} v{version} failed")

    def _finish(self, conn: Connection, ctx: RequestContext, api: Api, response: object) -> None:
        ctx.done = True
        conn.in_work = None
        if response is CLOSE:
            self._close(conn, f"{api.name} with acks=0 failed")
        elif response is not NO_RESPONSE:
            version = ctx.api_version
            chunks = frame_response(
                encode_response_header(ctx.api_key, version, ctx.correlation_id),
                api.encode(response, version),
            )
            size_bytes = len(chunks[0]) if len(chunks) == 1 else sum(map(len, chunks))
            conn.send(chunks, size_bytes)
            self._touch(conn)
            ctx.chunks = chunks
            ctx.response_bytes = size_bytes
        if ctx.throttle_time_ms > 0 and not conn.closing:
            until_ms = self._clock.now_ms + ctx.throttle_time_ms
            conn.mute(self._timer, until_ms, lambda: self._runnable.append(conn))
        self._record(ctx)

    def _record(self, ctx: RequestContext) -> None:
        """A request is over: its context becomes its record, without what only work needs."""
        ctx.completed_ms = self._clock.now_ms
        ctx.on_disconnect = None
        fetch = ctx.fetch
        if fetch is not None:
            ctx.fetch = None
            ctx.fetch_class = fetch.fetch_class
            ctx.request_bytes_saved = fetch.request_bytes_saved
            if ctx.response_bytes:
                ctx.response_bytes_saved = fetch.response_bytes_saved
                self.services.fetch.note_answered(fetch)
        self.journal.served(ctx)

    # -- requests that meet a fault --------------------------------------------------------

    def _intercepted(
        self, faults: FaultSet, ctx: RequestContext, api: Api, request: object
    ) -> bool:
        from mockbroker.node.interceptor import intercept

        return intercept(self, faults, ctx, api, request)

    @property
    def cause(self) -> str:
        """What completes the requests that are completed now, as the journal tells it."""
        return self.services.replicas.draining or self._cause

    def guard(self, ctx: RequestContext, work: Callable[[], None]) -> None:
        """Run a part of what becomes of a request inside the boundary, unless its client left."""
        conn = self._connections.get(ctx.connection_id)
        api = None if conn is None else conn.registry.get(ctx.api_key)
        if conn is None or conn.in_work is not ctx or api is None:
            return
        try:
            work()
        except Exception as error:  # noqa: BLE001 -- the request boundary, as in `_attempt`
            self._failed(conn, ctx.client_id, api, ctx.api_version, error)
        if conn.queue or conn.frames.error is not None:
            self._runnable.append(conn)

    def answer(self, ctx: RequestContext, response: object) -> None:
        """Answer a request that is in work, inside `guard`."""
        conn = self._connections[ctx.connection_id]
        api = conn.registry.get(ctx.api_key)
        assert api is not None
        self._finish(conn, ctx, api, response)

    def answer_bytes(self, ctx: RequestContext, data: Buffer) -> None:
        """The same with bytes that are sent as they are."""
        conn = self._connections[ctx.connection_id]
        ctx.done = True
        conn.in_work = None
        conn.send([data], len(data))
        self._touch(conn)
        ctx.chunks = [data]
        ctx.response_bytes = len(data)
        self._record(ctx)

    def cut_off(self, ctx: RequestContext, fault_id: str, ending: str) -> None:
        """End the connection by `ending`: disconnect, reset or half_close."""
        conn = self._connections[ctx.connection_id]
        conn.ending = ending
        self._close(conn, f"{ending} by {fault_id}")

    # -- refusals --------------------------------------------------------------------------

    def _unserved(self, conn: Connection, header: RequestHeader, api: Api | None) -> None:
        if api is not None and api.key is ApiKey.API_VERSIONS:
            conn.requests += 1
            chunks = unknown_api_versions(conn.registry, header.correlation_id)
            conn.send(chunks, sum(map(len, chunks)))
            self._touch(conn)
        else:
            self._refuse(conn, header, unserved_reason(api))

    def _refuse(self, conn: Connection, header: RequestHeader | None, reason: str) -> None:
        self.requests_refused += 1
        self.journal.record(refusal(conn, header, reason, self.broker_id))
        self._close(conn, reason)

    def _close(self, conn: Connection, reason: str) -> None:
        conn.close(reason)
        self._abandon(conn)
        self._touch(conn)

    def _abandon(self, conn: Connection) -> None:
        """Nobody waits for the request in work any more."""
        ctx = conn.in_work
        conn.in_work = None
        if ctx is not None:
            ctx.done = True
            if ctx.on_disconnect is not None:
                ctx.on_disconnect()
            ctx.woken_by = DISCONNECT
            self._record(ctx)

    # -- the end of a step -----------------------------------------------------------------

    def _touch(self, conn: Connection) -> None:
        if not conn.touched:
            conn.touched = True
            self.touched.append(conn)

    def _drain(self) -> None:
        """Complete what this step made ready, and work on what that released, until all is quiet.

        A request that waits behind a completed one is taken up here, not where the completion
        happened: a room that completes several operations is never entered again meanwhile.
        """
        services = self.services
        replicas = services.replicas
        while replicas.ready or services.deferred or self._runnable:
            if replicas.ready:
                replicas.drain()
            if services.deferred:
                for action in services.take_deferred():
                    action()
            if self._runnable:
                runnable, self._runnable = self._runnable, []
                for conn in runnable:
                    self._work(conn)
                    if conn.full or conn.out_bytes:
                        self._touch(conn)
