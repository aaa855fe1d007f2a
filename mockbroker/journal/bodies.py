"""A request and its answer as plain data, under Kafka's names: what a line has as `body`.

For the APIs that have no object of their own in a line: Metadata, CreateTopics, DescribeConfigs,
ListOffsets and the other calls of an admin client. Called by `details`. Bounds: MAX_LISTED elements
of a list, MAX_ELEMENTS of all lists of a line; what is left out is counted.
"""

from __future__ import annotations

from typing import Final

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.schema import is_declared, schema_of
from mockbroker_protocol.secret_fields import is_secret

MAX_LISTED: Final = 100
MAX_ELEMENTS: Final = 1000
_UUID_BYTES: Final = 16
_HIDDEN: Final = "[hidden]"
_ANSWER_SAYS_NOTHING: Final = frozenset({ApiKey.API_VERSIONS})
"""It is the same each time."""

Line = dict[str, object]


def body_of(request: object, response: object | None) -> Line:
    """The fields of both messages that are not null; `response` null: there was no answer."""
    body = _Body()
    of_request = body.struct(request)
    if getattr(request, "API_KEY", None) in _ANSWER_SAYS_NOTHING:
        response = None
    of_response = None if response is None else body.struct(response)
    return {"request": of_request, "response": of_response, "left_out": body.left_out}


class _Body:
    """Turns messages into data, as far as there is room."""

    def __init__(self) -> None:
        self.left_out = 0
        self._room = MAX_ELEMENTS

    def struct(self, message: object) -> Line:
        found: Line = {}
        for field in schema_of(type(message)).field_names:
            value: object = getattr(message, field)
            if value is None or field == "throttle_time_ms":  # the line has it already
                continue
            found[field] = _HIDDEN if is_secret(message, field) else self._value(field, value)
        return found

    def _value(self, field: str, value: object) -> object:
        if is_declared(type(value)):
            return self.struct(value)
        if isinstance(value, list):
            count = min(len(value), MAX_LISTED, self._room)
            self._room -= count
            self.left_out += len(value) - count
            return [self._value(field, one) for one in value[:count]]
        if isinstance(value, bytes | bytearray | memoryview):
            is_id = len(value) == _UUID_BYTES and field.endswith(("_id", "_ids", "directories"))
            return uuid_text(bytes(value)) if is_id else f"{len(value)} bytes"
        return value
