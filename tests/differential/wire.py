"""A Kafka connection with nothing in between: messages of the codec over a blocking socket."""

from __future__ import annotations

import socket
import struct
from collections import deque
from typing import Any, Self

from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode, encode

ANSWER_TIMEOUT_S = 5.0
CLIENT_ID = "differential"


class ClosedError(Exception):
    """The broker closed the connection where an answer was due."""


class Raw:
    """A request as bytes, for what the codec would not write."""

    def __init__(self, api_key: int, body: bytes, *, answer_version: int = 0) -> None:
        self.API_KEY = api_key
        self.body = body
        self.answer_version = answer_version


class Wire:
    """One connection, from the address `source` if there is one. Answers come in order."""

    def __init__(self, host: str, port: int, source: str = "") -> None:
        self._socket = socket.create_connection(
            (host, port), timeout=ANSWER_TIMEOUT_S, source_address=(source, 0)
        )
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._awaited: deque[tuple[int, int, int]] = deque()
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    @property
    def is_awaiting(self) -> bool:
        return bool(self._awaited)

    def send(self, message: object, version: int) -> None:
        api_key: int = message.API_KEY  # type: ignore[attr-defined]  # of every request class
        self._correlation_id += 1
        header = encode_request_header(api_key, version, self._correlation_id, CLIENT_ID)
        if isinstance(message, Raw):
            chunks, answer_version = [message.body], message.answer_version
        else:
            chunks, answer_version = [bytes(chunk) for chunk in encode(message, version)], version
        body = b"".join((header, *chunks))
        if not has_no_answer(message):
            self._awaited.append((api_key, answer_version, self._correlation_id))
        try:
            self._socket.sendall(struct.pack(">i", len(body)) + body)
        except OSError:
            raise ClosedError from None

    def receive(self) -> Any:
        api_key, version, correlation_id = self._awaited.popleft()
        (length,) = struct.unpack(">i", self._read(4))
        frame = self._read(length)
        answered_id, pos = decode_response_header(frame, api_key, version)
        assert answered_id == correlation_id, "an answer out of order"
        message: object
        message, end = decode(response_class(api_key), version, frame, pos)
        assert end == length, f"{length - end} bytes behind the answer"
        return message

    def ask(self, message: object, version: int) -> Any:
        """The answer, or None where there is none: Produce with acks 0."""
        self.send(message, version)
        return None if has_no_answer(message) else self.receive()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self._socket.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise ClosedError
            data += chunk
        return bytes(data)


def has_no_answer(message: object) -> bool:
    return getattr(message, "acks", None) == 0
