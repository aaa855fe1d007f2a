"""Writing the Python source of a plan: lines, constants, and the module that they become.

`plan_decode` and `plan_encode` write through this room. One Module is one (class, version,
direction): its functions share one scope, in which structs, classes, defaults and the codec's own
routines are globals. Its source is in `linecache`, so that a traceback shows the line that failed.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from contextlib import contextmanager
from struct import Struct
from typing import TYPE_CHECKING

from mockbroker_protocol.schema_fields import FIXED_SIZES, Field, WireType, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class Module:
    """The scope of one plan's functions."""

    def __init__(self, cls: type, version: int, *, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.scope: dict[str, object] = {}
        self._names: dict[tuple[str, object], str] = {}
        self._count = 0

    def name(self, prefix: str) -> str:
        """A name that nothing else in this module has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, prefix: str, value: object, key: object = None) -> str:
        """A global bound to `value`; the same key gives the same global."""
        index = (prefix, id(value) if key is None else key)
        name = self._names.get(index)
        if name is None:
            name = self._names[index] = self.name(prefix)
            self.scope[name] = value
        return name

    def literal(self, value: object) -> str:
        """`value` as an expression: written out when that is short, else a global."""
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        return self.constant("D", value)

    def unpacker(self, codes: str) -> str:
        """The global name of `Struct(">" + codes).unpack_from`."""
        return self.constant("U", Struct(f">{codes}").unpack_from, codes)

    def packer(self, codes: str) -> str:
        """The global name of `Struct(">" + codes).pack`."""
        return self.constant("P", Struct(f">{codes}").pack, codes)

    def later(self, name: str, write: Callable[[], Source]) -> None:
        """A global function `name`, which is written and compiled when it is first called."""

        def first(*args: object) -> object:
            return self.build(name, write())(*args)

        self.scope[name] = first

    def build(self, name: str, function: Source) -> Callable[..., object]:
        """Compile the function `name`, a global from then on."""
        source = function.text()
        filename = f"<{name} {self.cls.__name__} v{self.version}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        exec(compile(source, filename, "exec"), self.scope)
        built = self.scope[name]
        assert callable(built)
        return built


class Source:
    """The lines of one function, indented as blocks open and close."""

    def __init__(self, head: str) -> None:
        self._lines = [head]
        self._indent = "    "

    def __call__(self, line: str) -> None:
        self._lines.append(self._indent + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head:` and what is written inside, one level deeper."""
        self(head)
        outer = self._indent
        self._indent += "    "
        yield
        self._indent = outer

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


class Run:
    """Consecutive fixed-width values, to be moved by one Struct."""

    def __init__(self) -> None:
        self.codes = ""
        self.items: list[str] = []
        self.size = 0

    def add(self, code: str, item: str) -> None:
        self.codes += code
        self.items.append(item)
        self.size += FIXED_SIZES.get(code, 1)

    def take(self) -> tuple[str, list[str], int]:
        """(codes, items, size in bytes); the run is empty afterwards."""
        taken = self.codes, self.items, self.size
        self.codes, self.items, self.size = "", [], 0
        return taken


def length_size(*, flexible: bool, wide: bool) -> int:
    """The least bytes that a length takes: int32 when wide, int16, or a varint."""
    return 1 if flexible else 4 if wide else 2


def least_size(wire_type: WireType, version: int, *, flexible: bool) -> int:
    """The fewest bytes a non-null value of this type can take."""
    if wire_type.kind == "fixed":
        return FIXED_SIZES[wire_type.code]
    if wire_type.kind == "struct":
        assert wire_type.cls is not None
        size = int(flexible)
        for field in inline_fields(wire_type.cls, version, flexible=flexible):
            if field.type.kind == "struct" and field.is_nullable(version):
                size += 1
            else:
                size += least_size(field.type, version, flexible=flexible)
        return size
    return length_size(flexible=flexible, wide=wire_type.kind != "string")


def inline_fields(cls: type, version: int, *, flexible: bool) -> list[Field]:
    """Fields that stand in the body proper."""
    return [
        field
        for field in fields_of(cls)
        if field.present(version) and not (flexible and field.is_tagged(version))
    ]


def tagged_fields(cls: type, version: int, *, flexible: bool) -> list[Field]:
    """Fields that travel in the tag section, by ascending tag."""
    fields = [f for f in fields_of(cls) if flexible and f.is_tagged(version)]
    return sorted(fields, key=lambda field: field.tag or 0)


def early_tags(cls: type, version: int) -> list[int]:
    """Tags that other versions know and this one does not: Kafka's readers refuse them."""
    return [
        field.tag
        for field in fields_of(cls)
        if field.tag is not None and not field.is_tagged(version)
    ]


def absent_fields(cls: type, version: int) -> list[Field]:
    """Fields that the version does not have."""
    return [field for field in fields_of(cls) if not field.present(version)]
