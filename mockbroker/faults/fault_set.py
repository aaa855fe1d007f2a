"""The armed rules of a cluster: which of them a request meets, and how often each did.

`cluster.faults` holds one. Users add, remove, list, clear and release; the brokers ask `fire` for
each request while any rule is armed, the servers read `network_rules`. All of it runs in steps of
the broker.

Invariants: no rule is armed that `checking` refuses; a rule's draws come from a substream of its
own, so other rules and other randomness do not shift them; `on_change` is called after each change
of what is armed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.faults.armed_fault import ArmedFault
from mockbroker.faults.checking import check
from mockbroker.faults.errors import FaultError
from mockbroker.faults.fault import CONNECTIONS, HANDSHAKES, LOGINS, REQUESTS, Fault
from mockbroker.faults.presets import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.faults.armed_fault import RuleMark
    from mockbroker.faults.request_view import Asking, NameOf, RequestView

    Rule = Fault | Mapping[str, object]

MAX_RETIRED: Final = 100


class FaultsMark(NamedTuple):
    """The armed rules at one moment, for `FaultSet.back_to`."""

    rules: tuple[RuleMark, ...]
    next_number: int


class FaultSet:
    """The armed rules, in the order in which they were added."""

    __slots__ = (
        "_any",
        "_brokers",
        "_by_about",
        "_by_api",
        "_clock",
        "_name_of",
        "_next",
        "_rules",
        "_served",
        "_substream",
        "_tell",
        "certificates",
        "retired",
    )

    def __init__(
        self,
        clock: Clock,
        served: Mapping[int, tuple[int, int]],
        brokers: Mapping[int, object],
        substream: Callable[[str], Random],
        name_of: NameOf,
        tell: Callable[[str, Sequence[ArmedFault]], None],
    ) -> None:
        """`tell` hears of each change: which rules were added, removed, released, exhausted.

        No rule: all of them were cleared or restored.
        """
        self._clock = clock
        self._served = served
        self._brokers = brokers
        self._substream = substream
        self._name_of = name_of
        self._tell = tell
        self._rules: dict[str, ArmedFault] = {}
        self._any: list[ArmedFault] = []
        self._by_api: dict[int, list[ArmedFault]] = {}
        self._by_about: dict[str, list[ArmedFault]] = {}
        self._next = 1
        self.certificates: Collection[str] = ()
        """Those that a rule may have listeners show: what stands for `certificate`."""
        self.retired: deque[ArmedFault] = deque(maxlen=MAX_RETIRED)
        """Rules that were taken away and had never fired, though they had to."""

    @property
    def name_of(self) -> NameOf:
        """The name of a topic id, if there is one."""
        return self._name_of

    # -- verbs -----------------------------------------------------------------------------

    def add(self, *rules: Rule | Iterable[Rule]) -> list[str]:
        """Arm rules, all or none; returns their ids. Raises FaultError that names the field."""
        faults = [fault for rule in rules for fault in faults_of(rule)]
        for fault in faults:
            check(fault, self._served, self._brokers, self.certificates)
        ids = [fault.id for fault in faults if fault.id is not None]
        for fault_id in ids:
            if fault_id in self._rules or ids.count(fault_id) > 1:
                raise FaultError("id", f"there is a rule {fault_id!r} already")
        made: list[ArmedFault] = []
        for fault in faults:
            armed = self._arm(fault)
            before = made[-1] if made else None
            if before is not None and fault.of_preset and fault.of_preset == before.fault.of_preset:
                before.family.append(armed)
                armed.family = before.family
            made.append(armed)
        if made:
            self._told("added", made)
        return [armed.id for armed in made]

    def _arm(self, fault: Fault) -> ArmedFault:
        fault_id = fault.id
        while fault_id is None:
            candidate = f"fault-{self._next}"
            self._next += 1
            if candidate not in self._rules:
                fault_id = candidate
        name = f"faults/{fault_id}" if fault.seed is None else f"faults/seed/{fault.seed}"
        now_ms, rng = self._clock.now_ms, self._substream(name)
        armed = self._rules[fault_id] = ArmedFault(fault, fault_id, now_ms, rng, self._name_of)
        return armed

    def _told(self, action: str, changed: Sequence[ArmedFault]) -> None:
        """What is armed is other than before."""
        by_api: dict[int, list[ArmedFault]] = {}
        by_about: dict[str, list[ArmedFault]] = {}
        for one in self._rules.values():
            by_about.setdefault(one.fault.about, []).append(one)
        self._by_about = by_about
        # The hit of a `bad_crc` may be taken back: such a rule is never quite exhausted.
        able = [one for one in by_about.get(REQUESTS, ()) if one.fault.bad_crc or not one.exhausted]
        for key in {key for one in able for key in one.api_keys or ()}:
            by_api[key] = [one for one in able if one.api_keys is None or key in one.api_keys]
        self._any = [one for one in able if one.api_keys is None]
        self._by_api = by_api
        self._tell(action, changed)

    def remove(self, fault_id: str) -> ArmedFault:
        """Disarm a rule; what it holds back goes on. KeyError when there is none of this id."""
        armed = self._rules.pop(fault_id)
        self._retire(armed)
        self._told("removed", (armed,))
        armed.release()
        return armed

    def clear(self) -> None:
        """Disarm all of them."""
        gone, self._rules = list(self._rules.values()), {}
        for armed in gone:
            self._retire(armed)
        self._told("cleared", ())
        for armed in gone:
            armed.release()

    def reset(self) -> None:
        """Disarm all of them, and forget that any should have fired."""
        for armed in self._rules.values():
            armed.reported = True
        self.clear()
        self.retired.clear()

    def _retire(self, armed: ArmedFault) -> None:
        if armed.is_silent and not armed.reported:
            self.retired.append(armed)

    def take_silent(
        self, ids: Collection[str] | None = None, *, spared: Collection[str] = ()
    ) -> Sequence[ArmedFault]:
        """The rules that never fired though they had to, of those armed and those taken away.

        Of the rules of one preset the first stands for all. Each is told once. With `ids`
        those alone; never those `spared`.
        """
        found = {
            id(armed.family[0]): armed.family[0]
            for armed in (*self.retired, *self._rules.values())
            if armed.is_silent
            and not armed.reported
            and (ids is None or armed.id in ids)
            and armed.id not in spared
        }
        if ids is None:
            self.retired.clear()
        for armed in found.values():
            for one in armed.family:
                one.reported = True
        return list(found.values())

    def release(self, fault_id: str | None = None) -> int:
        """Let go what a rule (or every rule) holds back by `park`; how many requests that were."""
        rules = self._rules.values() if fault_id is None else [self._rules[fault_id]]
        released = 0
        for armed in list(rules):
            let_go = armed.release()
            if let_go:
                self._tell("released", (armed,))
            released += let_go
        return released

    def list(self) -> Sequence[ArmedFault]:
        """The rules in force, and those that are exhausted but were not removed."""
        return list(self._rules.values())

    # -- scopes ----------------------------------------------------------------------------

    def mark(self) -> FaultsMark:
        """The rules as they are now."""
        return FaultsMark(tuple(armed.mark() for armed in self._rules.values()), self._next)

    def back_to(self, mark: FaultsMark | None, passed_ms: float) -> None:
        """Have the rules of the mark, None: none, as if no time had passed since, and no request.

        A request that a rule of the mark holds back is still held back.
        """
        self._next = 1 if mark is None else mark.next_number
        wanted = {} if mark is None else {rule.armed.id: rule for rule in mark.rules}
        for armed in list(self._rules.values()):
            if armed.id not in wanted or wanted[armed.id].armed is not armed:
                self.remove(armed.id)
        if wanted:
            self._rules = {key: rule.armed for key, rule in wanted.items()}
            for rule in wanted.values():
                rule.armed.back_to(rule, passed_ms)
            self._told("restored", ())

    # -- what brokers and servers ask ------------------------------------------------------

    @property
    def meets_requests(self) -> bool:
        """Whether any rule is about requests, and can still fire."""
        return bool(self._any or self._by_api)

    def meets(self, api_key: int) -> bool:
        """Whether one of them may be about requests of this API."""
        return bool(self._any) or api_key in self._by_api

    def rules_of(self, api_key: int) -> Sequence[ArmedFault]:
        """Those that may be about requests of this API."""
        return self._by_api.get(api_key, self._any)

    @property
    def meets_brokers(self) -> bool:
        """Whether one of them is about what brokers send each other: it names that listener."""
        rules = (self._any, *self._by_api.values())
        return any(armed.is_between_brokers for some in rules for armed in some)

    @property
    def network_rules(self) -> Sequence[ArmedFault]:
        """The rules that shape connections."""
        return self._by_about.get(CONNECTIONS, ())

    @property
    def meets_handshakes(self) -> bool:
        """Whether any rule is about TLS handshakes."""
        return HANDSHAKES in self._by_about

    @property
    def meets_logins(self) -> bool:
        """Whether any rule is about logins, or about the tokens of those that were."""
        return LOGINS in self._by_about or any(
            one.fault.expire_token for one in self._rules.values()
        )

    def meet_handshake(self, listener: str, broker_id: int) -> ArmedFault | None:
        """The rule that a TLS handshake which begins now sets off."""
        return self._meet(
            HANDSHAKES, lambda armed: armed.is_for_connection("", listener, broker_id, 0)
        )

    def meet_login(self, asking: Asking) -> ArmedFault | None:
        """The rule that a login sets off which would else succeed."""
        return self._meet(
            LOGINS,
            lambda armed: (
                armed.is_for_connection(
                    asking.client_id, asking.listener, asking.broker_id, asking.connection_id
                )
                and armed.is_for_principal(asking.principal)
            ),
        )

    def _meet(self, about: str, fits: Callable[[ArmedFault], bool]) -> ArmedFault | None:
        now_ms = self._clock.now_ms
        for armed in self._by_about.get(about, ()):
            if armed.in_time(now_ms) and fits(armed) and armed.strike():
                if armed.exhausted:
                    self._told("exhausted", (armed,))
                return armed
        return None

    def spent_by(self, token: str) -> str | None:
        """The id of the rule that made a token expire."""
        for armed in self._rules.values():
            if token in armed.spent:
                return armed.id
        return None

    def fire(self, asking: Asking, view: RequestView) -> Sequence[ArmedFault]:
        """The rules that this request sets off; each is counted.

        It costs the checks of the rules that name its API, or none.
        """
        now_ms = self._clock.now_ms
        fired = [
            armed
            for armed in self.rules_of(asking.api_key)
            if not armed.exhausted
            and armed.in_time(now_ms)
            and armed.matches(asking, view)
            and armed.strike()
        ]
        for armed in fired:
            if armed.exhausted:
                self._told("exhausted", (armed,))
        return fired


def faults_of(rule: Rule | Iterable[Rule]) -> list[Fault]:
    """A rule, plain data of one (a preset too), or several of either."""
    if isinstance(rule, Fault):
        return [rule]
    from collections.abc import Mapping

    if isinstance(rule, Mapping):
        return parse(dict(rule))
    return [fault for one in rule for fault in faults_of(one)]
