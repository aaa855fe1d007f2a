"""The armed rules of a cluster: which of them a request meets, and how often each did.

`cluster.faults` holds one. Users add, remove, list, clear and release; the brokers ask `fire` for
each request while any rule is armed, the servers read `network_rules`. All of it runs in steps of
the broker.

Invariants: no rule is armed that `checking` refuses; a rule's draws come from a substream of its
own, so other rules and other randomness do not shift them; `on_change` is called after each change
of what is armed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.faults.checking import check
from mockbroker.faults.errors import FaultError
from mockbroker.faults.fault import Fault
from mockbroker.faults.presets import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker_protocol.subjects import Subjects, TopicRef

    Rule = Fault | Mapping[str, object]


BETWEEN_BROKERS: Final = frozenset({"REPLICATION"})
"""Listeners that only brokers use: a rule meets what they say if it names the listener."""


class Asking(Protocol):
    """The request that a rule is held against."""

    @property
    def api_key(self) -> int: ...
    @property
    def api_version(self) -> int: ...
    @property
    def client_id(self) -> str: ...
    @property
    def listener(self) -> str: ...
    @property
    def broker_id(self) -> int: ...
    @property
    def connection_id(self) -> int: ...


class ArmedFault:
    """A rule in force. `hits` counts how often it fired, `matched` how often it could have."""

    __slots__ = (
        "_client",
        "_group",
        "_keys",
        "_listener",
        "_rng",
        "_topic",
        "_transactional_id",
        "ends_ms",
        "fault",
        "hits",
        "id",
        "matched",
        "rng",
        "starts_ms",
        "waiting",
    )

    def __init__(self, fault: Fault, fault_id: str, now_ms: float, rng: Random) -> None:
        self.fault = fault
        self.id = fault_id
        self.hits = 0
        self.matched = 0
        self.rng = rng
        self.starts_ms = now_ms + fault.after_ms
        self.ends_ms = None if fault.for_ms is None else self.starts_ms + fault.for_ms
        self.waiting: list[Callable[[], None]] = []
        keys = fault.api_keys
        self._keys = None if keys is None else frozenset(keys)
        self._client = _glob(fault.client)
        self._listener = _glob(fault.listener)
        self._topic = _glob(fault.topic)
        self._group = _glob(fault.group)
        self._transactional_id = _glob(fault.transactional_id)

    @property
    def exhausted(self) -> bool:
        """Whether it can never fire again, by its count."""
        fault = self.fault
        if fault.count is not None and self.hits >= fault.count:
            return True
        return fault.nth is not None and self.matched >= fault.nth

    def in_time(self, now_ms: float) -> bool:
        """Whether it is in force at this time."""
        return self.starts_ms <= now_ms and (self.ends_ms is None or now_ms < self.ends_ms)

    def is_for_connection(
        self, client_id: str, listener: str, broker_id: int, connection_id: int
    ) -> bool:
        """Whether a connection is one that it is about."""
        fault = self.fault
        if fault.listener is None and listener in BETWEEN_BROKERS:
            return False
        return (
            fault.broker in {None, broker_id}
            and fault.connection in {None, connection_id}
            and (self._client is None or self._client(client_id) is not None)
            and (self._listener is None or self._listener(listener) is not None)
        )

    def matches(self, asking: Asking, subjects: Callable[[], Subjects], name_of: NameOf) -> bool:
        """Whether a request is one that it is about; how often and when is not looked at."""
        fault = self.fault
        if self._keys is not None and asking.api_key not in self._keys:
            return False
        versions = fault.versions
        if versions is not None and not versions[0] <= asking.api_version <= versions[1]:
            return False
        if not self.is_for_connection(
            asking.client_id, asking.listener, asking.broker_id, asking.connection_id
        ):
            return False
        if (
            self._topic is None
            and fault.partition is None
            and self._group is None
            and self._transactional_id is None
        ):
            return True
        about = subjects()
        group, transactional_id = self._group, self._transactional_id
        return (
            (group is None or any(group(one) for one in about.groups))
            and (
                transactional_id is None
                or any(transactional_id(one) for one in about.transactional_ids)
            )
            and (not self.is_partial or any(self._names_one(ref, name_of) for ref in about.topics))
        )

    @property
    def is_partial(self) -> bool:
        """Whether it is about some topics or partitions of a request only."""
        return self._topic is not None or self.fault.partition is not None

    def _names_one(self, ref: TopicRef, name_of: NameOf) -> bool:
        if ref.partitions is None:
            return self.selects(ref, None, name_of)
        return any(self.selects(ref, index, name_of) for index in ref.partitions)

    def selects(self, ref: TopicRef, index: int | None, name_of: NameOf) -> bool:
        """Whether it is about this topic, or this partition of it."""
        wanted = self.fault.partition
        if wanted is not None and index is not None and index != wanted:
            return False
        if self._topic is None:
            return True
        name = ref.name
        if not name and ref.topic_id is not None:
            name = name_of(ref.topic_id)
        return name is not None and self._topic(name) is not None

    def strike(self) -> bool:
        """It matches a request now: whether it fires, by its nth, probability and count."""
        if self.exhausted:
            return False
        fault = self.fault
        self.matched += 1
        if fault.nth is not None and self.matched != fault.nth:
            return False
        if fault.probability < 1 and self.rng.random() >= fault.probability:
            return False
        self.hits += 1
        return True

    def take_back(self) -> None:
        """It fired and found nothing to act on: that does not count."""
        self.hits -= 1
        self.matched -= 1

    def release(self) -> int:
        """Let go what it holds back; how many requests that were."""
        waiting, self.waiting = self.waiting, []
        for go_on in waiting:
            go_on()
        return len(waiting)


class FaultSet:
    """The armed rules, in the order in which they were added."""

    __slots__ = (
        "_brokers",
        "_clock",
        "_name_of",
        "_next",
        "_rules",
        "_served",
        "_substream",
        "_tell",
    )

    def __init__(
        self,
        clock: Clock,
        served: Mapping[int, tuple[int, int]],
        brokers: Mapping[int, object],
        substream: Callable[[str], Random],
        name_of: NameOf,
        tell: Callable[[str, ArmedFault | None], None],
    ) -> None:
        """`tell` hears of each change: added, removed, released, exhausted; None: cleared."""
        self._clock = clock
        self._served = served
        self._brokers = brokers
        self._substream = substream
        self._name_of = name_of
        self._tell = tell
        self._rules: dict[str, ArmedFault] = {}
        self._next = 1

    # -- verbs -----------------------------------------------------------------------------

    def add(self, *rules: Rule | Iterable[Rule]) -> list[str]:
        """Arm rules, all or none; returns their ids. Raises FaultError that names the field."""
        faults = [fault for rule in rules for fault in _faults_of(rule)]
        for fault in faults:
            check(fault, self._served, self._brokers)
        ids = [fault.id for fault in faults if fault.id is not None]
        for fault_id in ids:
            if fault_id in self._rules or ids.count(fault_id) > 1:
                raise FaultError("id", f"there is a rule {fault_id!r} already")
        return [self._arm(fault) for fault in faults]

    def _arm(self, fault: Fault) -> str:
        fault_id = fault.id
        while fault_id is None:
            candidate = f"fault-{self._next}"
            self._next += 1
            if candidate not in self._rules:
                fault_id = candidate
        name = f"faults/{fault_id}" if fault.seed is None else f"faults/seed/{fault.seed}"
        armed = ArmedFault(fault, fault_id, self._clock.now_ms, self._substream(name))
        self._rules[fault_id] = armed
        self._tell("added", armed)
        return fault_id

    def remove(self, fault_id: str) -> ArmedFault:
        """Disarm a rule; what it holds back goes on. KeyError when there is none of this id."""
        armed = self._rules.pop(fault_id)
        self._tell("removed", armed)
        armed.release()
        return armed

    def clear(self) -> None:
        """Disarm all of them."""
        gone, self._rules = list(self._rules.values()), {}
        self._tell("cleared", None)
        for armed in gone:
            armed.release()

    def release(self, fault_id: str | None = None) -> int:
        """Let go what a rule (or every rule) holds back by `park`; how many requests that were."""
        rules = self._rules.values() if fault_id is None else [self._rules[fault_id]]
        released = 0
        for armed in list(rules):
            let_go = armed.release()
            if let_go:
                self._tell("released", armed)
            released += let_go
        return released

    def list(self) -> Sequence[ArmedFault]:
        """The rules in force, and those that are exhausted but were not removed."""
        return list(self._rules.values())

    # -- what brokers and servers ask ------------------------------------------------------

    @property
    def meets_requests(self) -> bool:
        """Whether any rule is about requests."""
        return any(not armed.fault.is_network for armed in self._rules.values())

    @property
    def network_rules(self) -> Sequence[ArmedFault]:
        """The rules that shape connections."""
        return [armed for armed in self._rules.values() if armed.fault.is_network]

    def fire(self, asking: Asking, subjects: Callable[[], Subjects]) -> Sequence[ArmedFault]:
        """The rules that this request sets off; each is counted."""
        now_ms = self._clock.now_ms
        fired = [
            armed
            for armed in self._rules.values()
            if not armed.fault.is_network
            and not armed.exhausted
            and armed.in_time(now_ms)
            and armed.matches(asking, subjects, self._name_of)
            and armed.strike()
        ]
        for armed in fired:
            if armed.exhausted:
                self._tell("exhausted", armed)
        return fired

    def selects(self, armed: ArmedFault, ref: TopicRef, index: int | None) -> bool:
        """Whether a rule is about this topic or partition."""
        return armed.selects(ref, index, self._name_of)


class NameOf(Protocol):
    """The name of a topic id, if there is one."""

    def __call__(self, topic_id: bytes, /) -> str | None: ...


def _faults_of(rule: Rule | Iterable[Rule]) -> list[Fault]:
    """A rule, plain data of one (a preset too), or several of either."""
    if isinstance(rule, Fault):
        return [rule]
    from collections.abc import Mapping

    if isinstance(rule, Mapping):
        return parse(dict(rule))
    return [fault for one in rule for fault in _faults_of(one)]


def _glob(pattern: str | None) -> Callable[[str], re.Match[str] | None] | None:
    """A glob pattern as a test; None: anything goes."""
    if pattern is None:
        return None
    from fnmatch import translate

    return re.compile(translate(pattern)).match
