"""What the messages of an API have, by version: topics, groups, error codes, a throttle time.

Read off the schemas, once an API. Called by fault rules, to tell one that could never match, and by
`error_responses`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mockbroker_protocol.api_keys import NEVER
from mockbroker_protocol.messages.catalog import request_class, response_class
from mockbroker_protocol.schema_fields import fields_of
from mockbroker_protocol.subjects import (
    COORDINATOR_KEYS,
    GROUP_FIELDS,
    TRANSACTION_FIELDS,
    is_topic_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker_protocol.schema_fields import Field


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
        groups=bool(names & (GROUP_FIELDS | COORDINATOR_KEYS)),
        transactional_ids=bool(names & (TRANSACTION_FIELDS | COORDINATOR_KEYS)),
        top_error=any(field.name == "error_code" for path, field in told if not path),
        nested_error=any(field.name.endswith("error_code") for path, field in told if path),
        throttle=any(field.name == "throttle_time_ms" for path, field in told if not path),
    )


def _walk(cls: type, version: int, path: str) -> Iterator[tuple[str, Field]]:
    """The fields of a class in a version, those of nested structs too, each with where it is."""
    for field in fields_of(cls):
        if not field.present(version):
            continue
        yield path, field
        inner = field.type.struct
        if inner is not None:
            yield from _walk(inner, version, f"{path}.{field.name}")


@cache
def tells_errors(cls: type) -> bool:
    """Whether a struct of an answer has an error code, or one in it has."""
    return any(
        field.name.endswith("error_code")
        for version in (0, NEVER)
        for _, field in _walk(cls, version, "")
    )
