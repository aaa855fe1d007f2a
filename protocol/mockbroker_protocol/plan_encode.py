"""Compiles an encoder: one Python function per (message class, version).

The function appends pieces to a list and joins them once; only chunks of records that are large
leave uncopied, as buffers of their own. A value that the version cannot carry raises ValueError
with the field's name: in Kafka that is an UnsupportedVersionException, here it is our bug.
An error message is cut to what a string may hold: it may quote a name that is as long as that.

`compile_sliced_encoder` writes the same function as a generator, which yields after each
`SLICE_ELEMENTS` of array elements.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from struct import pack
from typing import Final, TypeVar, cast

from mockbroker_protocol.plan_decode import SLICE_ELEMENTS, default_of
from mockbroker_protocol.plan_source import (
    Module,
    Run,
    Source,
    absent_fields,
    inline_fields,
    tagged_fields,
)
from mockbroker_protocol.primitives import MAX_STRING_BYTES, Buffer, write_uvarint
from mockbroker_protocol.schema import schema_of
from mockbroker_protocol.schema_fields import Field, WireType

T = TypeVar("T")

UNCOPIED_BYTES: Final = 4096
"""A chunk of records from this size on becomes a buffer of its own."""

_ELLIPSIS: Final = "…".encode()
_ONE_BYTE: Final = tuple(bytes((n,)) for n in range(128))


def compile_encoder(cls: type[T], version: int) -> Callable[[T], list[Buffer]]:
    """A function (message) → chunks of its body."""
    return cast("Callable[[T], list[Buffer]]", _compile(cls, version, sliced=False))


def compile_sliced_encoder(
    cls: type[T], version: int
) -> Callable[[T], Generator[int, None, list[Buffer]]]:
    """The same as a generator that yields how many elements it has written since it last did."""
    return cast(
        "Callable[[T], Generator[int, None, list[Buffer]]]", _compile(cls, version, sliced=True)
    )


def _compile(cls: type, version: int, *, sliced: bool) -> Callable[..., object]:
    flexible = version >= schema_of(cls).flexible
    module = Module(cls, version, flexible=flexible)
    module.scope.update(
        absent=_absent,
        add_records=_add_records,
        cut=_cut,
        long_string=_long_string,
        one_byte=_ONE_BYTE,
        pack=pack,
        records_size=_records_size,
        tag_section=_tag_section,
        uvarint=write_uvarint,
    )
    source = Source("def encode(o):")
    source("p = []; w = p.append; out = []")
    if sliced:
        source(f"left = {SLICE_ELEMENTS}")
        source("if not left: yield 0")  # a generator, whatever it has to do
    writer = _Writer(module, source, sliced=sliced)
    writer.struct(cls, "o")
    writer.flush()
    with source.block("if out:"):
        with source.block("if p:"):
            source("out.append(b''.join(p))")
        source("return out")
    source("return [b''.join(p)]")
    return module.build("encode", source)


class _Writer:
    """Writes the statements of one function; packing runs behind in `run` until flushed."""

    def __init__(self, module: Module, source: Source, *, sliced: bool = False) -> None:
        self.module = module
        self.source = source
        self.sliced = sliced
        self.run = Run()
        self.version = module.version
        self.flexible = module.flexible

    def flush(self) -> None:
        """Write what is pending."""
        packed = self.packed()
        if packed:
            self.source(f"w({packed})")

    def packed(self, code: str = "", item: str = "") -> str:
        """What is pending, and one value more if given, as an expression; takes the run."""
        codes, items, _ = self.run.take()
        if item:
            items.append(item)
        codes += code
        return f"{self.module.packer(codes)}({', '.join(items)})" if codes else ""

    def struct(self, cls: type, name: str) -> None:
        """Write the struct in the variable `name`."""
        for field in absent_fields(cls, self.version):
            if not field.ignorable:
                self.refuse_unless_default(cls, name, field)
        for field in inline_fields(cls, self.version, flexible=self.flexible):
            nullable = field.is_nullable(self.version)
            if field.name.endswith("error_message"):
                self.blob("string", f"{name}.{field.name}", nullable=nullable, cut=True)
            else:
                self.value(field.type, f"{name}.{field.name}", nullable=nullable)
        if self.flexible:
            self.tags(cls, name)
        else:
            with self.source.block(f"if {name}.unknown_tags:"):
                self.source(f"raise absent('{cls.__name__}.unknown_tags', {self.version})")

    def refuse_unless_default(self, cls: type, name: str, field: Field) -> None:
        """Kafka refuses to drop a value that a field not marked ignorable holds."""
        differs = self.differs(field, f"{name}.{field.name}", nullable=True)
        with self.source.block(f"if {differs}:"):
            self.source(f"raise absent('{cls.__name__}.{field.name}', {self.version})")

    def differs(self, field: Field, value: str, *, nullable: bool) -> str:
        """The expression that is true when `value` is not the field's default."""
        default = default_of(field)
        if default is None or (field.type.kind == "records" and not default):
            return f"{value} is not None"
        if default == [] or (isinstance(default, (str, bytes)) and not default):
            return f"{value} != {default!r}" if nullable else value
        if field.type.kind == "struct" and not field.is_nullable(self.version):
            # None stands for "not there": cheaper than a default instance for each struct.
            return f"{value} is not None and {value} != {self.module.literal(default)}"
        return f"{value} != {self.module.literal(default)}"

    def value(self, wire_type: WireType, value: str, *, nullable: bool) -> None:
        """Write one value, given as an expression."""
        match wire_type.kind:
            case "fixed":
                self.run.add(wire_type.code, value)
            case "string" | "bytes":
                self.blob(wire_type.kind, value, nullable=nullable)
            case "records":
                self.records(value, nullable=nullable)
            case "struct":
                self.nested(wire_type, value, nullable=nullable)
            case "array":
                self.array(wire_type, value, nullable=nullable)

    def nested(self, wire_type: WireType, value: str, *, nullable: bool, null: int = 0xFF) -> None:
        """A struct as a field: a nullable one has a byte before it, 1 or `null`.

        That is an int8, so -1 for null; in a tagged field it is an unsigned varint, so 0.
        """
        assert wire_type.cls is not None
        name = self.module.name("o")
        self.source(f"{name} = {value}")
        if not nullable:
            self.struct(wire_type.cls, name)
            return
        self.flush()
        with self.source.block(f"if {name} is None:"):
            self.source(f"w({bytes([null])!r})")
        with self.source.block("else:"):
            self.run.add("b", "1")
            self.struct(wire_type.cls, name)
            self.flush()

    def length(self, code: str, count: str, oversize: str) -> None:
        """Write the length in variable `count`, which in flexible versions is one more."""
        if not self.flexible:
            self.run.add(code, count)
            self.flush()
            return
        codes, items, size = self.run.codes, list(self.run.items), self.run.size
        with self.source.block(f"if {count} < 128:"):
            self.source(f"w({self.packed('B', count)})" if codes else f"w(one_byte[{count}])")
        with self.source.block("else:"):
            self.run.codes, self.run.items, self.run.size = codes, items, size
            self.flush()
            self.source(f"w({oversize}({count}))")

    def sized(
        self, value: str, raw: str, size: str, *, nullable: bool, empty: str, cut: bool = False
    ) -> str:
        """Bind the value to a name and its length to another; the second one's name."""
        count = self.module.name("n")
        length = f"{size} + 1" if self.flexible else size
        if nullable:
            self.source(f"{raw} = {value}")
            with self.source.block(f"if {raw} is None:"):
                null = 0 if self.flexible else -1
                self.source(f"{raw} = {empty}; {count} = {null}")
            with self.source.block("else:"):
                if empty == "''":
                    self.source(f"{raw} = {raw}.encode()")
                if cut:
                    self.source(f"if {size} > {MAX_STRING_BYTES}: {raw} = cut({raw})")
                self.source(f"{count} = {length}")
        else:
            self.source(f"{raw} = {value}{'.encode()' if empty == chr(39) * 2 else ''}")
            if cut:
                self.source(f"if {size} > {MAX_STRING_BYTES}: {raw} = cut({raw})")
            self.source(f"{count} = {length}")
        return count

    def blob(self, kind: str, value: str, *, nullable: bool, cut: bool = False) -> None:
        """A string or bytes; a text that is too long raises, or is `cut`."""
        raw = self.module.name("s")
        empty = "''" if kind == "string" else "b''"
        count = self.sized(value, raw, f"len({raw})", nullable=nullable, empty=empty, cut=cut)
        if kind == "string":
            self.length("h", count, "long_string")
        else:
            self.length("i", count, "uvarint")
        self.source(f"if {raw}: w({raw})")

    def records(self, value: str, *, nullable: bool) -> None:
        """Record batches: bytes-like, or a list of chunks."""
        raw = self.module.name("s")
        size = f"records_size({raw})"
        count = self.sized(value, raw, size, nullable=nullable, empty="b''")
        self.length("i", count, "uvarint")
        self.source(f"if {raw}: add_records(out, p, {raw})")

    def array(self, wire_type: WireType, value: str, *, nullable: bool) -> None:
        """A count and the elements."""
        element = wire_type.element
        assert element is not None
        items = self.module.name("v")
        count = self.sized(value, items, f"len({items})", nullable=nullable, empty="()")
        self.length("i", count, "uvarint")
        if element.kind == "fixed" and element.code != "16s":
            self.source(f"w(pack(f'>{{len({items})}}{element.code}', *{items}))")
            return
        item = self.module.name("o")
        with self.source.block(f"for {item} in {items}:"):
            if self.sliced:
                self.pause()
            if element.kind == "struct":
                assert element.cls is not None
                self.struct(element.cls, item)
            else:
                self.value(element, item, nullable=element.or_none)
            self.flush()

    def pause(self) -> None:
        """Yield when a slice is full; what was written is one piece then."""
        self.source("left -= 1")
        with self.source.block("if not left:"):
            self.source("out.append(b''.join(p)); p.clear()")
            self.source(f"yield {SLICE_ELEMENTS}")
            self.source(f"left = {SLICE_ELEMENTS}")

    def tags(self, cls: type, name: str) -> None:
        """The tag section: one zero byte when each tagged field has its default."""
        fields = tagged_fields(cls, self.version, flexible=self.flexible)
        conditions = [f"{name}.unknown_tags"]
        for field in fields:
            nullable = field.is_nullable(self.version)
            conditions.append(self.differs(field, f"{name}.{field.name}", nullable=nullable))
        writer = self.module.name("write_tags")
        self.module.later(writer, lambda: self.tag_section(writer, cls, fields))
        codes, items, size = self.run.codes, list(self.run.items), self.run.size
        with self.source.block(f"if {' or '.join(f'({c})' for c in conditions)}:"):
            self.flush()
            self.source(f"w({writer}({name}))")
        with self.source.block("else:"):
            self.run.codes, self.run.items, self.run.size = codes, items, size
            self.source(f"w({self.packed('x')})" if codes else "w(b'\\0')")

    def tag_section(self, name: str, cls: type, fields: list[Field]) -> Source:
        """The function `name` that writes a tag section of `cls` which is not empty."""
        source = Source(f"def {name}(o):")
        source("known = {}")
        for field in fields:
            nullable = field.is_nullable(self.version)
            with source.block(f"if {self.differs(field, f'o.{field.name}', nullable=nullable)}:"):
                source("p = []; w = p.append; out = []")
                writer = _Writer(self.module, source)
                if field.type.kind == "struct":
                    writer.nested(field.type, f"o.{field.name}", nullable=nullable, null=0)
                else:
                    writer.value(field.type, f"o.{field.name}", nullable=nullable)
                writer.flush()
                source(f"known[{field.tag}] = b''.join(out + p)")
        source(f"return tag_section(known, o.unknown_tags, '{cls.__name__}')")
        return source


def _absent(where: str, version: int) -> ValueError:
    return ValueError(f"{where} is set, but version {version} cannot carry it")


def _cut(text: bytes) -> bytes:
    """UTF-8 that is too long for a string, without the characters at its end."""
    left = text[: MAX_STRING_BYTES - len(_ELLIPSIS)].decode("utf-8", "ignore").encode()
    return left + _ELLIPSIS


def _long_string(count: int) -> bytes:
    if count > MAX_STRING_BYTES + 1:
        raise ValueError(f"string of {count - 1} bytes is longer than {MAX_STRING_BYTES}")
    return write_uvarint(count)


def _records_size(value: Buffer | Sequence[Buffer]) -> int:
    return sum(map(len, value)) if type(value) is list else len(value)


def _add_records(out: list[Buffer], pieces: list[Buffer], value: Buffer | list[Buffer]) -> None:
    for chunk in value if isinstance(value, list) else (value,):
        if len(chunk) < UNCOPIED_BYTES:
            pieces.append(chunk)
        else:
            if pieces:
                out.append(b"".join(pieces))
                pieces.clear()
            out.append(chunk)


def _tag_section(
    known: dict[int, bytes], unknown: dict[int, bytes] | None, struct_name: str
) -> bytes:
    if unknown:
        if not known.keys().isdisjoint(unknown):
            raise ValueError(f"unknown_tags of {struct_name} holds a tag that is a field")
        known = {**known, **unknown}
    pieces = [write_uvarint(len(known))]
    for tag in sorted(known):
        pieces += (write_uvarint(tag), write_uvarint(len(known[tag])), known[tag])
    return b"".join(pieces)
