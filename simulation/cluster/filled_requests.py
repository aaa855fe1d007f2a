"""Requests of any API and version that speak of given names, made from the messages' schemas.

`filled` puts a text, a number or a list into every field that the version carries; `leaf_errors`
says what an answer tells of the things that were asked for.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.catalog import request_class
from mockbroker_protocol.plan_decode import default_of
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.schema import ZERO_UUID, is_declared, schema_of
from mockbroker_protocol.schema_fields import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mockbroker_protocol.schema_fields import Field, WireType

BATCH: Final = build_batch([Record(0, 0, None, b"v")])
TOPIC_RESOURCE: Final = 2
NUMBERS: Final[Mapping[str, int]] = {
    "resource_type": TOPIC_RESOURCE,
    "timeout_ms": 100,
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "max_wait_ms": 0,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "response_partition_limit": 100_000,
    "replica_id": -1,
    "leader_epoch": -1,
    "current_leader_epoch": -1,
    "acks": -1,
    "session_epoch": -1,
    "timestamp": -1,
    "num_partitions": 1,
    "replication_factor": 1,
    "transaction_timeout_ms": 1_000,
    "member_epoch": 0,
    "key_type": 0,
}
"""Fields that mean something; all other numbers are 0."""
TAKEN_BACK: Final = frozenset(("validate_only", "validate_only_"))
"""Flags by which a request changes nothing."""


class Subject(NamedTuple):
    """What a request is about: the first of `size` things of the same name and a number."""

    name: str
    size: int = 1

    def names(self) -> list[str]:
        """All of them."""
        return [self.name] + [f"{self.name}-{number}" for number in range(1, self.size)]


def filled(api_key: int, version: int, subject: Subject) -> object:
    """A request about `subject`, whose outermost list has an element for each name of it."""
    return _struct(request_class(api_key), version, subject)


def _struct(cls: type, version: int, subject: Subject) -> object:
    made: object = cast("type[object]", cls).__new__(cls)
    shape = _shape_of(cls, version)
    for name, value in shape.constant:
        setattr(made, name, value)
    for field in shape.about:
        setattr(made, field.name, _value(field, field.type, version, subject))
    return made


class _Shape(NamedTuple):
    """The fields of a struct in a version: what is the same in all, and what is about a subject."""

    constant: list[tuple[str, object]]
    about: list[Field]


@cache
def _shape_of(cls: type, version: int) -> _Shape:
    shape = _Shape([("unknown_tags", None)], [])
    for field in fields_of(cls):
        if not field.present(version) or field.is_tagged(version):
            shape.constant.append((field.name, default_of(field)))
        elif field.type.kind in _ABOUT:
            shape.about.append(field)
        else:
            shape.constant.append((field.name, _constant(field, field.type)))
    return shape


def _value(field: Field, wire_type: WireType, version: int, subject: Subject) -> object:
    kind = wire_type.kind
    if kind == "array":
        element = wire_type.element
        assert element is not None
        return [_value(field, element, version, Subject(name)) for name in subject.names()]
    if kind == "struct":
        assert wire_type.cls is not None
        return _struct(wire_type.cls, version, subject)
    if kind == "string":
        return None if "instance_id" in field.name else subject.name
    return _constant(field, wire_type)


_ABOUT: Final = frozenset(("array", "struct", "string"))
"""Kinds whose values are about the subject."""


def _constant(field: Field, wire_type: WireType) -> object:
    if wire_type.kind == "records":
        return BATCH
    if wire_type.kind == "bytes":
        return b""
    if wire_type.code == "16s":
        return ZERO_UUID
    if wire_type.code == "?":
        return field.name in TAKEN_BACK
    if wire_type.code == "d":
        return 1.0
    return NUMBERS.get(field.name, 0)


def leaf_errors(answer: object) -> Iterator[int]:
    """The error of each innermost thing that an answer tells of."""
    children = [
        child
        for name in schema_of(type(answer)).field_names
        for child in _children(getattr(answer, name))
    ]
    found = False
    for child in children:
        for error in leaf_errors(child):
            found = True
            yield error
    if not found:
        for name in schema_of(type(answer)).field_names:
            if name.endswith("error_code"):
                yield getattr(answer, name)


def _children(value: object) -> Iterator[object]:
    for child in value if isinstance(value, list) else ():
        if is_declared(type(child)):
            yield child


def api_name(api_key: int) -> str:
    """For a message."""
    return ApiKey(api_key).name.lower()
