"""What a script is made of: steps that ask one request, and what is learned on the way.

A step builds its message when its turn comes, because ids that a broker has given out go into
later requests. The same steps run against either broker, each with a `Known` of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class NotLearnedError(Exception):
    """A step needs what an earlier answer did not give."""


class Known:
    """What one broker's answers have taught: topic ids, member ids, session ids."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise NotLearnedError(name)
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value


class Step(NamedTuple):
    """One request of the script and what to do with its answer."""

    name: str
    version: int
    request: Callable[[Known], object]
    connection: str = "main"
    """Requests of one connection are answered in order; a parked one blocks only its own.
    One that is named by an address comes from it: 127.0.0.2."""
    learn: Callable[[Known, Any], None] | None = None
    until: Callable[[Any], bool] | None = None
    """Ask again until this holds, then compare: Kafka applies metadata a moment later."""
    compared: bool = True
    """False: only what `until` waits for counts; how often it was asked shows in the rest."""
    receive: bool = True
    """False: only send; the answer is taken by an `awaited` step."""

    @property
    def title(self) -> str:
        return f"{self.name} v{self.version}"


class Awaited(NamedTuple):
    """Takes the answer of the oldest request on a connection that was only sent."""

    name: str
    connection: str
    learn: Callable[[Known, Any], None] | None = None

    @property
    def title(self) -> str:
        return self.name


def ask(
    name: str,
    versions: int | Iterable[int],
    message: object | Callable[[Known], object],
    **options: Any,
) -> list[Step]:
    """The same question in one version or several."""
    request: Callable[[Known], object] = message if callable(message) else lambda _: message
    each = [versions] if isinstance(versions, int) else versions
    return [Step(name, version, request, **options) for version in each]
