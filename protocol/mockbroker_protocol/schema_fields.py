"""Annotations into fields: what a declared class says about the wire, resolved once per class.

Called by `plan` and by whoever walks schemas. A declaration that makes no sense raises TypeError,
which names class and field.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Annotated, Final, Literal, Union, get_args, get_origin, get_type_hints

from mockbroker_protocol.schema import (
    UNSET,
    Factory,
    Schema,
    V,
    Wire,
    fresh_default,
    is_declared,
    schema_of,
)

Kind = Literal["fixed", "string", "bytes", "records", "struct", "array"]

FIXED_SIZES = {"b": 1, "h": 2, "i": 4, "q": 8, "H": 2, "I": 4, "d": 8, "?": 1, "16s": 16}
ZEROS: dict[str, object] = {"?": False, "d": 0.0, "16s": bytes(16)}


_resolved: Final[dict[type, tuple[Field, ...]]] = {}


class WireType:
    """A type on the wire: `code` for fixed ones, `element` of an array, `cls` of a struct.

    `or_none`: where it is the element of an array, it may be null; a field's versions say it of a
    field.
    """

    __slots__ = ("cls", "code", "element", "kind", "or_none")

    def __init__(
        self,
        kind: Kind,
        *,
        code: str = "",
        element: WireType | None = None,
        cls: type | None = None,
    ) -> None:
        self.kind = kind
        self.code = code
        self.element = element
        self.cls = cls
        self.or_none = False

    @property
    def struct(self) -> type | None:
        """The class of a struct, or of the structs in an array; None for any other type."""
        if self.kind == "array":
            assert self.element is not None
            return self.element.struct
        return self.cls if self.kind == "struct" else None


class Field:
    """One field: its type and the versions in which it is there, null or tagged."""

    __slots__ = (
        "default",
        "has_default",
        "ignorable",
        "name",
        "nullable",
        "since",
        "tag",
        "tagged",
        "type",
        "until",
    )

    def __init__(self, name: str, wire_type: WireType, versions: V, default: object) -> None:
        self.name = name
        self.type = wire_type
        tagged = versions.tagged
        self.tag = versions.tag
        self.tagged = 32768 if tagged is None else tagged
        self.since = versions.since if versions.since is not None else (tagged or 0)
        self.until = versions.until
        self.nullable = versions.nullable
        self.ignorable = versions.ignorable
        self.has_default = default is not UNSET
        self.default = _zero(wire_type) if default is UNSET else default

    def present(self, version: int) -> bool:
        """Whether the version carries the field, inline or tagged."""
        return self.since <= version <= self.until

    def is_tagged(self, version: int) -> bool:
        """Whether the version carries the field in the tag section."""
        return version >= self.tagged and self.present(version)

    def is_nullable(self, version: int) -> bool:
        """Whether null may travel in this version."""
        return version >= self.nullable

    def fresh_default(self) -> Callable[[], object] | None:
        """How to make the default anew; None when `default` may be shared."""
        return fresh_default(self.default)


def fields_of(cls: type) -> tuple[Field, ...]:
    """The fields of a declared class, in wire order. TypeError names a bad declaration."""
    fields = _resolved.get(cls)
    if fields is None:
        fields = _resolved[cls] = _resolve(schema_of(cls))
    return fields


def _resolve(schema: Schema) -> tuple[Field, ...]:
    hints = get_type_hints(schema.cls, include_extras=True)
    fields = []
    for name in schema.field_names:
        where = f"{schema.cls.__name__}.{name}"
        versions, wire_type = _parse(hints[name], where)
        versions = versions or V()
        if (versions.tag is None) != (versions.tagged is None):
            raise TypeError(f"{where}: tag and tagged belong together")
        default = versions.default
        if default is UNSET:
            default = schema.defaults.get(name, UNSET)
        fields.append(Field(name, wire_type, versions, default))
    return tuple(fields)


def _parse(hint: object, where: str) -> tuple[V | None, WireType]:
    versions: V | None = None
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        versions = next((extra for extra in extras if isinstance(extra, V)), None)
        for extra in extras:
            if isinstance(extra, Wire):
                if extra.code == "records":
                    return versions, WireType("records")
                return versions, WireType("fixed", code=extra.code)
    if get_origin(hint) in (Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        if len(members) != 1:
            raise TypeError(f"{where}: one type or None, not {hint}")
        wire_type = _parse(members[0], where)[1]
        wire_type.or_none = True
        return versions, wire_type
    return versions, _plain(hint, where)


def _plain(hint: object, where: str) -> WireType:
    if hint is str:
        return WireType("string")
    if hint is bytes:
        return WireType("bytes")
    if get_origin(hint) is list:
        return WireType("array", element=_parse(get_args(hint)[0], where)[1])
    if isinstance(hint, type) and is_declared(hint):
        return WireType("struct", cls=hint)
    raise TypeError(f"{where}: {hint} does not say how it travels")


def _zero(wire_type: WireType) -> object:
    """The default of a field that declares none, as in Kafka's schemas."""
    if wire_type.kind == "fixed":
        return ZEROS.get(wire_type.code, 0)
    if wire_type.kind == "array":
        return Factory(list)
    if wire_type.kind == "struct":
        assert wire_type.cls is not None
        return Factory(wire_type.cls)
    return {"string": "", "bytes": b"", "records": None}[wire_type.kind]
