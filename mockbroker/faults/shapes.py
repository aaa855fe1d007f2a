"""What the messages of an API have, by version: topics, groups, error codes, a throttle time.

`checking` asks, to tell a rule that could never match; read off the schemas, once an API.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.messages.catalog import request_class, response_class
from mockbroker_protocol.schema import schema_of
from mockbroker_protocol.subjects import is_topic_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker_protocol.schema_fields import Field, WireType

_GROUPS: Final = frozenset({"group_id", "group_ids", "groups_names", "groups", "key"})
_KEYS: Final = frozenset({"key", "coordinator_keys"})
_TRANSACTIONS: Final = frozenset(
    {"transactional_id", "transactional_ids", "v3_and_below_transactional_id"}
)


class Shape(NamedTuple):
    """What the messages of one API have in one version."""

    topics: bool
    partitions: bool
    groups: bool
    transactional_ids: bool
    top_error: bool
    nested_error: bool
    throttle: bool


@cache
def shape_of(api_key: int, version: int) -> Shape:
    """The shape of an API in one version."""
    asked = list(_walk(request_class(api_key), version, ""))
    told = list(_walk(response_class(api_key), version, ""))
    names = {field.name for _, field in asked}
    return Shape(
        topics=any(is_topic_list(field.name) for _, field in asked),
        partitions=any("partition" in field.name for path, field in asked if path),
        groups=bool(names & (_GROUPS | _KEYS)),
        transactional_ids=bool(names & (_TRANSACTIONS | _KEYS)),
        top_error=any(field.name == "error_code" for path, field in told if not path),
        nested_error=any(field.name.endswith("error_code") for path, field in told if path),
        throttle=any(field.name == "throttle_time_ms" for path, field in told if not path),
    )


def _walk(cls: type, version: int, path: str) -> Iterator[tuple[str, Field]]:
    """The fields of a class in a version, those of nested structs too, each with where it is."""
    for field in schema_of(cls).fields:
        if not field.present(version):
            continue
        yield path, field
        inner = struct_of(field.type)
        if inner is not None:
            yield from _walk(inner, version, f"{path}.{field.name}")


def struct_of(wire_type: WireType) -> type | None:
    """The class of a struct, or of the structs in an array."""
    if wire_type.kind == "array":
        assert wire_type.element is not None
        return struct_of(wire_type.element)
    return wire_type.cls if wire_type.kind == "struct" else None


@cache
def tells_errors(cls: type) -> bool:
    """Whether a struct of an answer has an error code, or one in it has."""
    return any(field.name.endswith("error_code") for _, field in _walk(cls, 32767, "")) or any(
        field.name.endswith("error_code") for _, field in _walk(cls, 0, "")
    )
