"""Avro schemas from a registry, for jobs that send and read Confluent's framing.

Called by `command` before Spark starts, for an id that is named, and by `dump` for the ids that
its records have. A value is decoded by the schema that it was written with, and becomes what a
reader's schema makes of it: the given one, or the newest that was found, by Avro's own rules.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mockbroker.admin.schemas.registry import AVRO, SchemaError, SchemaRegistry, UnknownSchemaError
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.framing import id_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mockbroker.admin.schemas.registry import Schema

MAX_IDS: Final = 100
"""A column that has more of them is refused: each is a step of the plan for every row."""
OPTION: Final = "--schema-registry"
_TYPES: Final = {"items", "values"}


def avro_of(url: str, schema_id: int) -> str:
    """The Avro schema of an id, as one JSON text. Raises PipelineError."""
    try:
        return one_text(_avro(SchemaRegistry(url).load(schema_id), schema_id))
    except SchemaError as error:
        raise PipelineError(f"{OPTION}: {error}") from None


def writers_of(records: DataFrame, column: str, url: str) -> tuple[dict[int, str], list[str]]:
    """The schemas that framed values of a column were written with, and notes of those unknown.

    A pass over the column. Ids that the registry does not know, and schemas that are no Avro, are
    left out: such a value may be anybody's bytes. Raises PipelineError.
    """
    ids = records.select(id_of(records[column]).alias("id")).distinct().limit(MAX_IDS + 2)
    found = sorted(int(row["id"]) for row in ids.collect() if row["id"] is not None)
    if len(found) > MAX_IDS:
        raise PipelineError(
            f"{OPTION}: {column}s were written with more than {MAX_IDS} schemas:"
            f" name one by --{column}-schema-id"
        )
    registry, writers, notes = SchemaRegistry(url), {}, []
    for schema_id in found:
        try:
            writers[schema_id] = one_text(_avro(registry.load(schema_id), schema_id))
        except (UnknownSchemaError, _OtherKindError) as error:
            notes.append(f"{column}s of schema {schema_id} are not decoded: {error}")
        except SchemaError as error:
            raise PipelineError(f"{OPTION}: {error}") from None
    return writers, notes


class _OtherKindError(SchemaError):
    pass


def _avro(schema: Schema, schema_id: int) -> Schema:
    if schema.type != AVRO:
        raise _OtherKindError(f"schema {schema_id} is of type {schema.type}, not {AVRO}")
    return schema


def one_text(schema: Schema) -> str:
    """An Avro schema with all that it refers to in it, as JSON. Raises SchemaError."""
    try:
        others = [json.loads(text) for text in schema.references.values()]
        left = {_name(one, ""): one for one in others if isinstance(one, dict)}
        return json.dumps(_inlined(json.loads(schema.text), "", left))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SchemaError(f"the schema is no Avro schema: {error}") from None


def _name(schema: dict[str, Any], namespace: str) -> str:
    """The full name of a named type, in a namespace unless it says its own."""
    name = str(schema["name"])
    space = schema.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def _inlined(schema: Any, namespace: str, left: dict[str, Any]) -> Any:  # noqa: ANN401 -- JSON
    """Put each of those `left` where its name first stands."""
    if isinstance(schema, str):
        name = f"{namespace}.{schema}" if namespace and "." not in schema else schema
        return _inlined({"namespace": "", **left.pop(name)}, "", left) if name in left else schema
    if isinstance(schema, list):
        return [_inlined(branch, namespace, left) for branch in schema]
    kind = _inlined(schema["type"], namespace, left)
    if kind is not schema["type"]:
        return kind  # {"type": NAME} is that type
    inside = _name(schema, namespace).rpartition(".")[0] if "name" in schema else namespace
    parts = {key: _inlined(schema[key], inside, left) for key in schema.keys() & _TYPES}
    if "fields" in schema:
        parts["fields"] = [
            {**field, "type": _inlined(field["type"], inside, left)} for field in schema["fields"]
        ]
    return {**schema, **parts}
