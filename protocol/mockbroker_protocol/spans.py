"""A message field by field, each with where its bytes stand: for people who look at the wire.

Called by `mockbroker.journal.dissection`, never while a request is served: it walks the schema for
each value, where a plan is compiled code. What it reads is exactly what `plan.decode` reads.

    for span in spans_of(FetchRequest, 17, frame, header.body_pos): ...

An array or a struct is a span of its own, followed by those of what it holds, one level deeper.
"""

from __future__ import annotations

from struct import error, unpack_from
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.plan_source import inline_fields, tagged_fields
from mockbroker_protocol.primitives import decode_text, read_uvarint
from mockbroker_protocol.schema import schema_of
from mockbroker_protocol.schema_fields import FIXED_SIZES

if TYPE_CHECKING:
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.schema_fields import Field, WireType

MAX_SPANS: Final = 20_000
"""More than a page has room for; the walk ends there."""
_TYPE_NAMES: Final = {
    "b": "int8", "h": "int16", "i": "int32", "q": "int64", "H": "uint16", "I": "uint32",
    "d": "float64", "?": "boolean", "16s": "uuid",
}  # fmt: skip


class Span(NamedTuple):
    """One field, or one element of an array, and its bytes `[start, end)`.

    `value` is a number, text, bytes or None; of an array how many elements it has, None for null;
    of a struct its class's name.
    """

    depth: int
    name: str
    type: str
    value: object
    start: int
    end: int


def spans_of(cls: type, version: int, buf: Buffer, pos: int = 0) -> list[Span]:
    """The spans of a body at `pos`, in wire order, MAX_SPANS at most. Raises ProtocolError."""
    walker = _Walker(bytes(buf), version, flexible=version >= schema_of(cls).flexible)
    try:
        walker.struct(cls, pos, 0)
    except (error, IndexError):
        raise ProtocolError(f"{cls.__name__} v{version} is cut at {len(buf)}") from None
    except _EnoughError:
        pass
    return walker.spans


class _EnoughError(Exception):
    """There are MAX_SPANS."""


class _Walker:
    """Reads one body; each method returns the position after what it read."""

    def __init__(self, buf: bytes, version: int, *, flexible: bool) -> None:
        self.buf = buf
        self.version = version
        self.flexible = flexible
        self.spans: list[Span] = []

    def _add(self, span: Span) -> int:
        """Keep a span; its place, for `_close`."""
        if span.end > len(self.buf):
            raise ProtocolError(f"{span.name} ends at {span.end}, behind the last byte")
        if len(self.spans) >= MAX_SPANS:
            raise _EnoughError
        self.spans.append(span)
        return len(self.spans) - 1

    def _close(self, place: int, end: int) -> int:
        self.spans[place] = self.spans[place]._replace(end=end)
        return end

    def struct(self, cls: type, pos: int, depth: int) -> int:
        for field in inline_fields(cls, self.version, flexible=self.flexible):
            nullable = field.is_nullable(self.version)
            pos = self.value(field.type, field.name, pos, depth, nullable=nullable)
        return self._tags(cls, pos, depth) if self.flexible else pos

    def value(self, wire_type: WireType, name: str, pos: int, depth: int, *, nullable: bool) -> int:
        match wire_type.kind:
            case "fixed":
                return self._fixed(wire_type.code, name, pos, depth)
            case "struct":
                return self._nested(wire_type, name, pos, depth, null=-1 if nullable else None)
            case "array":
                return self._array(wire_type, name, pos, depth)
        return self._blob(wire_type.kind, name, pos, depth)

    def _fixed(self, code: str, name: str, pos: int, depth: int) -> int:
        end = pos + FIXED_SIZES[code]
        value: object = unpack_from(f">{code}", self.buf, pos)[0]
        self._add(Span(depth, name, _TYPE_NAMES[code], value, pos, end))
        return end

    def _length(self, pos: int, *, wide: bool) -> tuple[int, int]:
        """A length, below 0 for null, and the position after it."""
        if self.flexible:
            count, after = read_uvarint(self.buf, pos)
            return count - 1, after
        size = 4 if wide else 2
        return unpack_from(">i" if wide else ">h", self.buf, pos)[0], pos + size

    def _blob(self, kind: str, name: str, pos: int, depth: int) -> int:
        size, begins = self._length(pos, wide=kind != "string")
        end = begins + max(0, size)
        value: object = None
        if size >= 0:
            data = self.buf[begins:end]
            value = decode_text(data) if kind == "string" else data
        self._add(Span(depth, name, kind, value, pos, end))
        return end

    def _nested(
        self, wire_type: WireType, name: str, pos: int, depth: int, *, null: int | None
    ) -> int:
        """A struct as a field: a nullable one has a byte before it, `null` or less for null."""
        cls = wire_type.cls
        assert cls is not None
        begins = pos
        if null is not None:
            marker: int = unpack_from(">b", self.buf, pos)[0]
            begins = pos + 1
            if marker <= null:
                self._add(Span(depth, name, "struct", None, pos, begins))
                return begins
        place = self._add(Span(depth, name, "struct", cls.__name__, pos, begins))
        return self._close(place, self.struct(cls, begins, depth + 1))

    def _array(self, wire_type: WireType, name: str, pos: int, depth: int) -> int:
        element = wire_type.element
        assert element is not None
        count, at = self._length(pos, wide=True)
        value = count if count >= 0 else None
        place = self._add(Span(depth, name, "array", value, pos, at))
        for index in range(count):
            at = self.value(element, f"[{index}]", at, depth + 1, nullable=element.or_none)
        return self._close(place, at)

    def _tags(self, cls: type, pos: int, depth: int) -> int:
        """The tag section; an empty one, a single byte 0, is no span."""
        count, at = read_uvarint(self.buf, pos)
        if not count:
            return at
        known = {field.tag: field for field in tagged_fields(cls, self.version, flexible=True)}
        place = self._add(Span(depth, "tagged fields", "array", count, pos, at))
        for _ in range(count):
            tag, at = read_uvarint(self.buf, at)
            size, at = read_uvarint(self.buf, at)
            field = known.get(tag)
            if field is not None:
                at = self._tagged(field, at, depth + 1)
            else:
                data = self.buf[at : at + size]
                self._add(Span(depth + 1, f"tag {tag}", "unknown", data, at, at + size))
                at += size
        return self._close(place, at)

    def _tagged(self, field: Field, pos: int, depth: int) -> int:
        nullable = field.is_nullable(self.version)
        if field.type.kind == "struct":
            # In a tagged field Kafka reads an unsigned varint, 0 for null.
            null = 0 if nullable else None
            return self._nested(field.type, field.name, pos, depth, null=null)
        return self.value(field.type, field.name, pos, depth, nullable=nullable)
