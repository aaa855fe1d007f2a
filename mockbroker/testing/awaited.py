"""How a blocking view becomes one for coroutines: its verbs stay, over a bridge that is awaited.

`aio` declares `records = Awaited(TopicView.records)`: the same parameters, the same body, awaited;
the body is that of the view at hand, wherever its bridge leads.

Invariant: a verb that is declared so returns what its only call, or wait, of the bridge gives; over
an `AsyncBridge` that is a coroutine.
"""

from __future__ import annotations

from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__tracebackhide__ = True

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


class AsyncView(Generic[V]):
    """The verbs of `view`, which was made over an `AsyncBridge`."""

    def __init__(self, view: V) -> None:
        self._view = view

    def __repr__(self) -> str:
        return f"Async{self._view!r}"


class Awaited(Generic[P, T]):
    """A verb, or a property, of a blocking view as a coroutine of an `AsyncView`."""

    def __init__(self, verb: Callable[Concatenate[Any, P], T]) -> None:
        # A property, looked up in its class, is typed as its getter.
        blocking: Callable[..., Any] = getattr(verb, "fget", verb)

        name, is_property = blocking.__name__, isinstance(verb, property)

        @wraps(blocking)
        async def awaited(view: AsyncView[object], *args: P.args, **kwargs: P.kwargs) -> T:
            found = getattr(view._view, name)  # noqa: SLF001 -- as its method
            result: T = await (found if is_property else found(*args, **kwargs))
            return result

        self._awaited = awaited

    @overload
    def __get__(
        self, view: None, owner: type
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(self, view: object, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, view: object | None, owner: type) -> Callable[..., Coroutine[Any, Any, T]]:
        """The coroutine function of one view, or of the class."""
        return self._awaited if view is None else MethodType(self._awaited, view)
