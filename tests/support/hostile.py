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
from mockbroker_protocol.schema_fields import fields_of
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

    from mockbroker_protocol.schema_fields import WireType

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


def long_names(text: bytes, number: int) -> Iterator[bytes]:
    """As `seeds`, with each string as `text`, each list of one and each number as given.

    `text` may be no UTF-8. What of it a version cannot carry is left out.
    """
    stand_in = "x" * len(text)
    registry = Core().broker.registry
    for key in registry.advertised():
        api = registry.get(key)
        assert api is not None
        for version in range(api.min_version, api.max_version + 1):
            try:
                body = b"".join(
                    encode(_filled(request_class(key), version, stand_in, number), version)
                )
            except (ValueError, struct.error):
                continue
            yield encode_request_header(key, version, 1, stand_in) + body.replace(
                stand_in.encode(), text
            )


def _filled(cls: type, version: int, text: str, number: int) -> object:
    made = cls()
    for field in fields_of(cls):
        if field.present(version):
            setattr(made, field.name, _value(field.type, version, text, number))
    return made


def _value(wire_type: WireType, version: int, text: str, number: int) -> object:
    match wire_type.kind:
        case "string":
            return text
        case "bytes" | "records":
            return b""
        case "array":
            assert wire_type.element is not None
            return [_value(wire_type.element, version, text, number)]
        case "struct":
            assert wire_type.cls is not None
            return _filled(wire_type.cls, version, text, number)
        case "fixed":
            special: dict[str, object] = {"16s": b"i" * 16, "?": False, "d": 1.0}
            return special.get(wire_type.code, number)


def mutate(data: bytes, edits: Iterable[tuple[int, int]], cut: int) -> bytes:
    """Overwrite single bytes, then cut the end off."""
    changed = bytearray(data)
    for where, value in edits:
        changed[where % len(changed)] = value
    return bytes(changed[: max(1, len(changed) - cut)])


def hostile_bytes(rng: Random, requests: Sequence[bytes]) -> bytes:
    """What a stranger sends next: mostly a request with wrong bytes behind a right length."""
    kind = rng.random()
    if kind < 0.02:
        return rng.randbytes(rng.randrange(1, 64))
    if kind < 0.04:
        return struct.pack(">i", rng.choice((-1, 0, 1, 1 << 20, (1 << 31) - 1))) + rng.randbytes(8)
    if kind < 0.2:
        head = struct.pack(">hhih", rng.randrange(100), rng.randrange(-1, 20), 1, -1)
        return frame(head + rng.randbytes(rng.randrange(120)))
    edits = [(rng.randrange(400), rng.randrange(256)) for _ in range(rng.randrange(4))]
    return frame(mutate(rng.choice(requests), edits, rng.choice((0, 0, 0, rng.randrange(12)))))


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
