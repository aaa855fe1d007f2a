"""A rule in force: what a request must be to meet it, how often one did, what it holds back.

`FaultSet` makes and asks it. What a rule looks at is a list of checks, one for each field that it
gives, the cheap ones first; the same checks say why a request does not meet the rule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mockbroker.faults.fault import Fault
    from mockbroker.faults.request_view import Asking, NameOf, RequestView
    from mockbroker_protocol.subjects import TopicRef

    Glob = Callable[[str], re.Match[str] | None]
    Fits = Callable[[Asking, RequestView], bool]
    Tells = Callable[[Asking, RequestView], str]


MAX_KNOWN_TOPICS: Final = 10_000
"""Names of which a rule remembers whether it is about them."""
BETWEEN_BROKERS: Final = frozenset({"REPLICATION"})
"""Listeners that only brokers use: a rule meets what they say if it names the listener."""


class RuleMark(NamedTuple):
    """A rule at one moment, for `ArmedFault.back_to`."""

    armed: ArmedFault
    hits: int
    matched: int
    idle: int
    problem: str | None
    reported: bool
    times_ms: tuple[float, float, float | None]
    dice: tuple[Any, ...]
    spent: frozenset[str]


class ArmedFault:
    """A rule in force. `hits` counts how often it fired, `matched` how often it could have.

    `idle` counts how often it fired and found nothing to act on, which is no hit; `problem` is the
    last error of its `when`, which then does not hold. `family` are the rules that one preset made,
    itself among them.
    """

    __slots__ = (
        "_checks",
        "_client",
        "_known_topics",
        "_listener",
        "_name_of",
        "_principal",
        "_topic",
        "_when",
        "api_keys",
        "armed_ms",
        "cursor",
        "ends_ms",
        "family",
        "fault",
        "hits",
        "id",
        "idle",
        "matched",
        "problem",
        "reported",
        "rng",
        "spent",
        "starts_ms",
        "waiting",
    )

    def __init__(
        self, fault: Fault, fault_id: str, now_ms: float, rng: Random, name_of: NameOf
    ) -> None:
        self.fault = fault
        self.id = fault_id
        self.hits = 0
        self.matched = 0
        self.idle = 0
        self.problem: str | None = None
        self.reported = False
        """Whether a test was told that it never fired."""
        self.family = [self]
        self.rng = rng
        self.armed_ms = now_ms
        self.cursor = 0
        """Where the journal stood when it was armed."""
        self.starts_ms = now_ms + fault.after_ms
        self.ends_ms = None if fault.for_ms is None else self.starts_ms + fault.for_ms
        self.waiting: list[Callable[[], None]] = []
        keys = fault.api_keys
        self.api_keys = None if keys is None else frozenset(keys)
        self._name_of = name_of
        self.spent: set[str] = set()
        """What names the tokens that it made expire."""
        self._client = _glob(fault.client)
        self._principal = _glob(fault.principal)
        self._listener = _glob(fault.listener)
        self._topic = _glob(fault.topic)
        self._known_topics: dict[str, bool] = {}
        self._when = _condition(fault.when)
        self._checks = list(self._made_checks())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.fault.to_dict()}, {self.hits} hits>"

    def mark(self) -> RuleMark:
        """Its counts, when it is in force, and its dice, as they are now."""
        return RuleMark(
            self,
            self.hits,
            self.matched,
            self.idle,
            self.problem,
            self.reported,
            (self.armed_ms, self.starts_ms, self.ends_ms),
            self.rng.getstate(),
            frozenset(self.spent),
        )

    def back_to(self, mark: RuleMark, passed_ms: float) -> None:
        """Have them as they were, as if the time that passed since had not."""
        self.hits, self.matched, self.idle = mark.hits, mark.matched, mark.idle
        self.problem, self.reported = mark.problem, mark.reported
        armed_ms, starts_ms, ends_ms = mark.times_ms
        self.armed_ms, self.starts_ms = armed_ms + passed_ms, starts_ms + passed_ms
        self.ends_ms = None if ends_ms is None else ends_ms + passed_ms
        self.rng.setstate(mark.dice)
        self.spent = set(mark.spent)

    @property
    def exhausted(self) -> bool:
        """Whether it can never fire again, by its count."""
        fault = self.fault
        if fault.count is not None and self.hits >= fault.count:
            return True
        return fault.nth is not None and self.matched >= fault.nth

    @property
    def is_silent(self) -> bool:
        """Whether it never fired though it had to, nor did another rule of its preset."""
        return not self.fault.maybe and not any(one.hits for one in self.family)

    def in_time(self, now_ms: float) -> bool:
        """Whether it is in force at this time."""
        return self.starts_ms <= now_ms and (self.ends_ms is None or now_ms < self.ends_ms)

    # -- what it is about ------------------------------------------------------------------

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

    def is_for_principal(self, principal: str) -> bool:
        """Whether a principal, "User:alice", is one that it is about."""
        return self._principal is None or self._principal(principal) is not None

    @property
    def is_between_brokers(self) -> bool:
        """Whether it may be about a connection of one broker to another."""
        named = self._listener
        return named is not None and any(named(each) is not None for each in BETWEEN_BROKERS)

    def matches(self, asking: Asking, view: RequestView) -> bool:
        """Whether a request is one that it is about; how often and in time is not looked at."""
        for fits, _ in self._checks:
            if not fits(asking, view):
                return False
        return self._when is None or self._holds(view)

    def mismatches(self, asking: Asking, view: RequestView, *, was_asked: bool) -> list[str]:
        """Why a request, which did not set it off, is not one that it is about.

        Its condition is not asked again (a test's function may count its calls): it said no if all
        else fits and the rule `was_asked` at the time.
        """
        found = [tells(asking, view) for fits, tells in self._checks if not fits(asking, view)]
        if not found and was_asked and self._when is not None:
            found.append("when says no" if self.problem is None else f"when: {self.problem}")
        return found

    def _made_checks(self) -> Iterator[tuple[Fits, Tells]]:
        fault, keys, versions = self.fault, self.api_keys, self.fault.versions
        if keys is not None:
            yield (lambda a, _: a.api_key in keys), (lambda _, view: f"api is {view.api}")
        if versions is not None:
            yield (
                (lambda a, _: versions[0] <= a.api_version <= versions[1]),
                (lambda a, _: f"version is {a.api_version}"),
            )
        yield (
            (
                lambda a, _: self.is_for_connection(
                    a.client_id, a.listener, a.broker_id, a.connection_id
                )
            ),
            (
                lambda a, _: (
                    f"it is client {a.client_id!r}, listener {a.listener}, broker"
                    f" {a.broker_id}, connection {a.connection_id}"
                )
            ),
        )
        if self._principal is not None:
            yield (
                (lambda a, _: self.is_for_principal(a.principal)),
                (lambda a, _: f"principal is {a.principal}"),
            )
        if fault.expire_token:
            yield (
                (lambda _, view: view.client_facts.shown_token is not None),
                (lambda _, __: "its client logged in without a token"),
            )
        group, transactional_id = _glob(fault.group), _glob(fault.transactional_id)
        if group is not None:
            yield (
                (lambda _, view: any(map(group, view.groups))),
                (lambda _, view: f"groups are {view.groups}"),
            )
        if transactional_id is not None:
            yield (
                (lambda _, view: any(map(transactional_id, view.transactional_ids))),
                (lambda _, view: f"transactional ids are {view.transactional_ids}"),
            )
        if self.is_partial:
            yield (
                (lambda _, view: view.meets(self)),
                (lambda _, view: f"topics are {_topics_text(view)}"),
            )
        if fault.revoke_acl is not None:
            yield (
                (lambda _, view: bool(view.client_facts.acls_to_lose(self, view))),
                (lambda _, __: "its principal has no such ACL"),
            )

    def _holds(self, view: RequestView) -> bool:
        """Whether the rule's condition holds; when that cannot be told it does not."""
        assert self._when is not None
        try:
            return bool(self._when(view))
        except Exception as error:  # noqa: BLE001 -- a test's own function: its test is told
            name = type(error).__name__
            self.problem = str(error) if name == "ExpressionError" else f"{name}: {error}"
            return False

    @property
    def is_partial(self) -> bool:
        """Whether it is about some topics or partitions of a request only."""
        return self._topic is not None or self.fault.partition is not None

    @property
    def asks_for_names(self) -> bool:
        """Whether it asks what groups, transactional ids or topics a request speaks of."""
        fault = self.fault
        return not (fault.group is fault.transactional_id is None is self._when)

    @property
    def partition(self) -> int | None:
        """The index of the partitions that it is about; None: all."""
        return self.fault.partition

    def selects_one(self, ref: TopicRef) -> bool:
        """Whether it is about something that this names."""
        if ref.partitions is None:
            return self.selects(ref, None)
        return any(self.selects(ref, index) for index in ref.partitions)

    def selects(self, ref: TopicRef, index: int | None) -> bool:
        """Whether it is about this topic, or this partition of it."""
        wanted = self.fault.partition
        if wanted is not None and index is not None and index != wanted:
            return False
        return self.selects_topic(ref.name, ref.topic_id) is True

    def selects_topic(self, name: str | None, topic_id: bytes | None) -> bool | None:
        """Whether it is about this topic, whatever the partition; None: nobody knows its name."""
        if self._topic is None:
            return True
        if not name and topic_id is not None:
            name = self._name_of(topic_id)
        if name is None:
            return None
        known = self._known_topics.get(name)
        if known is None:
            if len(self._known_topics) >= MAX_KNOWN_TOPICS:
                self._known_topics.clear()
            known = self._known_topics[name] = self._topic(name) is not None
        return known

    # -- what it does ----------------------------------------------------------------------

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
        self.idle += 1

    def release(self) -> int:
        """Let go what it holds back; how many requests that were."""
        waiting, self.waiting = self.waiting, []
        for go_on in waiting:
            go_on()
        return len(waiting)


def _condition(
    when: str | Callable[[RequestView], object] | None,
) -> Callable[[RequestView], object] | None:
    if not isinstance(when, str):
        return when
    from mockbroker.faults.expression import Expression

    return Expression(when)


def _glob(pattern: str | None) -> Glob | None:
    """A glob pattern as a test; None: anything goes."""
    if pattern is None:
        return None
    from fnmatch import translate

    return re.compile(translate(pattern)).match


def _topics_text(view: RequestView) -> str:
    """The topics of a request with their partitions, for people."""
    parts = []
    for ref in view.topic_refs:
        name = ref.name or (view.name_of(ref.topic_id) if ref.topic_id is not None else None)
        indexes = ref.partitions
        parts.append(f"{name}" if indexes is None else f"{name} {indexes}")
    return ", ".join(parts) or "none"
