"""`NamedTuple` for modules that a start of the broker imports: that of `typing`, made later.

A class of `typing.NamedTuple` compiles each annotation and its constructor when its module is
imported, which takes longer than the rest of most modules. Here both wait for the first instance.
Annotations are not looked at; fields, defaults and methods are those of `typing`'s. To a type
checker it is that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple, Self
else:
    from collections import _tuplegetter

    class _Fields(tuple):
        __slots__ = ()

        def __new__(cls, *args: object, **kwargs: object) -> Self:
            """Stands in until the first call, which compiles the real one."""
            made = next(base for base in cls.__mro__ if "_fields" in base.__dict__)
            names = ", ".join(made._fields)
            scope = {"new": tuple.__new__}
            exec(f"def __new__(_cls, {names}): return new(_cls, ({names},))", scope)
            new = scope["__new__"]
            new.__defaults__ = tuple(made._field_defaults.values())
            made.__new__ = staticmethod(new)
            return new(cls, *args, **kwargs)

        @classmethod
        def _make(cls, values: Iterable[object]) -> Self:
            return cls(*values)

        def _replace(self, **changes: object) -> Self:
            return type(self)(**{**self._asdict(), **changes})

        def _asdict(self) -> dict[str, object]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)

    class _Declared(type):
        def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> type:
            if not bases:
                return super().__new__(mcs, name, bases, namespace)
            fields = tuple(namespace["__annotations__"])
            namespace["_field_defaults"] = {
                field: namespace.pop(field) for field in fields if field in namespace
            }
            for index, field in enumerate(fields):
                namespace[field] = _tuplegetter(index, None)
            namespace["_fields"] = namespace["__match_args__"] = fields
            namespace["__slots__"] = ()
            return type(name, (_Fields,), namespace)

    class NamedTuple(metaclass=_Declared):
        """As `typing.NamedTuple`."""


__all__ = ("NamedTuple",)
