"""The admin of the cluster's simulation: it changes the metadata over the wire, and looks at them.

Topics are made, grow and go, configs, quotas, ACLs and features change; what must be refused is,
and what is only validated changes nothing.
Any broker is asked. What it acknowledges must have come to be, and what it tells of the metadata
must be some state that they were in, none older than what it told before (`MetadataHistory`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_CLIENT_METRICS, RESOURCE_GROUP
from mockbroker.metadata.store import RESOURCE_TOPIC as TOPIC
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster import admin_changes as changes
from simulation.cluster.admin_looks import LOOKS
from simulation.cluster.clients import ClusterClient
from simulation.cluster.metadata_history import ACLS, value_in

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.admin_changes import Change
    from simulation.cluster.metadata_history import MetadataHistory, Subject
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

PAUSE_MS = 60.0
NAMES = ("a.0", "a1", "a2")
COLLIDING = "a_0"
UNREACHABLE = frozenset((ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER))
UNPLACED = frozenset((ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.INVALID_REPLICA_ASSIGNMENT))
"""What is answered while too few brokers are up."""
FINISHING_LOOKS = 4
VALIDATED = 0.15
"""Of the changes that can be tried."""


def error_of(answer: object) -> int:
    """The error of the first thing that was asked for."""
    for name in ("topics", "responses", "results", "entries", "filter_results"):
        entries = getattr(answer, name, None)
        if entries:
            return int(entries[0].error_code)
    return int(getattr(answer, "error_code", 0))


class ClusterAdmin(ClusterClient):
    """The only one who changes what it changes."""

    def __init__(
        self,
        world: ClusterWorld,
        name: str,
        rng: Random,
        truth: Truth,
        plan: ClusterPlan,
        history: MetadataHistory,
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.history = history
        self.made = self.refused = self.looks = 0
        self._store = world.cluster.metadata
        self._doubtful: set[Subject] = set()
        """What a request without an answer was about: it may still be carried out."""
        self._finishing = 0

    def finish(self) -> None:
        """Make a change, then look at every broker."""
        self._finishing = FINISHING_LOOKS
        if not self.busy:
            self.proceed()

    def has_work(self) -> bool:
        return self._finishing > 0

    def begin(self) -> None:
        node, roll = self.any_node(), self.rng.random()
        if self._finishing and not self.stopped:
            roll = 1.0
        if roll < 0.5:
            change = self._next_change()
            if hasattr(change.request, "validate_only") and self.rng.random() < VALIDATED:
                self._validate(node, change)
            else:
                self._change(node, change, changes_state=True)
        elif roll < 0.7:
            self._change(node, self.rng.choice(changes.REFUSALS), changes_state=False)
        else:
            look = self.rng.choice(LOOKS)
            look(self, node)

    # -- changes ---------------------------------------------------------------------------

    def _next_change(self) -> Change:
        rng = self.rng
        roll = rng.random()
        if roll < 0.45:
            return self._topic_change()
        self.made += 1
        if roll < 0.65:
            kind = rng.choice((TOPIC, RESOURCE_GROUP, RESOURCE_CLIENT_METRICS, RESOURCE_BROKER))
            known = [name for name in NAMES if name in self._store.topics]
            if kind == TOPIC and known:
                return changes.alter_configs(rng, kind, rng.choice(known), numbered=self.made)
            kind = RESOURCE_GROUP if kind == TOPIC else kind
            name = "" if kind == RESOURCE_BROKER else "of-nobody"
            return changes.alter_configs(rng, kind, name, numbered=self.made)
        if roll < 0.8:
            return changes.alter_quota(rng, numbered=self.made)
        if roll < 0.9:
            name = rng.choice(changes.GUARDED)
            there = any(acl.resource_name == name for acl in self._store.acls)
            return changes.delete_acls(rng, name) if there else changes.create_acl(name)
        return changes.update_feature(rng, self._store.features)

    def _topic_change(self) -> Change:
        rng, nodes = self.rng, sorted(self._store.brokers)
        name = rng.choice(NAMES)
        known = self._store.topics.get(name)
        if known is None:
            return changes.create_topic(rng, name, nodes)
        if name == NAMES[0] and rng.random() < 0.2:
            colliding = changes.create_topic(rng, COLLIDING, nodes)
            return colliding._replace(subject=None, error=ErrorCode.INVALID_TOPIC_EXCEPTION)
        count = len(known.partitions)
        if count < 5 and rng.random() < 0.6:
            return changes.grow_topic(
                rng, name, count + 1, len(known.partitions[0].replicas), nodes
            )
        return changes.delete_topic(rng, name, known.id)

    def _change(self, node: int, change: Change, *, changes_state: bool) -> None:
        subject = change.subject
        since = 0 if subject is None else self.history.position(subject)
        excused = subject in self._doubtful

        def answered(answer: object | None) -> None:
            error = -1 if answer is None else error_of(answer)
            self.note(f"{change.what} at {node}: {error}")
            if answer is None:
                if subject is not None:
                    self._doubtful.add(subject)
            elif error in UNREACHABLE or (changes_state and error in UNPLACED):
                pass
            elif error != change.error and not excused:
                self.world.violate(
                    f"{self.name}: {change.what} answers {error}, not {change.error}"
                )
            elif error == ErrorCode.NONE and subject is not None:
                self._check_made(node, change, since)
            else:
                self.refused += 1
            self.later(self.rng.random() * PAUSE_MS)

        self.ask(node, change.request, change.version, object, answered)

    def _validate(self, node: int, change: Change) -> None:
        """Ask whether it could be made; nobody else makes it."""
        subject = change.subject
        since = -1 if subject is None else self.history.position(subject)
        change.request.validate_only = True  # type: ignore[attr-defined]
        excused = subject in self._doubtful

        def answered(answer: object | None) -> None:
            error = -1 if answer is None else error_of(answer)
            self.note(f"{change.what} at {node}, if it could be made: {error}")
            if answer is None or error in UNREACHABLE or error in UNPLACED or excused:
                pass
            elif error != change.error:
                self.world.violate(f"{self.name}: {change.what} is said to answer {error}")
            if subject is not None and not excused and self.history.position(subject) != since:
                self.world.violate(f"{self.name}: {change.what} was to be validated, and was made")
            self.later(self.rng.random() * PAUSE_MS)

        self.ask(node, change.request, change.version, object, answered)

    def _check_made(self, node: int, change: Change, since: int) -> None:
        """It was acknowledged: it must have come to be. Who was asked may hear of it later."""
        assert change.subject is not None
        values = self.history.values(change.subject)[since:]
        if not any(_is_made(change, value) for value in values):
            self.world.violate(f"{self.name}: {change.what} was acknowledged; since then {values}")
        broker = self.world.cluster.broker(node)
        if broker is not None:
            told = value_in(broker.services.metadata, change.subject)
            self.tell(node, change.subject, told, self.history.since(node, change.subject))

    # -- looks -----------------------------------------------------------------------------

    def tell(self, node: int, subject: Subject, value: object, since: int) -> None:
        """A broker told it."""
        wrong = self.history.tell(node, subject, value, since)
        if wrong is not None:
            self.world.violate(f"{self.name}: {wrong}")

    def looked(self, what: str, error: int) -> None:
        """A look is over."""
        self.note(f"{what}: {error}")
        self.looks += not error
        if not error and self.stopped:
            self._finishing = max(0, self._finishing - 1)
        self.later(self.rng.random() * PAUSE_MS)


def _is_made(change: Change, value: object) -> bool:
    """Whether a value has what was wanted."""
    wanted = change.wanted
    if change.subject == ACLS:
        assert isinstance(value, frozenset)
        assert isinstance(wanted, tuple)
        return any(acl.resource_name == wanted[0] for acl in value) is wanted[1]
    if isinstance(wanted, dict):
        configs = value[2] if isinstance(value, tuple) else value
        assert isinstance(configs, dict)
        return all(configs.get(key) == each for key, each in wanted.items())
    if isinstance(value, tuple):
        return bool(value[1] == wanted)
    return bool((value or 0) == wanted)
