"""What a frame opens with: request headers v1 and v2, response headers v0 and v1.

Called once per request, before the body's plan, and once per answer, after it. An API is flexible
from a version on (ALL_SPECS); from there the request header is v2 and the response header v1: each
ends with a tag section. The client id keeps its int16 length in both. ApiVersions answers with
response header v0 always, so that a client which knows no version yet can read it (KIP-511,
ApiVersionsResponse.json).
Sources: RequestHeader.parse, ApiKeys.requestHeaderVersion and responseHeaderVersion.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Final

from mockbroker_protocol.api_keys import ALL_SPECS, API_SPECS, NEVER, ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.native import mypyc_attr
from mockbroker_protocol.primitives import (
    Buffer,
    decode_text,
    read_tags,
    write_nullable_string,
    write_tags,
)

_REQUEST: Final = Struct(">hhih")
_REQUEST_V0: Final = Struct(">hhi")
_API: Final = Struct(">hh")
_RESPONSE: Final = Struct(">i")
_RESPONSE_V1: Final = Struct(">ix")
_pack_framed: Final[Callable[[int, int], bytes]] = Struct(">ii").pack
_pack_framed_v1: Final[Callable[[int, int], bytes]] = Struct(">iix").pack
_FLEXIBLE: Final[dict[int, int]] = {spec.key.value: spec.flexible for spec in ALL_SPECS.values()}
_unpack_request: Final[Callable[[Buffer], tuple[int, int, int, int]]] = _REQUEST.unpack_from
_FLEXIBLE_RESPONSE: Final[dict[int, int]] = {**_FLEXIBLE, ApiKey.API_VERSIONS.value: NEVER}
_API_VERSIONS: Final = API_SPECS[ApiKey.API_VERSIONS]
JOIN_BELOW_BYTES: Final = 4096
"""A body's first chunk that is smaller is joined to the header: one chunk fewer to send."""


@mypyc_attr(acyclic=True, free_list_len=1)
class RequestHeader:
    """A request header; `body_pos` is where the body begins in the frame.

    It is made empty: arguments of an `__init__` would take as long as all that a header says.
    """

    __slots__ = (
        "api_key",
        "api_version",
        "body_pos",
        "client_id",
        "correlation_id",
        "unknown_tags",
    )

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_pos: int
    unknown_tags: dict[int, bytes] | None

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r})"
        )


def request_header(
    api_key: int, version: int, correlation_id: int, client_id: str | None, body_pos: int
) -> RequestHeader:
    """A header of these fields, without tags."""
    header = RequestHeader()
    header.api_key = api_key
    header.api_version = version
    header.correlation_id = correlation_id
    header.client_id = client_id
    header.body_pos = body_pos
    header.unknown_tags = None
    return header


def decode_request_header(buf: Buffer) -> RequestHeader:
    """Read the header of a request frame; ProtocolError when it is cut.

    The header of an unknown API is read as v1, and that of an ApiVersions version from the future
    as far as it makes sense: both are for the caller to answer or to refuse.
    """
    header = RequestHeader()
    try:
        api_key, version, header.correlation_id, length = _unpack_request(buf)
        header.api_key = api_key
        header.api_version = version
        pos = 10
        if length < 0:
            header.client_id = None
        else:
            pos += length
            if pos > len(buf):
                raise ProtocolError(f"client id of {length} bytes is longer than the frame")
            try:
                if isinstance(buf, bytes):  # most frames
                    header.client_id = buf[10:pos].decode()
                else:
                    header.client_id = str(buf[10:pos], "utf-8")
            except UnicodeDecodeError:
                header.client_id = decode_text(bytes(buf[10:pos]))
        header.unknown_tags = None
        if version >= _FLEXIBLE.get(api_key, NEVER):
            if pos < len(buf) and buf[pos] == 0:
                pos += 1
            else:
                header.unknown_tags, pos = _read_header_tags(buf, pos, api_key, version)
        header.body_pos = pos
    except error:
        raise ProtocolError(f"request header is cut after {len(buf)} bytes") from None
    return header


def peek_request_header(buf: Buffer) -> RequestHeader | None:
    """What a frame that has no good header says of its API: for the log line that refuses it."""
    if len(buf) < _API.size:
        return None
    api_key, version = _API.unpack_from(buf)
    return request_header(api_key, version, 0, None, len(buf))


def _read_header_tags(
    buf: Buffer, pos: int, api_key: int, version: int
) -> tuple[dict[int, bytes] | None, int]:
    try:
        return read_tags(buf, pos)
    except ProtocolError:
        if api_key == _API_VERSIONS.key and version > _API_VERSIONS.max_version:
            return None, len(buf)  # KIP-511: such a request is answered, its body is not read
        raise


def encode_request_header(
    api_key: int,
    version: int,
    correlation_id: int,
    client_id: str | None = None,
    unknown_tags: dict[int, bytes] | None = None,
) -> bytes:
    """The header of a request, v2 for a flexible version and v1 below."""
    header = _REQUEST_V0.pack(api_key, version, correlation_id) + write_nullable_string(client_id)
    if version >= _FLEXIBLE.get(api_key, NEVER):
        header += write_tags(unknown_tags)
    elif unknown_tags:
        raise ValueError(f"header of {api_key} v{version} has no room for unknown_tags")
    return header


def encode_response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """The header of a response to a request of that API and version."""
    if version >= _FLEXIBLE_RESPONSE.get(api_key, NEVER):
        return _RESPONSE_V1.pack(correlation_id)
    return _RESPONSE.pack(correlation_id)


def frame_response(
    api_key: int, version: int, correlation_id: int, body: list[Buffer]
) -> list[Buffer]:
    """A response ready to send: length prefix, header, body; a large chunk goes uncopied."""
    if version >= _FLEXIBLE_RESPONSE.get(api_key, NEVER):
        pack, size = _pack_framed_v1, 5
    else:
        pack, size = _pack_framed, 4
    if len(body) == 1 and len(body[0]) < JOIN_BELOW_BYTES:  # most answers
        chunk = body[0]
        return [pack(size + len(chunk), correlation_id) + chunk]
    for chunk in body:
        size += len(chunk)
    head = pack(size, correlation_id)
    if body and len(body[0]) < JOIN_BELOW_BYTES:
        return [head + body[0], *body[1:]]
    return [head, *body]


def decode_response_header(buf: Buffer, api_key: int, version: int) -> tuple[int, int]:
    """(correlation id, where the body begins) of a response frame, for clients."""
    if len(buf) < 4:
        raise ProtocolError(f"response header is cut after {len(buf)} bytes")
    correlation_id: int = _RESPONSE.unpack_from(buf)[0]
    if version >= _FLEXIBLE_RESPONSE.get(api_key, NEVER):
        if len(buf) > 4 and buf[4] == 0:
            return correlation_id, 5
        return correlation_id, read_tags(buf, 4)[1]
    return correlation_id, 4
