"""A request and its answer field by field, each with its bytes: what the console shows of a row.

Called by the admin API, for one request at a time. What proves who a client is and the values of
configs with passwords are no part of it: their bytes are blanked here, as `decoding` and `bodies`
leave them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.headers import decode_request_header, decode_response_header
from mockbroker_protocol.messages.catalog import request_class, response_class
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.secret_fields import SECRET_CONFIGS, SECRET_FIELDS
from mockbroker_protocol.spans import Span, spans_of

if TYPE_CHECKING:
    from mockbroker.journal.request import RequestServed

_CONFIG_VALUES: Final = frozenset({"value", "config_value"})
_CONFIG_NAMES: Final = frozenset({"name", "config_name"})
_TOPIC_NAMES: Final = frozenset({"topic", "topic_id"})
_METADATA_LOG: Final = ("__cluster_metadata", bytes(15) + b"\1")
"""Its records hold what the metadata do: keys of SCRAM, passwords of configs."""
_HIDDEN: Final = "[hidden]"
_BLANK: Final = b"*"
_LENGTH_BYTES: Final = 4


class Dissected(NamedTuple):
    """The bytes of one message with its length, and its fields in wire order.

    `problem` says why the fields end early: a fault mangled the bytes.
    """

    name: str
    data: bytes
    fields: list[Span]
    problem: str | None


def dissect_request(served: RequestServed) -> Dissected | None:
    """The request; None when its bytes were let go."""
    frame = served.frame
    if frame is None:
        return None
    body = bytes(frame)
    data = len(body).to_bytes(_LENGTH_BYTES) + body
    header = decode_request_header(body)
    at = _LENGTH_BYTES
    fields = [
        Span(0, "length", "int32", len(body), 0, at),
        Span(0, "request_api_key", "int16", served.api_key, at, at + 2),
        Span(0, "request_api_version", "int16", served.api_version, at + 2, at + 4),
        Span(0, "correlation_id", "int32", header.correlation_id, at + 4, at + 8),
        Span(0, "client_id", "string", header.client_id, at + 8, at + header.body_pos),
    ]
    return _body(request_class(served.api_key), served, data, fields, at + header.body_pos)


def dissect_response(served: RequestServed) -> Dissected | None:
    """The answer; None when there was none, or its bytes were let go."""
    if not served.chunks:
        return None
    data = b"".join(served.chunks)
    name = response_class(served.api_key).__name__
    try:
        frame = data[_LENGTH_BYTES:]
        correlation_id, begins = decode_response_header(frame, served.api_key, served.api_version)
    except ProtocolError as error:
        return Dissected(name, data, [], str(error))
    at = _LENGTH_BYTES
    fields = [
        Span(0, "length", "int32", int.from_bytes(data[:at], signed=True), 0, at),
        Span(0, "correlation_id", "int32", correlation_id, at, at + begins),
    ]
    return _body(response_class(served.api_key), served, data, fields, at + begins)


def _body(
    cls: type, served: RequestServed, data: bytes, fields: list[Span], begins: int
) -> Dissected:
    problem = None
    try:
        fields += spans_of(cls, served.api_version, data, begins)
    except ProtocolError as error:
        problem = str(error)
    if problem is not None and _may_be_secret(cls):
        # Where the fields end nobody can say what the rest holds.
        return Dissected(cls.__name__, _BLANK * len(data), fields, problem)
    shown, data = _without_secrets(fields, data)
    return Dissected(cls.__name__, data, shown, problem)


def _may_be_secret(cls: type) -> bool:
    return any(
        word in cls.__name__
        for word in ("Sasl", "Scram", "Token", "Config", "CreateTopics", "Envelope")
    )


def _without_secrets(fields: list[Span], data: bytes) -> tuple[list[Span], bytes]:
    """The same with secrets hidden, in the fields and in the bytes."""
    found: list[Span] = []
    names: dict[int, str] = {}
    blanked = bytearray(data)
    of_metadata = False
    for span in fields:
        if span.name in _TOPIC_NAMES:
            of_metadata = span.value in _METADATA_LOG
        if span.name in _CONFIG_NAMES:
            names[span.depth] = str(span.value)
        named = names.get(span.depth, "") if span.name in _CONFIG_VALUES else ""
        if (
            span.name in SECRET_FIELDS
            or (of_metadata and span.name == "records")
            or any(word in named for word in SECRET_CONFIGS)
        ):
            blanked[span.start : span.end] = _BLANK * (span.end - span.start)
            found.append(span._replace(value=_HIDDEN))
        else:
            found.append(span)
    return found, bytes(blanked)


def text_of(span: Span) -> str:
    """The value of a span for people."""
    value = span.value
    if value is None:
        return "null"
    if span.type == "uuid" and isinstance(value, bytes):
        return uuid_text(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
