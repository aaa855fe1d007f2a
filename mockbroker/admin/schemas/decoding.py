"""Keys and values that a producer wrote with a registry: a 0, the schema's id, then the value.

`routes.records` asks for each that begins so. What cannot be decoded says why, and stays what it
is: bytes.

Source: Confluent's wire format.
"""

from __future__ import annotations

import json
import struct
from collections import OrderedDict
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker.admin.schemas.registry import AVRO, MAX_KEPT, PROTOBUF, SchemaError, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.admin.schemas.registry import Schema

    Decode = Callable[[bytes], tuple[str | None, Any]]

_HEAD: Final = struct.Struct(">bi")
_MAGIC: Final = 0
_MODULES: Final = {AVRO: "avro", PROTOBUF: "protobuf"}
_JSON: Final = "JSON"


class Decoded(NamedTuple):
    """What a registry's schema makes of bytes: JSON as text, or the problem."""

    schema_id: int
    type: str | None
    name: str | None
    text: str | None
    problem: str | None


class Decoder:
    """Decodes by one registry; None: there is none, and each value says how to name one."""

    def __init__(self, url: str | None) -> None:
        self._registry = None if url is None else SchemaRegistry(url)
        self._decoders: OrderedDict[int, Decode | SchemaError] = OrderedDict()

    async def decode(self, data: bytes | None) -> Decoded | None:
        """None for what was not written with a registry."""
        if data is None or len(data) < _HEAD.size:
            return None
        magic, schema_id = _HEAD.unpack_from(data)
        if magic != _MAGIC or schema_id < 0:
            return None
        if self._registry is None:
            problem = "no registry is named that has its schema: --schema-registry URL"
            return Decoded(schema_id, None, None, None, problem)
        kind = None
        try:
            schema = await self._registry.schema(schema_id)
            kind = schema.type
            name, value = self._decoder(schema_id, schema)(bytes(data[_HEAD.size :]))
            return Decoded(schema_id, kind, name, _text(value), None)
        except SchemaError as error:
            return Decoded(schema_id, kind, None, None, str(error))

    def _decoder(self, schema_id: int, schema: Schema) -> Decode:
        found = self._decoders.get(schema_id)
        if found is None:
            try:
                found = _decoder_of(schema)
            except SchemaError as error:
                found = error
            self._decoders[schema_id] = found
            if len(self._decoders) > MAX_KEPT:
                self._decoders.popitem(last=False)
        if isinstance(found, SchemaError):
            raise found
        return found


def _decoder_of(schema: Schema) -> Decode:
    if schema.type == _JSON:
        return _decode_json
    module = _MODULES.get(schema.type)
    if module is None:
        raise SchemaError(
            f"its schema is of the type {schema.type}: AVRO, PROTOBUF, JSON are known"
        )
    made: Decode = import_module(f"mockbroker.admin.schemas.{module}").decoder(schema)
    return made


def _decode_json(data: bytes) -> tuple[str | None, Any]:
    try:
        return None, json.loads(data)
    except (ValueError, RecursionError):
        raise SchemaError("its bytes are no JSON") from None


def _text(value: Any) -> str:  # noqa: ANN401 -- whatever was decoded
    """As JSON: bytes in base 16, times, decimals and ids as their text."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=True)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"it cannot be told as JSON: {error}") from None


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        return value.hex()
    isoformat = getattr(value, "isoformat", None)
    return isoformat() if isoformat is not None else str(value)
