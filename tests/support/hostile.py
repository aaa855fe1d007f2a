"""What a hostile client sends, and what must hold afterwards; shared by the property test and the
fuzzer.

`seeds()` are well-formed requests of every served API and version; whatever is made of them, the
broker may refuse or answer, but it must not fail, and a neighbour must not notice.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from mockbroker.journal import HandlerFailed, RequestRefused
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.catalog import request_class
from mockbroker_protocol.plan import encode
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_STEPS_MS = 120_000.0


def frame(data: bytes) -> bytes:
    """Data behind its length."""
    return struct.pack(">i", len(data)) + data


def seeds() -> Iterator[bytes]:
    """One frame, without its length, of each served API and version, with default fields."""
    registry = Core().broker.registry
    for key in registry.advertised():
        api = registry.get(key)
        assert api is not None
        for version in range(api.min_version, api.max_version + 1):
            try:
                body = b"".join(encode(request_class(key)(), version))
            except ValueError:
                continue  # a default that this version cannot carry
            yield encode_request_header(key, version, 1, "seed") + body


class HostileRun:
    """One stranger and one neighbour on a small broker."""

    def __init__(self) -> None:
        self.core = Core(topics={"orders": 2})
        self.neighbour = self.core.client("neighbour")
        self.stranger = self.core.client("stranger")
        self.strangers = 1

    def send(self, data: bytes) -> None:
        """The stranger sends bytes; a closed one comes back on a new connection."""
        if self.stranger.closed:
            self.stranger.disconnect()
            self.stranger = self.core.client("stranger")
            self.strangers += 1
        self.stranger.send_bytes(data)

    def check(self) -> None:
        """Nothing failed, each refusal closed one connection, the neighbour is served."""
        for event in self.core.events:
            if isinstance(event, HandlerFailed):
                raise event.error
        answer = self.neighbour.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert answer.error_code == 0
        assert not self.neighbour.closed
        self.core.advance(MAX_STEPS_MS)
        refusals = sum(isinstance(event, RequestRefused) for event in self.core.events)
        assert refusals <= self.strangers
