"""A verb over a bridge that is awaited is a coroutine with the parameters of the verb."""

from __future__ import annotations

import inspect

from mockbroker.testing.awaited import AsyncView, Awaited


class Plain:
    """As far as this room looks, a blocking view: `bridge` gives a result or a coroutine."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __repr__(self) -> str:
        return f"Plain({self._number})"

    def plus(self, other: int, *, times: int = 1) -> int:
        """Add."""
        return self._bridge(self._number + other * times)

    @property
    def number(self) -> int:
        """The number."""
        return self._bridge(self._number)

    def _bridge(self, result: int) -> int:
        async def later() -> int:
            return result

        return later()  # type: ignore[return-value]  # as an AsyncBridge does


class Made(AsyncView[Plain]):
    plus = Awaited(Plain.plus)
    number: Awaited[[], int] = Awaited(Plain.number)


async def test_verbs_and_properties_are_awaited() -> None:
    made = Made(Plain(1))
    assert await made.plus(2) == 3
    assert await made.plus(2, times=3) == 7
    assert await made.number() == 1
    assert repr(made) == "AsyncPlain(1)"


def test_they_look_like_the_verbs() -> None:
    made = Made(Plain(1))
    assert inspect.iscoroutinefunction(made.plus)
    assert str(inspect.signature(made.plus)) == "(other: 'int', *, times: 'int' = 1) -> 'int'"
    assert inspect.getdoc(made.plus) == "Add."
    assert inspect.signature(Made.plus) == inspect.signature(Plain.plus)
