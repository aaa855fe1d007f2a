"""What a partition becomes when its in-sync set, replicas or possible leaders change.

`ReplicationControl` calls `changed` for each partition that an event touches (Kafka:
PartitionChangeBuilder). All is values in, a value out. With eligible leader replicas (KIP-966) an
in-sync set may become empty: who leaves it while it is below min.insync.replicas may still lead
later without loss.

Invariant of what comes out: a leader is in the in-sync set, and that is within the replicas.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from mockbroker.metadata.changes import PartitionState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NO_LEADER: Final = -1


class Election(Enum):
    """How far an election may go (Kafka: PartitionChangeBuilder.Election)."""

    PREFERRED = auto()
    """The first replica if it can lead, else as ONLINE."""
    ONLINE = auto()
    """Whoever leads goes on if it can; else another one that has everything."""
    UNCLEAN = auto()
    """As ONLINE; when nobody has everything, any live replica: records may be lost."""


def changed(
    state: PartitionState,
    may_lead: Callable[[int], bool],
    min_isr: int,
    *,
    election: Election = Election.ONLINE,
    isr: Sequence[int] | None = None,
    replicas: Sequence[int] | None = None,
    adding: Sequence[int] | None = None,
    removing: Sequence[int] | None = None,
) -> PartitionState | None:
    """The partition with these targets after an election; None when nothing changes.

    `may_lead(node)` says whether a broker may lead; `min_isr` is the topic's in force.
    """
    target = _Target(
        list(state.isr if isr is None else isr),
        list(state.replicas if replicas is None else replicas),
        list(state.adding if adding is None else adding),
        list(state.removing if removing is None else removing),
    )
    target.complete_reassignment()
    elr = _eligible(state, target, min_isr)
    leader, unclean = _elect(state, target, elr, may_lead, election)
    if leader != state.leader and leader in elr:
        target.isr = [leader]
        elr.remove(leader)
        if len(target.isr) >= min_isr:
            elr = []  # min.insync.replicas was lowered meanwhile: it commits without them
    elif unclean:
        target.isr = [leader]
        elr = []
    loses_replica = not set(state.replicas) <= set(target.replicas)
    last_known = state.last_known_leader
    if leader != NO_LEADER:
        last_known = NO_LEADER
    elif not target.isr and state.leader != NO_LEADER:
        last_known = state.leader
    made = PartitionState(
        leader,
        target.replicas,
        target.isr,
        state.leader_epoch + (leader != state.leader or loses_replica),
        state.partition_epoch + 1,
        adding=target.adding,
        removing=target.removing,
        elr=elr,
        last_known_leader=last_known,
    )
    return None if _same(state, made) else made


class _Target:
    """What the partition shall look like, before its leader is known."""

    __slots__ = ("adding", "isr", "removing", "replicas")

    def __init__(
        self, isr: list[int], replicas: list[int], adding: list[int], removing: list[int]
    ) -> None:
        self.isr = isr
        self.replicas = replicas
        self.adding = adding
        self.removing = removing

    def complete_reassignment(self) -> None:
        """Drop the replicas to remove once those to add are in sync.

        Kafka: PartitionReassignmentReplicas.maybeCompleteReassignment.
        """
        if not self.adding and not self.removing:
            return
        isr = [node for node in self.isr if node not in self.removing]
        replicas = [node for node in self.replicas if node not in self.removing]
        if not isr or not replicas or not set(self.adding) <= set(isr):
            return
        self.isr, self.replicas = isr, replicas
        self.adding, self.removing = [], []


def _eligible(state: PartitionState, target: _Target, min_isr: int) -> list[int]:
    """Kafka: maybePopulateTargetElr, without those that are no replicas any more."""
    if len(target.isr) >= min_isr:
        return []
    candidates = dict.fromkeys((*state.elr, *state.isr))
    return [node for node in candidates if node not in target.isr and node in target.replicas]


def _elect(
    state: PartitionState,
    target: _Target,
    elr: Sequence[int],
    may_lead: Callable[[int], bool],
    election: Election,
) -> tuple[int, bool]:
    """Who leads, and whether that may lose records (Kafka: electLeader)."""
    replicas = target.replicas

    def valid(node: int) -> bool:
        has_all = node in target.isr or (not target.isr and node in elr)
        return has_all and may_lead(node)

    if election is Election.PREFERRED and valid(replicas[0]):
        return replicas[0], False
    if state.leader in replicas and valid(state.leader):
        return state.leader, False
    for node in replicas:
        if valid(node):
            return node, False
    last_known = state.last_known_leader
    if not elr and not target.isr and last_known in replicas and may_lead(last_known):
        return last_known, True
    if election is Election.UNCLEAN:
        for node in replicas:
            if may_lead(node):
                return node, True
    return NO_LEADER, False


def _same(before: PartitionState, after: PartitionState) -> bool:
    return (
        before.leader == after.leader
        and before.leader_epoch == after.leader_epoch
        and before.last_known_leader == after.last_known_leader
        and list(before.replicas) == list(after.replicas)
        and list(before.isr) == list(after.isr)
        and list(before.elr) == list(after.elr)
        and list(before.adding) == list(after.adding)
        and list(before.removing) == list(after.removing)
    )
