"""Raw sockets against a running broker: frames out, frames in, nothing in between."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
from typing import TYPE_CHECKING, Self, TypeVar, cast

from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")
DEADLINE_SECONDS = 20.0
"""Only a broken broker makes a test wait this long."""


class RawConnection:
    """One TCP connection that speaks in frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._correlation_id = 0

    @classmethod
    async def open(
        cls, address: str, *, limit: int = 1 << 16, tls: ssl.SSLContext | None = None
    ) -> RawConnection:
        """Connect to HOST:PORT."""
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port), limit=limit, ssl=tls))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self.writer.wait_closed()

    def request(self, request: object, version: int) -> bytes:
        """The bytes of a request, framed."""
        api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
        self._correlation_id += 1
        frame = encode_request_header(api_key, version, self._correlation_id, "raw")
        frame += b"".join(encode(request, version))
        return struct.pack(">i", len(frame)) + frame

    def send(self, request: object, version: int) -> None:
        """Send a request without waiting for its answer."""
        self.writer.write(self.request(request, version))

    async def frame(self) -> bytes:
        """The next frame."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def receive(self, kind: type[T], version: int) -> T:
        """The next answer, as a message."""
        frame = await self.frame()
        api_key = cast("int", kind.API_KEY)  # type: ignore[attr-defined]
        _, pos = decode_response_header(frame, api_key, version)
        answer_class: type[object] = response_class(api_key)
        message, _ = decode(answer_class, version, frame, pos)
        assert isinstance(message, kind)
        return message

    async def call(self, request: object, version: int, kind: type[T]) -> T:
        """Send a request and wait for its answer."""
        self.send(request, version)
        return await self.receive(kind, version)

    async def closed_by_peer(self) -> bool:
        """Wait until the broker closes; whether nothing else came before."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True
