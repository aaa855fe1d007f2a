"""Avro values by their schema, with fastavro.

A schema comes from a registry and the bytes from a stranger, and the loop of the broker decodes
them: what could take all of its memory or its stack is refused. Those are arrays of items without
bytes, a million million of which are a few bytes long, and schemas that contain themselves, which
go as deep as their bytes are many.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from mockbroker.admin.schemas.registry import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.admin.schemas.registry import Schema

MAX_RECURSIVE_BYTES: Final = 2048
"""A value of a schema that contains itself is not longer."""
_NAMED: Final = ("record", "error", "enum", "fixed")


def decoder(schema: Schema) -> Callable[[bytes], tuple[str | None, Any]]:
    """What makes the name of the schema and the value of bytes. Both raise SchemaError."""
    try:
        from fastavro import parse_schema, schemaless_reader
        from fastavro.schema import SchemaParseException, UnknownType
    except ImportError:
        raise SchemaError("Avro needs fastavro: pip install 'mockbroker[schemas]'") from None
    named: dict[str, Any] = {}
    try:
        for text in schema.references.values():
            parse_schema(json.loads(text), named_schemas=named)
        parsed = parse_schema(json.loads(schema.text), named_schemas=named)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SchemaError(f"the schema is no Avro schema: {error}") from None
    except (SchemaParseException, UnknownType) as error:
        raise SchemaError(f"the schema is no Avro schema: {error}") from None
    shape = _Shape(named)
    shape.least_bytes(parsed)
    name = parsed.get("name") if isinstance(parsed, dict) else None

    def decode(data: bytes) -> tuple[str | None, Any]:
        if shape.is_recursive and len(data) > MAX_RECURSIVE_BYTES:
            raise SchemaError(
                f"its schema contains itself: more than {MAX_RECURSIVE_BYTES} bytes are not decoded"
            )
        file = BytesIO(data)
        try:
            value = schemaless_reader(file, parsed, None)
        except Exception as error:  # noqa: BLE001 -- whatever bytes can make of it
            raise SchemaError(
                f"its bytes are no {name or 'value of its schema'}: {error}"
            ) from None
        if file.tell() != len(data):
            left = len(data) - file.tell()
            raise SchemaError(f"{left} byte(s) are left behind what its schema describes")
        return name, value

    return decode


class _Shape:
    """How few bytes values of a schema take, and whether it contains itself."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._inside: list[str] = []
        self._known: dict[str, int] = {}
        self.is_recursive = False

    def least_bytes(self, schema: Any) -> int:  # noqa: ANN401 -- as Avro has it
        """0 where a value may take none. Raises SchemaError for arrays of such."""
        if isinstance(schema, list):
            for branch in schema:
                self.least_bytes(branch)
            return 1
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind in ("array", "map"):
            items = self.least_bytes(schema["items" if kind == "array" else "values"])
            if kind == "array" and items == 0:
                raise SchemaError("arrays of items without bytes are not decoded")
            return 1
        if isinstance(kind, dict | list):
            return self.least_bytes(kind)
        if isinstance(schema, str) and schema in self._named:
            return self._of_name(schema)
        if kind in _NAMED:
            return self._of_name(schema["name"], schema)
        return 0 if kind == "null" else 1

    def _of_name(self, name: str, schema: Any = None) -> int:  # noqa: ANN401 -- as Avro has it
        if name in self._inside:
            self.is_recursive = True
            return 1
        if name not in self._known:
            self._inside.append(name)
            self._known[name] = self._of_named(schema or self._named[name])
            self._inside.pop()
        return self._known[name]

    def _of_named(self, schema: Any) -> int:  # noqa: ANN401 -- as Avro has it
        if schema["type"] == "fixed":
            return int(schema["size"])
        if schema["type"] == "enum":
            return 1
        return sum(self.least_bytes(field["type"]) for field in schema["fields"])
