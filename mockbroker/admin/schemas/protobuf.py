"""Protobuf values by the descriptor that a registry has of their file, with Google's library.

In front of the message stand the indexes that lead to its type in the file: how many, then each, as
zigzag varints; a lone 0 is short for the file's first.

Source: Confluent's wire format; `MessageIndexes` of its Java client.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from mockbroker.admin.schemas.registry import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.admin.schemas.registry import Schema

MAX_INDEXES: Final = 100
_OWN: Final = (
    "any", "source_context", "type", "api", "descriptor", "duration", "empty", "field_mask",
    "struct", "timestamp", "wrappers",
)  # fmt: skip
"""Files of google/protobuf, which the library has, each behind what it imports."""
_FILE: Final = "schema of the record"


def decoder(schema: Schema) -> Callable[[bytes], tuple[str | None, Any]]:
    """What makes the full name of the message and its fields of bytes. Both raise SchemaError."""
    try:
        from google.protobuf import descriptor_pool, json_format, message_factory
        from google.protobuf.descriptor_pb2 import FileDescriptorProto
        from google.protobuf.message import DecodeError
    except ImportError:
        raise SchemaError("Protobuf needs protobuf: pip install 'mockbroker[schemas]'") from None
    pool = descriptor_pool.DescriptorPool()
    for own in _OWN:
        module = import_module(f"google.protobuf.{own}_pb2")
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    try:
        for name, text in (*schema.references.items(), (_FILE, schema.text)):
            file = FileDescriptorProto.FromString(b64decode(text, validate=True))
            file.name = name  # as others import it, whatever its author called it
            pool.AddSerializedFile(file.SerializeToString())
        found = pool.FindFileByName(_FILE)
    except (DecodeError, TypeError, KeyError, binascii.Error, ValueError) as error:
        problem = f"the schema cannot be made of what the registry tells: {error}"
        raise SchemaError(problem) from None

    def decode(data: bytes) -> tuple[str | None, Any]:
        indexes, at = _indexes(data)
        kind = _type_of(found, indexes)
        message = message_factory.GetMessageClass(kind)()
        try:
            message.ParseFromString(data[at:])
            text = json_format.MessageToJson(
                message, preserving_proto_field_name=True, descriptor_pool=pool
            )
        except (DecodeError, json_format.Error, TypeError, ValueError, RecursionError) as error:
            raise SchemaError(f"its bytes are no {kind.full_name}: {error}") from None
        return kind.full_name, json.loads(text)

    return decode


def _type_of(file: Any, indexes: list[int]) -> Any:  # noqa: ANN401 -- descriptors
    """The type that the indexes lead to."""
    kinds = list(file.message_types_by_name.values())
    kind = None
    for index in indexes:
        if not 0 <= index < len(kinds):
            raise SchemaError(f"its message has the indexes {indexes}, which lead to no type")
        kind = kinds[index]
        kinds = list(kind.nested_types)
    return kind


def _indexes(data: bytes) -> tuple[list[int], int]:
    """The indexes, and where the message begins."""
    count, at = _zigzag(data, 0)
    if count == 0:
        return [0], at
    if not 0 < count <= MAX_INDEXES:
        raise SchemaError(f"its message has {count} indexes")
    found = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        found.append(index)
    return found, at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(len(data), at + 5)):
        value |= (data[place] & 127) << shift
        shift += 7
        if data[place] < 128:
            return (value >> 1) ^ -(value & 1), place + 1
    raise SchemaError("the indexes of its message end early")
