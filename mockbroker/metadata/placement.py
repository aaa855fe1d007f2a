"""Where the replicas of new partitions go, and whether a given placement is sound.

Called by the controller alone. A failure is returned as its text: the controller knows which error
code belongs to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from mockbroker.metadata.brokers import BrokerInfo


def place_replicas(
    brokers: Mapping[int, BrokerInfo], count: int, replication_factor: int, rng: Random
) -> list[list[int]] | str:
    """Replicas for `count` partitions, the preferred leader first; or why there are none.

    Leaders go round the racks and, in a rack, round its unfenced brokers, from a random start; the
    followers of a partition go to as many racks as there are (Kafka: StripedReplicaPlacer).
    """
    if all(broker.fenced for broker in brokers.values()):
        return "All brokers are currently fenced, or have all their log directories cordoned."
    if replication_factor > len(brokers):
        return (
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {len(brokers)} broker(s) are registered or some brokers have all their log "
            "directories cordoned."
        )
    if len(brokers) == 1:
        return [list(brokers)] * count
    racks = _Racks(brokers, rng)
    return [racks.place(replication_factor) for _ in range(count)]


class _Stripe:
    """Brokers that take turns: each partition begins with the one after the last one's first."""

    __slots__ = ("brokers", "offset", "turn", "used")

    def __init__(self, brokers: list[int], rng: Random) -> None:
        self.brokers = brokers
        self.offset = rng.randrange(len(brokers)) if brokers else 0
        self.turn = 0
        self.used = 0

    def next(self, turn: int) -> int | None:
        """The next broker for the partition of this turn; None when all are used."""
        size = len(self.brokers)
        if not size:
            return None
        if turn != self.turn:
            self.turn = turn
            self.used = 0
            self.offset = (self.offset + 1) % size
        if self.used >= size:
            return None
        self.used += 1
        return self.brokers[(self.used - 1 + self.offset) % size]


class _Racks:
    """The racks in turn, each with its live and its fenced brokers (Kafka: RackList)."""

    __slots__ = ("_alive", "_offset", "_racks", "_rng", "_turn")

    def __init__(self, brokers: Mapping[int, BrokerInfo], rng: Random) -> None:
        self._rng = rng
        self._turn = 0
        members: dict[str | None, tuple[list[int], list[int]]] = {}
        for node_id, broker in sorted(brokers.items()):
            members.setdefault(broker.rack, ([], []))[broker.fenced].append(node_id)
        self._alive = sum(len(alive) for alive, _ in members.values())
        self._racks = [
            (_Stripe(members[rack][0], rng), _Stripe(members[rack][1], rng))
            for rack in sorted(members, key=lambda rack: (rack is not None, rack or ""))
        ]
        self._offset = rng.randrange(len(self._racks))

    def place(self, replication_factor: int) -> list[int]:
        """The replicas of one more partition."""
        if self._turn == self._alive > 1:
            self._shuffle()
        racks = self._racks
        start = self._offset % len(racks)
        first = start
        leader = racks[first][0].next(self._turn)
        while leader is None:
            first = (first + 1) % len(racks)
            leader = racks[first][0].next(self._turn)
        placed = [leader]
        at = start
        leaders_rack: int | None = first
        while len(placed) < replication_factor:
            if at == leaders_rack:
                leaders_rack = None  # passed over once, for it has the leader
            else:
                alive, fenced = racks[at]
                node_id = alive.next(self._turn)
                if node_id is None:
                    node_id = fenced.next(self._turn)
                if node_id is not None:
                    placed.append(node_id)
            at = (at + 1) % len(racks)
        self._turn += 1
        self._offset = start + 1
        return placed

    def _shuffle(self) -> None:
        """As many partitions as live brokers were placed: do not repeat the same sets."""
        self._turn = 0
        self._rng.shuffle(self._racks)
        for alive, fenced in self._racks:
            self._rng.shuffle(alive.brokers)
            self._rng.shuffle(fenced.brokers)


def invalid_assignment(
    brokers: Mapping[int, BrokerInfo], replicas: Sequence[int], replication_factor: int | None
) -> str | None:
    """Why a manual assignment of one partition is refused; None when it is sound.

    Kafka: ReplicationControlManager.validateManualPartitionAssignment.
    """
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    previous = None
    for node_id in sorted(replicas):
        if node_id not in brokers:
            return (
                f"The manual partition assignment includes broker {node_id}, but no such broker "
                "is registered."
            )
        if node_id == previous:
            return f"The manual partition assignment includes the broker {node_id} more than once."
        previous = node_id
    if replication_factor is not None and len(replicas) != replication_factor:
        return (
            f"The manual partition assignment includes a partition with {len(replicas)} "
            "replica(s), but this is not consistent with previous partitions, which have "
            f"{replication_factor} replica(s)."
        )
    return None
