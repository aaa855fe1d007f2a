"""The vocabulary in which messages are declared: a typed class that is its own wire schema.

    @struct
    class DescribeClusterBroker:
        broker_id: int32 = 0
        rack: Annotated[str | None, V(nullable=0)] = None

    @message(api_key=60)
    class DescribeClusterResponse:
        endpoint_type: Annotated[int8, V(since=1)] = 1
        brokers: list[DescribeClusterBroker] = []

Fields stand in wire order. `messages` declares with this, `schema_fields` reads it for `plan`. A
class of which a request may need thousands is written out instead, to be compiled, and its layout
is declared by `by_hand`.
Start-up depends on this room being cheap: declaring a class reads no annotation and compiles
nothing; `__init__` is compiled when it is first called, `schema_fields` resolves the fields when a
plan first asks. Modules that declare messages use `from __future__ import annotations`.

Invariants: a declared class is slotted, has `unknown_tags` as its last slot, and never shares a
mutable default between instances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, TypeVar, dataclass_transform

from mockbroker_protocol.api_keys import ALL_SPECS, NEVER
from mockbroker_protocol.primitives import ZERO_UUID, Buffer

__all__ = (
    "NEVER",
    "ZERO_UUID",
    "Buffer",
    "Records",
    "Schema",
    "V",
    "Wire",
    "boolean",
    "by_hand",
    "field",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "message",
    "records",
    "schema_of",
    "struct",
    "uint16",
    "uint32",
    "uuid",
)

T = TypeVar("T")
UNSET: Final = object()


class Wire:
    """How a Python type travels: a `struct` code, or "records"."""

    __slots__ = ("code",)

    def __init__(self, code: str) -> None:
        self.code = code


int8 = Annotated[int, Wire("b")]
int16 = Annotated[int, Wire("h")]
int32 = Annotated[int, Wire("i")]
int64 = Annotated[int, Wire("q")]
uint16 = Annotated[int, Wire("H")]
uint32 = Annotated[int, Wire("I")]
float64 = Annotated[float, Wire("d")]
boolean = Annotated[bool, Wire("?")]
uuid = Annotated[bytes, Wire("16s")]
records = Annotated[bytes | bytearray | memoryview | list[Buffer] | None, Wire("records")]
"""Decoded to a memoryview of the frame (or None); encoded from bytes-like or a list of chunks."""
Records = records
"""The same under another name, for a class whose field is itself called `records`."""


class V:
    """The versions of a field, as in Kafka's schemas; all bounds are inclusive.

    since, until   versions that carry the field (a tagged field: from `tagged` unless `since` says)
    nullable       first version in which null is allowed
    tag, tagged    tag number, and the first version in which the field is in the tag section
    ignorable      a value that the version cannot carry is dropped, not refused, on encode
    default        value on decode when the version has no such field; the class default otherwise
    """

    __slots__ = ("default", "ignorable", "nullable", "since", "tag", "tagged", "until")

    def __init__(
        self,
        since: int | None = None,
        until: int = NEVER,
        *,
        nullable: int = NEVER + 1,
        tag: int | None = None,
        tagged: int | None = None,
        ignorable: bool = False,
        default: object = UNSET,
    ) -> None:
        self.since = since
        self.until = until
        self.nullable = nullable
        self.tag = tag
        self.tagged = tagged
        self.ignorable = ignorable
        self.default = default


class Factory:
    """Marks a default that is made anew for each instance."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """A default made for each instance: `field(default_factory=EpochEndOffset)`.

    A plain `[]` as a default needs no factory: lists are fresh per instance anyway.
    """
    return Factory(default_factory)  # type: ignore[return-value]  # mypy sees the field's type


class Schema:
    """What is known of a declared class: its key, versions, field names and defaults."""

    __slots__ = (
        "api_key",
        "cls",
        "defaults",
        "field_names",
        "flexible",
        "max_version",
        "min_version",
    )

    def __init__(
        self, api_key: int, versions: tuple[int, int], flexible: int, namespace: dict[str, object]
    ) -> None:
        self.api_key = api_key
        self.min_version, self.max_version = versions
        self.flexible = flexible
        self.field_names: tuple[str, ...] = tuple(_annotations(namespace))
        pop, missing = namespace.pop, UNSET
        self.defaults: dict[str, object] = {
            name: default
            for name in self.field_names
            if (default := pop(name, missing)) is not missing
        }
        self.cls: type = object

    @property
    def is_message(self) -> bool:
        """True for `@message`, False for `@struct`."""
        return self.max_version >= 0


@dataclass_transform(field_specifiers=(field,))
def message(
    *, api_key: int = -1, versions: tuple[int, int] | None = None, flexible: int = NEVER
) -> Callable[[type[T]], type[T]]:
    """Declare a request or response (or, without `api_key`, another versioned layout).

    An API's versions are those of `api_keys`, another layout names its own. The class gets API_KEY,
    MIN_VERSION, MAX_VERSION and FLEXIBLE.
    """
    if versions is None:
        spec = ALL_SPECS[api_key]
        versions, flexible = (spec.min_version, spec.max_version), spec.flexible
    bounds = versions

    def declare(cls: type[T]) -> type[T]:
        namespace = dict(cls.__dict__)
        schema = Schema(api_key, bounds, flexible, namespace)
        return _declare(cls, namespace | _of_message(schema), schema)

    return declare


@dataclass_transform(field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """Declare a nested struct; whether it is flexible follows the message it is part of."""
    namespace = dict(cls.__dict__)
    return _declare(cls, namespace, Schema(-1, (0, -1), NEVER, namespace))


def by_hand(cls: type, api_key: int | None = None, /, **fields: object) -> None:
    """Declare the layout of a class that is written out, with its slots and its `__init__`.

    That can be compiled, so it is for those of which a request needs many. Its fields have the
    defaults of its constructor; with an `api_key` it is a message.
    """
    versions, flexible = (0, -1), NEVER
    if api_key is not None:
        spec = ALL_SPECS[api_key]
        versions, flexible = (spec.min_version, spec.max_version), spec.flexible
    blank = cls()
    namespace: dict[str, object] = {name: getattr(blank, name) for name in fields}
    namespace["__annotations__"] = fields
    schema = Schema(-1 if api_key is None else api_key, versions, flexible, namespace)
    schema.cls = cls
    members = {"__annotations__": fields, "__schema__": schema, **_COMPARED}
    if api_key is not None:
        members |= _of_message(schema)
    for name, member in members.items():
        setattr(cls, name, member)


def schema_of(cls: type) -> Schema:
    """The schema of a declared class; TypeError for any other."""
    schema = cls.__dict__.get("__schema__")
    if not isinstance(schema, Schema):
        raise TypeError(f"{cls.__name__} is neither a @message nor a @struct")
    return schema


def is_declared(cls: object) -> bool:
    """True for a class made by `@message` or `@struct`."""
    return isinstance(cls, type) and "__schema__" in cls.__dict__


def _of_message(schema: Schema) -> dict[str, object]:
    """What a message's class tells."""
    return {
        "API_KEY": schema.api_key,
        "MIN_VERSION": schema.min_version,
        "MAX_VERSION": schema.max_version,
        "FLEXIBLE": schema.flexible,
    }


def _annotations(namespace: dict[str, object]) -> dict[str, object]:
    annotations = namespace.get("__annotations__")
    if annotations is None:  # no fields, or Python 3.14 without the __future__ import
        annotate = namespace.get("__annotate_func__") or namespace.get("__annotate__")
        if annotate is None:
            return {}
        import annotationlib  # type: ignore[import-not-found,unused-ignore]  # Python 3.14

        forward = annotationlib.Format.FORWARDREF
        annotations = annotationlib.call_annotate_function(annotate, forward)
    assert isinstance(annotations, dict)
    return annotations


def _declare(cls: type[T], namespace: dict[str, object], schema: Schema) -> type[T]:
    """A slotted class in place of `cls`: slots cannot be added to a class that exists."""
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    namespace["__qualname__"] = cls.__qualname__
    namespace["__slots__"] = (*schema.field_names, "unknown_tags")
    namespace["__schema__"] = schema
    namespace["__init__"] = _first_init
    namespace |= _COMPARED
    declared: type[T] = type(cls.__name__, cls.__bases__, namespace)
    schema.cls = declared
    return declared


def _first_init(self: object, *args: object, **kwargs: object) -> None:
    """Stands in as `__init__` until the first call, which compiles the real one."""
    cls = type(self)
    init = _compile_init(schema_of(cls))
    cls.__init__ = init  # type: ignore[method-assign]  # the point of it
    init(self, *args, **kwargs)


def _compile_init(schema: Schema) -> Callable[..., None]:
    parameters, lines = ["self"], []
    scope: dict[str, object] = {"_fresh": UNSET}
    for name in schema.field_names:
        value = name
        if name not in schema.defaults:
            parameters.append(name)
        elif (fresh := fresh_default(schema.defaults[name])) is None:
            scope[f"_{name}"] = schema.defaults[name]
            parameters.append(f"{name}=_{name}")
        else:
            scope[f"_{name}"] = fresh
            parameters.append(f"{name}=_fresh")
            value = f"_{name}() if {name} is _fresh else {name}"
        lines.append(f" self.{name} = {value}\n")
    lines.append(" self.unknown_tags = unknown_tags\n")
    head = f"def __init__({', '.join(parameters)}, unknown_tags=None):\n"
    try:
        exec(compile(head + "".join(lines), f"<init {schema.cls.__name__}>", "exec"), scope)
    except SyntaxError as error:
        raise TypeError(f"{schema.cls.__name__}: {error.msg}") from None
    init = scope["__init__"]
    assert callable(init)
    return init


def fresh_default(default: object) -> Callable[[], object] | None:
    """How to make this default anew for each instance; None when it may be shared."""
    if isinstance(default, Factory):
        return default.make
    if isinstance(default, list):
        return default.copy
    return None


def _equal(self: object, other: object) -> object:
    if type(other) is not type(self):
        return NotImplemented
    for name in schema_of(type(self)).field_names:
        if getattr(self, name) != getattr(other, name):
            return False
    # No unknown tags and an empty dict of them are the same on the wire.
    mine: object = getattr(self, "unknown_tags", None) or None
    return mine == (getattr(other, "unknown_tags", None) or None)


def _represent(self: object) -> str:
    from mockbroker_protocol.secret_fields import is_secret

    cls = type(self)
    fields = []
    for name in schema_of(cls).field_names:
        if not hasattr(self, name):
            continue  # a message that is read in slices has it later
        value: object = getattr(self, name)
        fields.append(f"{name}={'[hidden]' if value and is_secret(self, name) else repr(value)}")
    if tags := getattr(self, "unknown_tags", None):
        fields.append(f"unknown_tags={tags!r}")
    return f"{cls.__qualname__}({', '.join(fields)})"


_COMPARED: Final[dict[str, object]] = {
    "__eq__": _equal,
    "__repr__": _represent,
    "__hash__": None,
}
