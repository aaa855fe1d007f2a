"""Fault rules in a test's hands, from any thread: `broker.faults`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.faults import Fault
    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.faults.fault_set import FaultSet
    from mockbroker.testing.bridge import Bridge

    class Armed(Protocol):
        """A rule that was armed, as `add` returns it."""

        @property
        def id(self) -> str: ...

    Rule = Fault | Mapping[str, object]
    ArmedRule = Armed | str
    """A rule that was armed, or its id."""

__tracebackhide__ = True

T = TypeVar("T")


class FaultStatus(NamedTuple):
    """An armed rule: `hits` fired, of `matched` that could have; `held` requests wait now."""

    id: str
    fault: Fault
    hits: int
    matched: int
    held: int
    exhausted: bool


class FaultRule:
    """One rule that was armed, by its `id`; it stays good when the rule is taken away."""

    __slots__ = ("_armed", "_bridge", "id")

    def __init__(self, bridge: Bridge, armed: ArmedFault) -> None:
        self._bridge = bridge
        self._armed = armed
        self.id = armed.id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self._armed.fault.to_dict()}>"

    def __str__(self) -> str:
        return self.id

    def status(self) -> FaultStatus:
        """How often it fired, and what it holds back now."""
        return self._bridge.call(lambda _: status_of(self._armed))

    @property
    def hits(self) -> int:
        """How often it fired."""
        return self._bridge.call(lambda _: self._armed.hits)

    def wait(self, hits: int = 1, timeout: float = 10) -> FaultStatus:
        """Wait until it fired so often, those times that it did already among them.

        Raises WaitTimeoutError, an AssertionError with the nearest requests and what did not fit.
        """
        armed = self._armed

        def enough(_cluster: Cluster) -> FaultStatus | None:
            return status_of(armed) if armed.hits >= hits else None

        def explain(cluster: Cluster) -> str:
            from mockbroker.state.verdict import nearest

            reason, lines = nearest(cluster.journal, armed, 0)
            first = f"waited {timeout:g} s for {hits} hit(s) of fault {armed.id}: {reason}"
            return "\n  ".join([first, *(["the nearest others:"] if lines else []), *lines])

        return self._bridge.wait(enough, timeout, explain)

    def release(self) -> int:
        """Let go what it parked; how many requests that were."""
        return self._bridge.call(lambda cluster: cluster.faults.release(self.id))

    def remove(self) -> FaultStatus:
        """Disarm it; what it held back goes on. KeyError when it is not armed any more."""
        return self._bridge.call(lambda cluster: status_of(cluster.faults.remove(self.id)))


class FaultsView:
    """The armed rules of one broker. Each verb is one step of it."""

    __slots__ = ("_bridge",)

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._bridge!r}>"

    def add(self, *rules: Rule | Iterable[Rule]) -> list[FaultRule]:
        """Arm rules, all or none, in force with the next request.

        A rule is a `Fault`, plain data of one, or {"preset": name, …}. Raises FaultError, which
        names the field, for one that makes no sense or could never match.
        """
        bridge = self._bridge

        def add(faults: FaultSet) -> list[FaultRule]:
            ids = set(faults.add(*rules))
            return [FaultRule(bridge, armed) for armed in faults.list() if armed.id in ids]

        return self._do(add)

    def remove(self, rule: ArmedRule) -> FaultStatus:
        """Disarm a rule; what it held back goes on. KeyError when there is none of this id."""
        return self._do(lambda faults: status_of(faults.remove(id_of(rule))))

    def clear(self) -> None:
        """Disarm all of them."""
        return self._do(lambda faults: faults.clear())

    def list(self) -> Sequence[FaultStatus]:
        """The rules that are armed, in the order in which they were added."""
        return self._do(lambda faults: [status_of(armed) for armed in faults.list()])

    def release(self, rule: ArmedRule | None = None) -> int:
        """Let go what a rule (None: every rule) parked; how many requests that were."""
        fault_id = None if rule is None else id_of(rule)
        return self._do(lambda faults: faults.release(fault_id))

    @contextmanager
    def armed(self, *rules: Rule | Iterable[Rule]) -> Iterator[Sequence[FaultRule]]:
        """Arm rules inside a `with`, and disarm them behind it.

        Raises VerificationError at its end for one that never fired.
        """
        made = self.add(*rules)
        try:
            yield made
        except BaseException:
            self.discard(made)
            raise
        self.verify(made)

    def discard(self, rules: Iterable[ArmedRule]) -> None:
        """Disarm these rules, as far as they are armed, whether or not they fired."""
        from mockbroker.state.verdict import take_away

        ids = [id_of(rule) for rule in rules]

        def discard(cluster: Cluster) -> None:
            take_away(cluster, ids)

        return self._bridge.call(discard)

    def verify(self, rules: Iterable[ArmedRule]) -> None:
        """Disarm these rules; raises VerificationError for those that never fired."""
        from mockbroker.state.verdict import take_away

        ids = [id_of(rule) for rule in rules]
        return self._bridge.call(lambda cluster: take_away(cluster, ids).check())

    def _do(self, verb: Callable[[FaultSet], T]) -> T:
        return self._bridge.call(lambda cluster: verb(cluster.faults))


def id_of(rule: ArmedRule) -> str:
    """The id of a rule that was armed."""
    return rule if isinstance(rule, str) else rule.id


def status_of(armed: ArmedFault) -> FaultStatus:
    """What a test sees of an armed rule."""
    held = len(armed.waiting)
    return FaultStatus(armed.id, armed.fault, armed.hits, armed.matched, held, armed.exhausted)
