"""A broker as the client of another one: requests out, answers in, by the wire's own bytes.

Replica fetchers and coordinators use it (Kafka: NetworkClient, InterBrokerSendThread). Its frames
are handed to the other broker's `receive` over the cluster's links; `Wiring` is the cluster's side.

Invariants: `on_response` of a request is called once, in the order of the requests, with None when
the connection was lost or its answer took longer than the time-out; a client that was closed says
nothing more.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol, cast

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.headers import decode_response_header, encode_request_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
    from mockbroker_protocol.primitives import Buffer

    OnResponse = Callable[[object | None], None]


_FETCH: Final = ApiKey.FETCH.value
_SIZE_AND_START: Final = Struct(">i4si")
"""Length prefix, API key and version, correlation id."""


class Wiring(Protocol):
    """What carries a client's bytes: the cluster."""

    def open(self, client: BrokerClient) -> int:
        """A connection id for the client, from now on."""

    def send(self, client: BrokerClient, data: bytes) -> None:
        """Carry bytes to the other broker."""

    def close(self, client: BrokerClient) -> None:
        """The client hangs up."""


class BrokerClient:
    """One connection from `source` to `target`, made anew when it was lost."""

    def __init__(
        self,
        wiring: Wiring,
        clock: Clock,
        timer: Timer,
        source: int,
        target: int,
        client_id: str,
        timeout_ms: float,
    ) -> None:
        self._wiring = wiring
        self._clock = clock
        self._timer = timer
        self._timeout_ms = timeout_ms
        self.source = source
        self.target = target
        self.client_id = client_id
        self.connection_id: int | None = None
        """Set while there is a connection."""
        self._frames = FrameBuffer()
        self._headers: dict[tuple[int, int], tuple[bytes, bytes]] = {}
        self._correlation_id = 0
        self._pending: deque[tuple[int, int, float, OnResponse]] = deque()
        self.alarm: TimerTask | None = None

    # -- requests --------------------------------------------------------------------------

    def send(self, request: object, version: int, on_response: OnResponse) -> None:
        """Send any message; the answer is of its response class."""
        from mockbroker_protocol.plan import encode

        api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
        self._send(api_key, version, b"".join(encode(request, version)), on_response)

    def fetch(
        self,
        request: FetchRequest,
        version: int,
        on_response: Callable[[FetchResponse | None], None],
    ) -> None:
        """Send a Fetch."""
        from mockbroker_protocol.fetch_codec import encode_fetch_request

        body = encode_fetch_request(request, version)
        self._send(_FETCH, version, body, cast("OnResponse", on_response))

    def _send(self, api_key: int, version: int, body: bytes, on_response: OnResponse) -> None:
        if self.connection_id is None:
            self._frames = FrameBuffer()
            self.connection_id = self._wiring.open(self)
        self._correlation_id += 1
        before, after = self._headers.get((api_key, version)) or self._header(api_key, version)
        size = 8 + len(after) + len(body)
        now_ms = self._clock.now_ms
        self._pending.append((api_key, version, now_ms, on_response))
        if self.alarm is None:
            self.alarm = self._timer.schedule(now_ms + self._timeout_ms, self._check)
        start = _SIZE_AND_START.pack(size, before, self._correlation_id)
        self._wiring.send(self, b"".join((start, after, body)))

    def _header(self, api_key: int, version: int) -> tuple[bytes, bytes]:
        """A request header before and after its correlation id, which alone changes."""
        header = encode_request_header(api_key, version, 0, self.client_id)
        parts = self._headers[api_key, version] = header[:4], header[8:]
        return parts

    def close(self) -> None:
        """Hang up; nothing that is pending is answered."""
        self._pending.clear()
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None
        if self.connection_id is not None:
            self._wiring.close(self)
            self.connection_id = None

    # -- rounds that are skipped (`cluster.idle_rounds`) ----------------------------------------

    @property
    def waits_for_one(self) -> bool:
        """Whether one fetch is under way, and no part of its answer has come."""
        pending = self._pending
        return len(pending) == 1 and pending[0][0] == _FETCH and not self._frames.buffered_bytes

    def move(self, sent_ms: float) -> None:
        """The only request under way was sent then, and later than it was."""
        api_key, version, _, on_response = self._pending.pop()
        self._pending.append((api_key, version, sent_ms, on_response))
        if self.alarm is not None:
            self.alarm.cancel()
        self.alarm = self._timer.schedule(sent_ms + self._timeout_ms, self._check)

    # -- what the cluster tells --------------------------------------------------------------

    def received(self, data: Buffer) -> None:
        """Bytes from the other broker. Raises ProtocolError if they are no answers."""
        if (
            len(self._pending) == 1
            and self._pending[0][0] == _FETCH
            and not self._frames.buffered_bytes
            and len(data) > 4
            and data[:4] == (len(data) - 4).to_bytes(4, "big")
        ):
            # The whole answer of a fetch: its records are copied once, into the log.
            _, version, _, on_response = self._pending[0]
            response = _decode(memoryview(data)[4:], _FETCH, version)
            self._pending.popleft()
            on_response(response)
            return
        for frame in self._frames.feed(data):
            if not self._pending:
                raise ProtocolError("an answer that nobody asked for")
            api_key, version, _, on_response = self._pending[0]
            response = _decode(frame, api_key, version)
            self._pending.popleft()
            on_response(response)

    def lost(self) -> None:
        """The connection is gone: what was asked gets no answer."""
        self.connection_id = None
        pending, self._pending = self._pending, deque()
        for _, _, _, on_response in pending:
            on_response(None)

    def _check(self) -> None:
        """The time-out may be over for the oldest request."""
        self.alarm = None
        if not self._pending:
            return
        due_ms = self._pending[0][2] + self._timeout_ms
        if due_ms > self._clock.now_ms:
            self.alarm = self._timer.schedule(due_ms, self._check)
        else:
            self._wiring.close(self)
            self.lost()


def _decode(frame: Buffer, api_key: int, version: int) -> object:
    _, pos = decode_response_header(frame, api_key, version)
    if api_key == _FETCH:
        from mockbroker_protocol.fetch_codec import decode_fetch_response

        return decode_fetch_response(frame, pos, version)
    from mockbroker_protocol.messages.catalog import response_class
    from mockbroker_protocol.plan import decode

    kind: type[object] = response_class(api_key)
    return decode(kind, version, frame, pos)[0]
