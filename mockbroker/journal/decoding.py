"""A request's bytes into messages again, for those who look at the journal.

Called lazily by `request.RequestServed`; never while a request is served. The frame was decoded
once already, so it cannot be malformed; an answer that a fault mangled can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.headers import decode_request_header, decode_response_header
from mockbroker_protocol.messages.catalog import request_class, response_class
from mockbroker_protocol.plan import decode
from mockbroker_protocol.schema import is_declared, schema_of
from mockbroker_protocol.secret_fields import SECRET_FIELDS

_TOKENS: Final = frozenset(
    (
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
    )
)
_SECRET_ANSWERS: Final = _TOKENS | {ApiKey.ENVELOPE}
_SECRETS: Final = _SECRET_ANSWERS | {
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
}

if TYPE_CHECKING:
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.primitives import Buffer


def decode_request(api_key: int, api_version: int, frame: Frame | None) -> object | None:
    """The message of a request's frame (without its length); None when the bytes were let go."""
    if frame is None:
        return None
    position = decode_request_header(frame).body_pos
    message_class: type[object] = request_class(api_key)
    message: object = decode(message_class, api_version, frame, position)[0]
    if api_key in _SECRETS:
        _hide(message)
    return message


def _hide(message: object) -> None:
    """Take out of a message what nobody is to read, and of what it lists."""
    for field in schema_of(type(message)).field_names:
        value: object = getattr(message, field)
        if field in SECRET_FIELDS:
            setattr(message, field, value and b"")
        elif isinstance(value, list):
            for one in value:
                if is_declared(type(one)):
                    _hide(one)


def decode_response(api_key: int, api_version: int, chunks: list[Buffer] | None) -> object | None:
    """The message of an answer's framed chunks; None when there are none or they are mangled."""
    if not chunks:
        return None
    frame = b"".join(chunks)[4:]
    message_class: type[object] = response_class(api_key)
    try:
        position = decode_response_header(frame, api_key, api_version)[1]
        message: object = decode(message_class, api_version, frame, position)[0]
    except ProtocolError:
        return None
    if api_key in _SECRET_ANSWERS:
        _hide(message)
    return message
