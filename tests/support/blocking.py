"""A connection for tests that block: frames out, frames in, and when each was sent and came.

`BlockingConnection` is the synchronous sibling of `RawConnection`. Messages go through the compiled
plans, so the broker's hand-written Fetch codec meets another one. Every wait ends at a deadline of
the socket; `readable_within` is how a test sees that nothing came.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import Self, TypeVar

from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode, encode

T = TypeVar("T")
DEADLINE_SECONDS = 20.0
"""Only a broken broker makes a test wait this long."""


class ClosedByPeerError(Exception):
    """The broker closed where an answer was due."""


class BlockingConnection:
    """One TCP connection; answers come in the order of the requests.

    `source` is the address that it comes from, where that matters.
    """

    def __init__(self, address: str, source: str = "") -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection(
            (host, int(port)), DEADLINE_SECONDS, (source, 0) if source else None
        )
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self.received_at = 0.0
        self._expected: list[tuple[int, int, int]] = []
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    @property
    def elapsed_ms(self) -> float:
        """From the last request until the last answer."""
        return (self.received_at - self.sent_at) * 1000.0

    # -- out -------------------------------------------------------------------------------

    def send(self, request: object, version: int, client_id: str | None = "case") -> None:
        """Send a request; `receive` takes its answer."""
        api_key: int = request.API_KEY  # type: ignore[attr-defined]  # of every request class
        self.send_body(api_key, version, body_of(request, version), client_id)

    def send_body(
        self, api_key: int, version: int, body: bytes, client_id: str | None = "case"
    ) -> None:
        """Send a request whose body the test wrote itself."""
        self._correlation_id += 1
        header = encode_request_header(api_key, version, self._correlation_id, client_id)
        self._expected.append((api_key, version, self._correlation_id))
        self.send_frame(header + body)

    def send_frame(self, frame: bytes) -> None:
        """Send bytes behind their length."""
        self.send_bytes(struct.pack(">i", len(frame)) + frame)

    def send_bytes(self, data: bytes) -> None:
        self.sent_at = time.monotonic()
        self.socket.sendall(data)

    # -- in --------------------------------------------------------------------------------

    def frame(self) -> bytes:
        """The next frame."""
        (size,) = struct.unpack(">i", self._read(4))
        data = self._read(size)
        self.received_at = time.monotonic()
        return data

    def receive(self, kind: type[T]) -> T:
        """The next answer, which must use up its frame."""
        frame = self.frame()
        api_key, version, correlation_id = self._expected.pop(0)
        answered, pos = decode_response_header(frame, api_key, version)
        assert answered == correlation_id, "an answer out of order"
        message: object
        message, end = decode(response_class(api_key), version, frame, pos)
        assert end == len(frame)
        assert isinstance(message, kind)
        return message

    def call(self, request: object, version: int, kind: type[T]) -> T:
        """Send a request and wait for its answer."""
        self.send(request, version)
        return self.receive(kind)

    def readable_within(self, seconds: float) -> bool:
        """Whether an answer, or the end, comes in that time."""
        return bool(select.select([self.socket], [], [], seconds)[0])

    def closed_by_peer(self) -> bool:
        """Wait until the broker closes; whether nothing else came before."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self.socket.recv(min(size - len(data), 1 << 20))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise ClosedByPeerError
            data += chunk
        return bytes(data)


def body_of(request: object, version: int) -> bytes:
    """A request's bytes without its header."""
    return b"".join(encode(request, version))
