"""Compiles a decoder: one Python function per (message class, version).

The function reads nested structs inline; only tag sections that are not empty go through a
function of their own, compiled when it is needed. Fixed-width fields are read by one Struct up to
and including the length or count that ends the run. Each length and count is checked against the
bytes left before anything of that size is made. What a peer got wrong leaves as ProtocolError, from
one `try` around it all.
Text that is no UTF-8 is nobody's mistake: a second function, compiled when it is first met, reads
it lossily.

A frame of many elements takes long, however they are read. `compile_sliced_decoder` writes the same
function as a generator, which yields after each `SLICE_ELEMENTS` of array elements and tagged
fields how many it has read: who drives it sees to others meanwhile, or gives up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import repeat
from struct import Struct, unpack_from
from struct import error as struct_error
from typing import Final, TypeVar, cast

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.plan_source import (
    Module,
    Run,
    Source,
    absent_fields,
    early_tags,
    inline_fields,
    least_size,
    tagged_fields,
)
from mockbroker_protocol.primitives import Buffer, decode_text, read_uvarint_tail
from mockbroker_protocol.schema import schema_of
from mockbroker_protocol.schema_fields import FIXED_SIZES, Field, WireType, fields_of

T = TypeVar("T")

SLICE_ELEMENTS: Final = 1024
"""Of a struct or a string; `_WIDE_SLICE` numbers are read in the time that these take."""
_WIDE_SLICE: Final = 16 * SLICE_ELEMENTS


def compile_decoder(
    cls: type[T], version: int, *, lossy: bool = False
) -> Callable[[Buffer, int], tuple[T, int]]:
    """A function (buf, pos) → (message, position after it) that raises only ProtocolError.

    `lossy`: it takes each string for one that may be no UTF-8, which costs a call more.
    """
    return cast(
        "Callable[[Buffer, int], tuple[T, int]]", _compile(cls, version, lossy=lossy, sliced=False)
    )


def compile_sliced_decoder(
    cls: type[T], version: int, *, lossy: bool = False
) -> Callable[[Buffer, int], Generator[int, None, tuple[T, int]]]:
    """The same as a generator that yields how many elements it has read since it last did."""
    return cast(
        "Callable[[Buffer, int], Generator[int, None, tuple[T, int]]]",
        _compile(cls, version, lossy=lossy, sliced=True),
    )


def _compile(cls: type, version: int, *, lossy: bool, sliced: bool) -> Callable[..., object]:
    flexible = version >= schema_of(cls).flexible
    module = Module(cls, version, flexible=flexible)
    module.scope.update(
        ProtocolError=ProtocolError,
        above=_above,
        decode_text=decode_text,
        early=_early,
        lossy=_lossy(cls, version, sliced=sliced),
        null=_null,
        repeat=repeat,
        short=_short,
        struct_error=struct_error,
        tail=read_uvarint_tail,
        too_many=_too_many,
        unpack_from=unpack_from,
    )
    source = Source("def decode(buf, pos, most):" if sliced else "def decode(buf, pos=0):")
    with source.block("if type(buf) is memoryview:"):
        source("buf = bytes(buf)")
    source("start = pos")
    with source.block("try:"):
        source("end = len(buf)")
        if sliced:
            source(f"left = {SLICE_ELEMENTS}")
            source("if not left: yield 0")  # a generator, whatever it has to do
        writer = _Writer(module, source, lossy=lossy, sliced=sliced)
        target = writer.struct(cls)
        writer.flush()
        source(f"return {target}, pos")
    with source.block("except (struct_error, IndexError):"):
        source(
            f"raise ProtocolError(f'{cls.__name__} v{version} is cut at {{len(buf)}}') from None"
        )
    with source.block("except UnicodeDecodeError:"):
        again = "(yield from lossy(buf, start, most))" if sliced else "lossy(buf, start)"
        source(f"return {again}")
    return module.build("decode", source)


def _lossy(cls: type, version: int, *, sliced: bool) -> Callable[..., object]:
    """The lossy decoder, compiled at its first call."""
    plan: Callable[..., object] | None = None

    def read(buf: Buffer, pos: int, *most: int) -> object:
        nonlocal plan
        if plan is None:
            plan = _compile(cls, version, lossy=True, sliced=sliced)
        return plan(buf, pos, *most)

    return read


def blank(cls: type[T]) -> T:
    """An instance with every field at its default, whether its constructor has one or not."""
    made = cls.__new__(cls)
    for field in fields_of(cls):
        setattr(made, field.name, default_of(field))
    made.unknown_tags = None  # type: ignore[attr-defined]  # a slot of every declared class
    return made


def default_of(field: Field) -> object:
    """The field's default, made anew where it must not be shared."""
    if field.type.kind == "struct" and not field.has_default:
        assert field.type.cls is not None
        return blank(field.type.cls)
    fresh = field.fresh_default()
    return field.default if fresh is None else fresh()


class _Writer:
    """Writes the statements of one function; reads run ahead in `run` until they are flushed."""

    def __init__(
        self, module: Module, source: Source, *, lossy: bool, sliced: bool = False
    ) -> None:
        self.module = module
        self.source = source
        self.lossy = lossy
        self.sliced = sliced
        self.run = Run()
        self.version = module.version
        self.flexible = module.flexible

    def flush(self) -> None:
        """Read what is pending."""
        codes, targets, size = self.run.take()
        if not targets:
            return
        if codes == "B":
            self.source(f"{targets[0]} = buf[pos]; pos += 1")
            return
        unpacker = self.module.unpacker(codes)
        self.source(f"{', '.join(targets)}, = {unpacker}(buf, pos); pos += {size}")

    def struct(self, cls: type) -> str:
        """Read a struct; the name of the variable that holds it."""
        name = self.module.name("o")
        new = self.module.constant("W", cls.__new__)
        self.source(f"{name} = {new}({self.module.constant('C', cls)})")
        self.defaults(cls, name)
        for field in inline_fields(cls, self.version, flexible=self.flexible):
            where = f"{cls.__name__}.{field.name}"
            nullable = field.is_nullable(self.version)
            self.value(field.type, f"{name}.{field.name}", where, nullable=nullable)
        if self.flexible:
            count = self.module.name("n")
            self.run.add("B", count)
            self.flush()
            reader = self.module.name("read_tags")
            self.module.later(reader, lambda: self.tags(reader, cls))
            with self.source.block(f"if {count}:"):
                call = f"{reader}({name}, buf, pos, {count}, end"
                self.source(f"pos = yield from {call}, most)" if self.sliced else f"pos = {call})")
        return name

    def defaults(self, cls: type, name: str) -> None:
        """Set the slots that no inline bytes fill."""
        for field in absent_fields(cls, self.version):
            self.default(name, field)
        for field in tagged_fields(cls, self.version, flexible=self.flexible):
            self.default(name, field)
        self.source(f"{name}.unknown_tags = None")

    def default(self, name: str, field: Field) -> None:
        """Set a field that the bytes may not or cannot hold."""
        if field.type.kind == "struct" and not field.has_default:
            assert field.type.cls is not None
            self.module.scope["blank"] = blank
            value = f"blank({self.module.constant('C', field.type.cls)})"
        elif (fresh := field.fresh_default()) is None:
            value = self.module.literal(field.default)
        else:
            value = "[]" if fresh() == [] else f"{self.module.constant('F', fresh)}()"
        self.source(f"{name}.{field.name} = {value}")

    def value(self, wire_type: WireType, target: str, where: str, *, nullable: bool) -> None:
        """Read one value into `target`; `where` names it in errors."""
        match wire_type.kind:
            case "fixed":
                self.run.add(wire_type.code, target)
            case "string" | "bytes" | "records":
                self.blob(wire_type.kind, target, where, nullable=nullable)
            case "struct":
                self.nested(wire_type, target, nullable=nullable)
            case "array":
                self.array(wire_type, target, where, nullable=nullable)

    def nested(self, wire_type: WireType, target: str, *, nullable: bool, null: int = -1) -> None:
        """A struct as a field: a nullable one has an int8 before it, `null` or less for null.

        In a tagged field Kafka reads an unsigned varint instead, 0 for null.
        """
        assert wire_type.cls is not None
        if not nullable:
            self.source(f"{target} = {self.struct(wire_type.cls)}")
            return
        marker = self.module.name("n")
        self.run.add("b", marker)
        self.flush()
        with self.source.block(f"if {marker} <= {null}:"):
            self.source(f"{target} = None")
        with self.source.block("else:"):
            name = self.struct(wire_type.cls)
            self.flush()
            self.source(f"{target} = {name}")

    def length(self, code: str, target: str, where: str, *, nullable: bool) -> tuple[str, str]:
        """Read a length; (its name, the expression of its value); the caller writes an `else`."""
        count = self.module.name("n")
        self.run.add("B" if self.flexible else code, count)
        self.flush()
        if self.flexible:
            with self.source.block(f"if {count} > 127:"):
                self.source(f"{count}, pos = tail(buf, pos, {count})")
        with self.source.block(f"if not {count}:" if self.flexible else f"if {count} < 0:"):
            self.source(f"{target} = None" if nullable else f"raise null({where!r})")
        return count, f"{count} - 1" if self.flexible else count

    def blob(self, kind: str, target: str, where: str, *, nullable: bool) -> None:
        """A length and that many bytes."""
        code = "h" if kind == "string" else "i"
        count, size = self.length(code, target, where, nullable=nullable)
        stop = self.module.name("e")
        with self.source.block("else:"):
            self.source(f"{stop} = pos + {size}")
            limit = f" or {count} > 32768" if kind == "string" and self.flexible else ""
            with self.source.block(f"if {stop} > end{limit}:"):
                self.source(f"raise short({where!r}, {size}, end - pos)")
            if kind == "string":
                text = f"buf[pos:{stop}]"
                text = f"decode_text({text})" if self.lossy else f"{text}.decode()"
                self.source(f"{target} = {text}")
            elif kind == "bytes":
                self.source(f"{target} = bytes(buf[pos:{stop}])")
            else:
                self.source(f"{target} = memoryview(buf)[pos:{stop}]")
            self.source(f"pos = {stop}")

    def array(self, wire_type: WireType, target: str, where: str, *, nullable: bool) -> None:
        """A count and that many elements, of which none is null."""
        element = wire_type.element
        assert element is not None
        count, _ = self.length("i", target, where, nullable=nullable)
        least = max(1, least_size(element, self.version, flexible=self.flexible))
        with self.source.block("else:"):
            if self.flexible:
                self.source(f"{count} -= 1")
            bound = "end - pos" if least == 1 else f"(end - pos) // {least}"
            with self.source.block(f"if {count} > {bound}:"):
                self.source(f"raise too_many({where!r}, {count}, end - pos)")
            self.bound(count, where)
            if element.kind == "fixed" and element.code != "16s":
                self.numbers(element, count, target)
            elif self.sliced:
                self.elements(element, count, target, where)
            elif element.cls is not None and self.is_fixed(element.cls):
                self.fixed_structs(element, count, least, target, where)
            else:
                self.elements(element, count, target, where)

    def numbers(self, element: WireType, count: str, target: str) -> None:
        """An array of numbers: one Struct for the lot, or for each slice of it."""
        size = FIXED_SIZES[element.code]
        if not self.sliced:
            self.source(f"{target} = list(unpack_from(f'>{{{count}}}{element.code}', buf, pos))")
            self.source(f"pos += {count} * {size}")
            return
        items, part = self.module.name("x"), self.module.name("n")
        self.source(f"{target} = {items} = []")
        with self.source.block(f"while {count}:"):
            self.source(f"{part} = min({count}, {_WIDE_SLICE})")
            self.source(f"{items} += unpack_from(f'>{{{part}}}{element.code}', buf, pos)")
            self.source(f"pos += {part} * {size}; {count} -= {part}")
            with self.source.block(f"if {part} == {_WIDE_SLICE}:"):
                self.source(f"yield {_WIDE_SLICE}")

    def bound(self, count: str, where: str) -> None:
        """Refuse more elements than its caller takes, before they are made."""
        if self.sliced:
            with self.source.block(f"if {count} > most:"):
                self.source(f"raise above({where!r}, {count}, most)")

    def pause(self) -> None:
        """Yield when a slice is full, in a decoder that works in slices."""
        if self.sliced:
            self.source("left -= 1")
            with self.source.block("if not left:"):
                self.source(f"yield {SLICE_ELEMENTS}")
                self.source(f"left = {SLICE_ELEMENTS}")

    def is_fixed(self, cls: type) -> bool:
        """Whether every inline field of a struct, of which there are some, has one width."""
        fields = inline_fields(cls, self.version, flexible=self.flexible)
        return bool(fields) and all(field.type.kind == "fixed" for field in fields)

    def fixed_structs(
        self, element: WireType, count: str, size: int, target: str, where: str
    ) -> None:
        """An array of structs that all have the same size: one iter_unpack for the lot.

        In a flexible version that holds while all tag sections are empty, which a strided look at
        their counts tells at once. The loop for the rest also serves short arrays better.
        """
        cls = element.cls
        assert cls is not None
        fields = inline_fields(cls, self.version, flexible=self.flexible)
        codes = "".join(field.type.code for field in fields) + "x" * self.flexible
        unpack = self.module.constant("I", Struct(f">{codes}").iter_unpack, codes)
        untagged = f"buf[pos + {size - 1} : pos + {count} * {size} : {size}].count(0) == {count}"
        with self.source.block(f"if {count} > 3{f' and {untagged}' if self.flexible else ''}:"):
            stop, items, name = (self.module.name(prefix) for prefix in "exo")
            new = self.module.constant("W", cls.__new__)
            maker = f"map({new}, repeat({self.module.constant('C', cls)}, {count}))"
            self.source(f"{stop} = pos + {count} * {size}")
            self.source(f"{target} = {items} = list({maker})")
            values = "".join(f"{name}.{field.name}, " for field in fields)
            rows = f"zip({items}, {unpack}(buf[pos:{stop}]))"
            with self.source.block(f"for {name}, ({values}) in {rows}:"):
                self.defaults(cls, name)
            self.source(f"pos = {stop}")
        with self.source.block("else:"):
            self.elements(element, count, target, where)

    def elements(self, element: WireType, count: str, target: str, where: str) -> None:
        """The loop over an array's elements."""
        append, item = self.module.name("a"), self.module.name("x")
        self.source(f"{target} = {item} = []; {append} = {item}.append")
        with self.source.block(f"for _ in repeat(None, {count}):"):
            self.pause()
            if element.kind == "struct":
                assert element.cls is not None
                item = self.struct(element.cls)
            else:
                item = self.module.name("x")
                self.value(element, item, where, nullable=element.or_none)
            self.flush()
            self.source(f"{append}({item})")

    def tags(self, name: str, cls: type) -> Source:
        """The function `name` that reads a tag section of `cls` which is not empty.

        As in Kafka's generated readers the size of a known tag is not compared with what its
        value takes, tags may come in any order, the last of a repeated one counts, and a tag that
        is known in other versions only is refused (MessageDataGenerator).
        """
        most = ", most" if self.sliced else ""
        source = Source(f"def {name}(o, buf, pos, count, end{most}):")
        writer = _Writer(self.module, source, lossy=self.lossy, sliced=self.sliced)
        with source.block("if count > 127:"):
            source("count, pos = tail(buf, pos, count)")
        if self.sliced:
            writer.bound("count", f"{cls.__name__}'s tagged fields")
            source(f"left = {SLICE_ELEMENTS}")
            source("yield 1")
        with source.block("for _ in repeat(None, count):"):
            writer.pause()
            for part in ("tag", "size"):
                source(f"{part} = buf[pos]; pos += 1")
                with source.block(f"if {part} > 127:"):
                    source(f"{part}, pos = tail(buf, pos, {part})")
            for field in tagged_fields(cls, self.version, flexible=self.flexible):
                where = f"{cls.__name__}.{field.name}"
                with source.block(f"if tag == {field.tag}:"):
                    nullable = field.is_nullable(self.version)
                    if field.type.kind == "struct":
                        writer.nested(field.type, f"o.{field.name}", nullable=nullable, null=0)
                    else:
                        writer.value(field.type, f"o.{field.name}", where, nullable=nullable)
                    writer.flush()
                    source("continue")
            for tag in early_tags(cls, self.version):
                with source.block(f"if tag == {tag}:"):
                    source(f"raise early('{cls.__name__}', tag, {self.version})")
            source("stop = pos + size")
            with source.block("if stop > end:"):
                source(f"raise short('a tagged field of {cls.__name__}', size, end - pos)")
            with source.block("if o.unknown_tags is None:"):
                source("o.unknown_tags = {}")
            source("o.unknown_tags[tag] = bytes(buf[pos:stop]); pos = stop")
        source("return pos")
        return source


def _above(where: str, count: int, most: int) -> ProtocolError:
    return ProtocolError(f"{where} has {count} elements, {most} are taken")


def _early(where: str, tag: int, version: int) -> ProtocolError:
    return ProtocolError(f"tag {tag} of {where} is not valid in version {version}")


def _null(where: str) -> ProtocolError:
    return ProtocolError(f"{where} is null, which this version does not allow")


def _short(where: str, size: int, left: int) -> ProtocolError:
    return ProtocolError(f"{where} has a length of {size} bytes, {left} are left")


def _too_many(where: str, count: int, left: int) -> ProtocolError:
    return ProtocolError(f"{where} claims {count} elements in {left} bytes")
