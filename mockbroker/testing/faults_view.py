"""Fault rules in a test's hands, from any thread: `broker.faults`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mockbroker.faults import Fault
    from mockbroker.faults.fault_set import ArmedFault, FaultSet
    from mockbroker.testing.bridge import Bridge

    Rule = Fault | Mapping[str, object]

T = TypeVar("T")


class FaultStatus(NamedTuple):
    """An armed rule: `hits` fired, of `matched` that could have; `held` requests wait now."""

    id: str
    fault: Fault
    hits: int
    matched: int
    held: int
    exhausted: bool


class FaultsView:
    """The armed rules of one broker. Each verb is one step of it."""

    __slots__ = ("_bridge",)

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def add(self, *rules: Rule | Iterable[Rule]) -> list[str]:
        """Arm rules, all or none, in force with the next request; returns their ids.

        A rule is a `Fault`, plain data of one, or {"preset": name, …}. Raises FaultError, which
        names the field, for one that makes no sense or could never match.
        """
        return self._do(lambda faults: faults.add(*rules))

    def remove(self, fault_id: str) -> FaultStatus:
        """Disarm a rule; what it held back goes on. KeyError when there is none of this id."""
        return self._do(lambda faults: status_of(faults.remove(fault_id)))

    def clear(self) -> None:
        """Disarm all of them."""
        return self._do(lambda faults: faults.clear())

    def list(self) -> Sequence[FaultStatus]:
        """The rules that are armed, in the order in which they were added."""
        return self._do(lambda faults: [status_of(armed) for armed in faults.list()])

    def release(self, fault_id: str | None = None) -> int:
        """Let go what a rule (None: every rule) parked; how many requests that were."""
        return self._do(lambda faults: faults.release(fault_id))

    @contextmanager
    def armed(self, *rules: Rule | Iterable[Rule]) -> Iterator[Sequence[str]]:
        """Arm rules inside a `with`, and disarm them behind it."""
        ids = self.add(*rules)
        try:
            yield ids
        finally:
            self.discard(ids)

    def discard(self, ids: Iterable[str]) -> None:
        """Disarm the rules of these ids, as far as they are armed."""
        return self._do(lambda faults: _discard(faults, ids))

    def _do(self, verb: Callable[[FaultSet], T]) -> T:
        return self._bridge.call(lambda cluster: verb(cluster.faults))


def _discard(faults: FaultSet, ids: Iterable[str]) -> None:
    armed = {one.id for one in faults.list()}
    for fault_id in ids:
        if fault_id in armed:
            faults.remove(fault_id)


def status_of(armed: ArmedFault) -> FaultStatus:
    """What a test sees of an armed rule."""
    held = len(armed.waiting)
    return FaultStatus(armed.id, armed.fault, armed.hits, armed.matched, held, armed.exhausted)
