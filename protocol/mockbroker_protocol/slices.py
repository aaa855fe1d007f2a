"""Work that is written as a generator, which yields between its slices.

Who drives it sees to others meanwhile; `all_at_once` is for who does not. What cannot be divided
is yielded as an `Aside`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def all_at_once(steps: Generator[object, None, T]) -> T:
    """Do all of it; what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class Aside(Generic[T_co]):
    """A piece of work on values of its own, which changes nothing else.

    Who is given it may `run` it in another thread before the generator goes on, which takes its
    `result`; else it is done then.
    """

    __slots__ = ("_error", "_result", "_work")

    def __init__(self, work: Callable[[], T_co]) -> None:
        self._work: Callable[[], T_co] | None = work
        self._error: Exception | None = None
        self._result: T_co

    def run(self) -> None:
        """Do it; what is raised is raised by `result`."""
        work, self._work = self._work, None
        assert work is not None
        try:
            self._result = work()
        except Exception as error:  # noqa: BLE001 -- raised where it is waited for
            self._error = error

    def result(self) -> T_co:
        """What came out."""
        if self._work is not None:
            self.run()
        if self._error is not None:
            raise self._error
        return self._result
