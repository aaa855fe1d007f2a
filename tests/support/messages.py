"""Hypothesis strategies that are derived from a message's schema.

`strategy_for(cls, version)` makes instances that the version can carry: they survive a round trip
unchanged. `message_classes()` finds every declared message of `mockbroker_protocol.messages`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import TypeVar

from hypothesis import strategies as st

import mockbroker_protocol.messages
from mockbroker_protocol.plan import encode
from mockbroker_protocol.plan_decode import blank
from mockbroker_protocol.schema import is_declared, schema_of
from mockbroker_protocol.schema_fields import Field, WireType, fields_of

T = TypeVar("T")

_RANGES = {
    "b": (-(2**7), 2**7 - 1),
    "h": (-(2**15), 2**15 - 1),
    "i": (-(2**31), 2**31 - 1),
    "q": (-(2**63), 2**63 - 1),
    "H": (0, 2**16 - 1),
    "I": (0, 2**32 - 1),
}
_TEXT = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(("x" * 127, "é" * 200))


def message_classes() -> Iterator[type]:
    """Every `@message` in mockbroker_protocol.messages, in a fixed order."""
    for info in sorted(
        pkgutil.iter_modules(mockbroker_protocol.messages.__path__), key=lambda i: i.name
    ):
        module = importlib.import_module(f"mockbroker_protocol.messages.{info.name}")
        for value in vars(module).values():
            if (
                is_declared(value)
                and value.__module__ == module.__name__
                and schema_of(value).is_message
            ):
                yield value


def encoded(message: object, version: int) -> bytes:
    """A body as its plan writes it, in one piece."""
    return b"".join(encode(message, version))


def strategy_for(
    cls: type[T], version: int, *, flexible: bool | None = None, unknown_tags: bool = True
) -> st.SearchStrategy[T]:
    """Instances of a message that the version can carry; `flexible` is for structs inside it."""
    if flexible is None:
        flexible = version >= schema_of(cls).flexible
    fields = {
        field.name: _field(field, version, flexible=flexible, unknown_tags=unknown_tags)
        for field in fields_of(cls)
        if field.present(version)
    }
    if flexible and unknown_tags:
        known = {f.tag for f in fields_of(cls)}  # in other versions only: malformed
        tags = st.integers(0, 300).filter(lambda tag: tag not in known)
        some = st.dictionaries(tags, st.binary(max_size=5), min_size=1, max_size=2)
        fields["unknown_tags"] = st.none() | some

    def make(values: dict[str, object]) -> T:
        made = blank(cls)
        for name, value in values.items():
            setattr(made, name, value)
        return made

    return st.fixed_dictionaries(fields).map(make)


def _field(
    field: Field, version: int, *, flexible: bool, unknown_tags: bool
) -> st.SearchStrategy[object]:
    values = _value(field.type, version, flexible=flexible, unknown_tags=unknown_tags)
    absent = flexible and field.is_tagged(version) and field.default is None
    if field.is_nullable(version) or absent:
        return st.none() | values
    return values


def _value(
    wire_type: WireType, version: int, *, flexible: bool, unknown_tags: bool
) -> st.SearchStrategy[object]:
    match wire_type.kind:
        case "fixed":
            return _fixed(wire_type.code)
        case "string":
            return _TEXT
        case "bytes" | "records":
            return st.binary(max_size=8) | st.just(b"r" * 200)
        case "array":
            assert wire_type.element is not None
            element = _value(
                wire_type.element, version, flexible=flexible, unknown_tags=unknown_tags
            )
            return st.lists(element, max_size=6)
        case "struct":
            assert wire_type.cls is not None
            return strategy_for(
                wire_type.cls, version, flexible=flexible, unknown_tags=unknown_tags
            )


def _fixed(code: str) -> st.SearchStrategy[object]:
    if code == "16s":
        return st.binary(min_size=16, max_size=16)
    if code == "?":
        return st.booleans()
    if code == "d":
        return st.floats(allow_nan=False)
    return st.integers(*_RANGES[code])
