"""The requests of one broker, one after another on each connection: decoded, handled, answered.

`broker` gives it the frames of its connections; whoever answers a parked request comes back through
`RequestContext.respond` (Kafka: KafkaRequestHandler, RequestChannel). It is the request boundary:
what fails in here closes the connection of that request alone.

Invariants: each request is answered at most once, in the order of its connection; a connection
that failed sends nothing after the answers already queued; nothing completes re-entrantly.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mockbroker.apis.context import CLOSE, NO_RESPONSE, PARKED, RequestContext
from mockbroker.journal import DISCONNECT, PEER, HandlerFailed
from mockbroker.node.refusals import refusal, unknown_api_versions, unserved_reason
from mockbroker.node.slices import SlicedWork, SliceQueue, encoded
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.headers import (
    decode_request_header,
    frame_response,
    peek_request_header,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mockbroker.apis.context import Handle, ServedApi, Services
    from mockbroker.faults.fault_set import FaultSet
    from mockbroker.journal import Journal
    from mockbroker.node.connection import Connection
    from mockbroker.node.interceptor import RequestSubjects
    from mockbroker.node.outbox import Outbox
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.headers import RequestHeader
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.slices import Aside

FRAMES_PER_STEP: Final = 128
"""Queued requests of one connection that are worked on before others have their turn."""
_UNCHARGED: Final = frozenset(
    (ApiKey.WRITE_TXN_MARKERS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
)
"""Requests that no quota counts."""


class _Over:
    """The responder of requests that are over.

    Their records are kept for long, and must not keep what a broker is made of: it may be killed.
    """

    __slots__ = ("_connections", "broker_id")

    def __init__(self, broker_id: int, connections: Mapping[int, Connection]) -> None:
        self.broker_id = broker_id
        self._connections = connections

    def is_connected(self, connection_id: int) -> bool:
        """Whether the client of a request is still there."""
        return connection_id in self._connections

    def complete(self, ctx: RequestContext, response: object) -> None:
        """A request that is over is not answered again."""

    def complete_in_slices(self, ctx: RequestContext, response: object) -> None:
        """Neither at once nor in slices."""

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """Nor is its answer made."""


def _intercepted(
    handler: RequestHandler,
    faults: FaultSet,
    ctx: RequestContext,
    api: ServedApi,
    request: object,
    process: Handle | None,
    subjects: RequestSubjects | None = None,
) -> bool:
    if not faults.meets(ctx.api_key):
        return False
    from mockbroker.node.interceptor import intercept

    return intercept(handler, faults, ctx, api, request, process, subjects)


def _timed(
    services: Services,
    stopwatch: Callable[[], float],
    api: ServedApi,
    ctx: RequestContext,
    request: object,
) -> object:
    """What the API answers, and how long that took in real time, unless it is parked."""
    began_s = stopwatch()
    response = api.handle(services, ctx, request)
    if response is not PARKED:
        ctx.service_ms = (stopwatch() - began_s) * 1000.0
    return response


def _mute(handler: RequestHandler, conn: Connection, throttle_time_ms: int) -> None:
    """Work on nothing more of a connection for so long."""
    services = handler.services
    until_ms = services.clock.now_ms + throttle_time_ms
    conn.mute(services.timer, until_ms, lambda: handler.runnable.append(conn))


class RequestHandler:
    """Works on the requests of `connections`; what is to be written goes to `outbox`."""

    def __init__(
        self,
        services: Services,
        journal: Journal,
        connections: Mapping[int, Connection],
        outbox: Outbox,
    ) -> None:
        self.services = services
        self.broker_id = services.broker_id
        self._clock = services.clock
        self._journal = journal
        self._connections = self.connections = connections
        self._outbox = outbox
        self.runnable: list[Connection] = []
        """Connections whose queued requests the next `drain` works on."""
        self.slices = SliceQueue()
        self._unread: set[RequestContext] = set()
        """Large requests that are being decoded: nobody knows yet that they can be read."""
        services.work_in_slices = self.work_in_slices
        self.turn_over: Callable[[], bool] | None = None
        """Whether it is time for others; None: a step does all that there is (see `slices`)."""
        self.beside: Callable[[Aside[object], Callable[[], None]], None] | None = None
        """Has a thread do a piece of work, and calls back in the loop; None: it is done here."""
        self.unfinished = False
        """Whether something was left to a later turn: `go_on` is wanted soon."""
        self.latest: RequestContext | None = None
        """The request that was worked on last, for who looks at what held up a step."""
        self.requests_refused = 0
        self.faults: FaultSet | None = None
        """The armed fault rules, while any is about requests."""
        self._over = _Over(self.broker_id, connections)
        self.step_cause = PEER
        """What this step is, as the journal tells it: what ends the waits that end in it."""

    def is_connected(self, connection_id: int) -> bool:
        """Whether a connection is still there."""
        return connection_id in self._connections

    def take_latest(self) -> RequestContext | None:
        """The request that was worked on last, once."""
        latest, self.latest = self.latest, None
        return latest

    # -- one request -----------------------------------------------------------------------

    def work(self, conn: Connection) -> None:
        """Work on what is queued; a long pipeline gives way to others after a while."""
        if conn.queue and conn.full:
            # What is served here may answer nothing, and yet make room to read.
            self._outbox.touch(conn)
        left = FRAMES_PER_STEP
        over = self.turn_over
        while conn.queue and conn.can_work:
            if not left or (over is not None and left < FRAMES_PER_STEP and over()):
                self._outbox.touch(conn)
                return
            left -= 1
            self.serve(conn, conn.pop())
        error = conn.frames.error
        if error is not None and conn.idle and not conn.closing:
            login = None if conn.gate is None else self.services.logins.get(conn.id)
            if conn.ended:
                self.close(conn, None)
            elif login is None or not login.refuse_later(str(error)):
                self.refuse(conn, None, str(error))

    def serve(self, conn: Connection, frame: Frame) -> None:
        """Decode a request and answer it, unless it is parked or not to be answered."""
        gate = conn.gate
        if gate is not None and not gate(frame):
            return
        try:
            header = decode_request_header(frame)
        except ProtocolError as error:
            self.refuse(conn, peek_request_header(frame), f"request header: {error}")
            return
        client_id = header.client_id or ""
        conn.client_id = client_id
        api = conn.registry.get(header.api_key)
        version = header.api_version
        if api is None or not api.min_version <= version <= api.max_version:
            self._unserved(conn, header, api)
            return
        size = len(frame)
        if size > api.large_bytes:
            self._serve_large(conn, header, api, frame)
            return
        try:
            request = api.decode(frame, header.body_pos, version)
        except Exception as error:  # noqa: BLE001 -- the request boundary, as below
            self._failed(conn, client_id, api, version, error, header)
            return
        conn.requests += 1
        api.requests += 1
        api.request_bytes += size
        ctx = RequestContext(self, header, conn, self._clock.now_ms, size, frame)
        conn.in_work = self.latest = ctx
        quotas = self.services.quotas
        if quotas is not None and header.api_key not in _UNCHARGED:
            ctx.throttle_time_ms = quotas.charge_request(ctx.principal, client_id)
        faults = self.faults
        if faults is not None and _intercepted(self, faults, ctx, api, request, api.handle):
            return
        stopwatch = self._journal.stopwatch
        try:
            if stopwatch is None:
                response = api.handle(self.services, ctx, request)
            else:
                response = _timed(self.services, stopwatch, api, ctx, request)
            if response is not PARKED:
                self.finish(conn, ctx, api, response)
            elif not ctx.done:
                ctx.woken_by = PEER  # until the end of its wait says better
        except Exception as error:  # noqa: BLE001 -- the request boundary: our bug, not theirs
            self._failed(conn, client_id, api, version, error)

    # -- requests that are worked on in slices ---------------------------------------------

    def _serve_large(
        self, conn: Connection, header: RequestHeader, api: ServedApi, frame: Frame
    ) -> None:
        """As the rest of `serve`, in slices: one now, the others as turns allow."""
        from mockbroker.node.large_requests import work_on

        ctx = RequestContext(self, header, conn, self._clock.now_ms, len(frame), frame)
        conn.in_work = ctx
        self._unread.add(ctx)
        steps = work_on(self, conn, ctx, api, header.body_pos)
        work = SlicedWork(ctx, steps)
        if self._advance(work):
            self.slices.add(work)
            self.unfinished = True

    def work_in_slices(self, ctx: RequestContext, steps: Iterator[object]) -> None:
        """Do the rest of a request that is parked, a slice a turn."""
        self.slices.add(SlicedWork(ctx, steps))
        self.unfinished = True

    def accept(
        self,
        conn: Connection,
        ctx: RequestContext,
        api: ServedApi,
        request: object,
        process: Handle | None,
        subjects: RequestSubjects | None,
    ) -> bool:
        """Count a request that was decoded in slices; False when a fault rule takes it over."""
        self._unread.discard(ctx)
        conn.requests += 1
        api.requests += 1
        quotas = self.services.quotas
        if quotas is not None and ctx.api_key not in _UNCHARGED:
            ctx.throttle_time_ms = quotas.charge_request(ctx.principal, ctx.client_id)
        faults = self.faults
        return faults is None or not _intercepted(
            self, faults, ctx, api, request, process, subjects
        )

    def resume(self, ctx: RequestContext) -> None:
        """What the work on a request waited for is there."""
        self.slices.resume(ctx)
        self.unfinished = True

    def _advance(self, work: SlicedWork) -> bool:
        """One slice, inside the request boundary; whether there is more to do."""
        ctx = work.ctx
        conn = self._connections.get(ctx.connection_id)
        if conn is None or ctx.done:
            return False
        self.latest = ctx
        try:
            more = work.advance()
        except ProtocolError as error:
            assert ctx.frame is not None
            conn.in_work = None  # what cannot be read is no request
            self._unread.discard(ctx)
            ctx.done = True
            self.refuse(conn, peek_request_header(ctx.frame), f"request body: {error}")
            return False
        except Exception as error:  # noqa: BLE001 -- the request boundary, as in `serve`
            api = conn.registry.get(ctx.api_key)
            assert api is not None
            self._failed(conn, ctx.client_id, api, ctx.api_version, error)
            return False
        if not more and (conn.queue or conn.frames.error is not None):
            self.runnable.append(conn)
        if more and work.aside is not None and self.beside is not None:
            work.waits = True
            self.beside(work.aside, partial(self.resume, ctx))
        return more

    def complete(self, ctx: RequestContext, response: object) -> None:
        """A parked request has its answer (called through `RequestContext.respond`)."""
        self._complete(ctx, response, None)

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """As `complete`, with an answer that has yet to be made: a failure there is its own."""
        self._complete(ctx, None, make)

    def complete_in_slices(self, ctx: RequestContext, response: object) -> None:
        """As `complete`, with an answer that is long: it was no wait that it took so long."""
        conn = self._connections.get(ctx.connection_id)
        api = None if conn is None else conn.registry.get(ctx.api_key)
        if conn is None or conn.in_work is not ctx or api is None:
            return
        if ctx.woken_by is PEER:
            ctx.woken_by = None
        self.work_in_slices(ctx, self._encode_and_finish(conn, ctx, api, response))

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
        try:
            self.finish(conn, ctx, api, response if make is None else make())
        except Exception as error:  # noqa: BLE001 -- the request boundary, as in `serve`
            self._failed(conn, ctx.client_id, api, ctx.api_version, error)
        if conn.queue or conn.frames.error is not None:
            self.runnable.append(conn)

    def _failed(
        self,
        conn: Connection,
        client_id: str,
        api: ServedApi,
        version: int,
        error: Exception,
        header: RequestHeader | None = None,
    ) -> None:
        """Our bug, unless it was the body behind a header that could not be read."""
        if header is not None and isinstance(error, ProtocolError):
            self.refuse(conn, header, f"request body: {error}")
            return
        self._journal.record(
            HandlerFailed(conn.id, conn.peer, client_id, api.name, version, error, self.broker_id)
        )
        self.close(conn, f"{api.name} v{version} failed")

    def finish(
        self,
        conn: Connection,
        ctx: RequestContext,
        api: ServedApi,
        response: object,
        body: list[Buffer] | None = None,
    ) -> None:
        """Send the answer of a request; `body` is there if it was encoded before."""
        ctx.done = True
        conn.in_work = None
        if response is CLOSE:
            self.close(conn, f"{api.name} with acks=0 failed")
        elif response is not NO_RESPONSE:
            version = ctx.api_version
            if body is None:
                body = api.encode(response, version)
            chunks = frame_response(ctx.api_key, version, ctx.correlation_id, body)
            size_bytes = len(chunks[0]) if len(chunks) == 1 else sum(map(len, chunks))
            conn.out += chunks
            conn.out_bytes += size_bytes
            self._outbox.touch(conn)
            ctx.chunks = chunks
            ctx.response_bytes = size_bytes
            api.response_bytes += size_bytes
        if ctx.throttle_time_ms > 0 and not conn.closing:
            _mute(self, conn, ctx.throttle_time_ms)
        self._record(ctx)

    def _record(self, ctx: RequestContext) -> None:
        """A request is over: its context becomes its record, without what only work needs."""
        ctx.completed_ms = self._clock.now_ms
        ctx.on_disconnect = None
        ctx.responder = self._over
        fetch = ctx.fetch
        if fetch is not None:
            ctx.fetch = None
            ctx.fetch_class = fetch.fetch_class
            ctx.request_bytes_saved = fetch.request_bytes_saved
            if ctx.response_bytes:
                ctx.response_bytes_saved = fetch.response_bytes_saved
                self.services.fetch.note_answered(fetch)
        self._journal.served(ctx)

    # -- requests that meet a fault --------------------------------------------------------

    @property
    def cause(self) -> str:
        """What completes the requests that are completed now, as the journal tells it."""
        return self.services.replicas.draining or self.step_cause

    def guard(self, ctx: RequestContext, work: Callable[[], None]) -> None:
        """Run a part of what becomes of a request inside the boundary, unless its client left."""
        conn = self._connections.get(ctx.connection_id)
        api = None if conn is None else conn.registry.get(ctx.api_key)
        if conn is None or conn.in_work is not ctx or api is None:
            return
        try:
            work()
        except Exception as error:  # noqa: BLE001 -- the request boundary, as in `serve`
            self._failed(conn, ctx.client_id, api, ctx.api_version, error)
        if conn.queue or conn.frames.error is not None:
            self.runnable.append(conn)

    def answer(self, ctx: RequestContext, response: object, *, is_long: bool) -> None:
        """Answer a request that is in work, inside `guard`; if it is long, in slices."""
        conn = self._connections[ctx.connection_id]
        api = conn.registry.get(ctx.api_key)
        assert api is not None
        if is_long:
            self.work_in_slices(ctx, self._encode_and_finish(conn, ctx, api, response))
        else:
            self.finish(conn, ctx, api, response)

    def _encode_and_finish(
        self, conn: Connection, ctx: RequestContext, api: ServedApi, response: object
    ) -> Iterator[object]:
        body = yield from encoded(response, ctx.api_version)
        self.finish(conn, ctx, api, response, body)

    def answer_bytes(self, ctx: RequestContext, data: Buffer) -> None:
        """The same with bytes that are sent as they are."""
        conn = self._connections[ctx.connection_id]
        ctx.done = True
        conn.in_work = None
        conn.send([data], len(data))
        self._outbox.touch(conn)
        ctx.chunks = [data]
        ctx.response_bytes = len(data)
        api = conn.registry.get(ctx.api_key)
        assert api is not None
        api.response_bytes += len(data)
        self._record(ctx)

    def cut_off(self, ctx: RequestContext, reason: str, ending: str | None) -> None:
        """End the connection by `ending`: disconnect, reset or half_close; None: as ever."""
        conn = self._connections[ctx.connection_id]
        conn.ending = ending
        self.close(conn, reason)

    # -- refusals --------------------------------------------------------------------------

    def _unserved(self, conn: Connection, header: RequestHeader, api: ServedApi | None) -> None:
        if api is not None and api.key is ApiKey.API_VERSIONS:
            conn.requests += 1
            chunks = unknown_api_versions(conn.registry, header.correlation_id)
            conn.send(chunks, sum(map(len, chunks)))
            self._outbox.touch(conn)
        else:
            self.refuse(conn, header, unserved_reason(api))

    def refuse(self, conn: Connection, header: RequestHeader | None, reason: str) -> None:
        """Close the connection of a request that is not served."""
        self.requests_refused += 1
        self._journal.record(refusal(conn, header, reason, self.broker_id))
        self.close(conn, reason)

    def close(self, conn: Connection, reason: str | None) -> None:
        """End a connection, after the answers that are queued."""
        conn.close(reason)
        self.abandon(conn)
        self._outbox.touch(conn)

    def abandon(self, conn: Connection) -> None:
        """Nobody waits for the request in work any more."""
        ctx = conn.in_work
        conn.in_work = None
        if ctx is not None:
            ctx.done = True
            self.slices.drop(ctx)
            if ctx.on_disconnect is not None:
                ctx.on_disconnect()
            ctx.woken_by = DISCONNECT
            if ctx not in self._unread:
                self._record(ctx)
            self._unread.discard(ctx)

    # -- the end of a step -----------------------------------------------------------------

    def drain(self) -> None:
        """Complete what this step made ready, and work on what that released, until all is quiet.

        A request that waits behind a completed one is taken up here, not where the completion
        happened: a room that completes several operations is never entered again meanwhile.
        """
        services = self.services
        replicas = services.replicas
        first = True
        while True:
            while replicas.ready or services.deferred or self.runnable or replicas.waking:
                over = self.turn_over
                if first:
                    first = False
                elif over is not None and (replicas.puts_off or over()):
                    self.unfinished = True
                    return
                replicas.drain(over)
                if services.deferred:
                    for action in services.take_deferred():
                        action()
                if self.runnable:
                    self._work_on_runnable(over)
            if self.turn_over is not None or not self.slices.queue:
                return
            self.slices.run(self._advance)

    def _work_on_runnable(self, over: Callable[[], bool] | None) -> None:
        runnable, self.runnable = self.runnable, []
        for done, conn in enumerate(runnable, 1):
            self.work(conn)
            if conn.full or conn.out_bytes:
                self._outbox.touch(conn)
            if over is not None and done < len(runnable) and over():
                self.runnable = runnable[done:] + self.runnable
                return

    def go_on(self, over: Callable[[], bool]) -> None:
        """Go on, until the turn is over, with what was left to later turns."""
        self.unfinished = False
        while self.slices:
            self.slices.run(self._advance)
            if over():
                break
        self.drain()
        self.unfinished = self.unfinished or bool(self.slices)
