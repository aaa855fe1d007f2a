"""What clients of transactions know: which values belong together, and how each transaction ended.

Every value names its incarnation of a producer and its transaction. A `Lineage` is all incarnations
of one transactional id: what the coordinator has acknowledged to any of them, and who is fenced by
that. A request that is sent when a newer epoch was acknowledged must not succeed any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coordinator.txn import metadata

if TYPE_CHECKING:
    from simulation.cluster.world import ClusterWorld

Part = tuple[str, int]


AGE = 1 << 16
"""More epochs than a producer id has."""
MOST_TRANSACTIONS = 10_000
"""More than any run has: nobody's epochs are used up, unless there are fewer."""


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction of one incarnation; `ended` is what was acknowledged, None unknown."""

    owner: str
    number: int
    began_ms: float
    values: dict[bytes, Part] = field(default_factory=dict)
    commit_tried: bool = False
    fenced: bool = False
    """Whether a newer epoch was acknowledged before its commit was tried."""
    ended: bool | None = None

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.owner}"


class Lineage:
    """One transactional id: who is its producer, as far as that was acknowledged."""

    def __init__(self, world: ClusterWorld, transactional_id: str) -> None:
        self._world = world
        self.transactional_id = transactional_id
        self.producer_id = -1
        self.told_epoch = -1
        self.epoch = -1
        """The newest that was acknowledged: its place among those of all producer ids."""
        self._bases: dict[int, int] = {-1: 0}
        """By producer id, in their order: the place of its epoch 0."""
        self.incarnations = 0
        self.bumps_epochs = False
        """Whether one of them speaks transactions V2."""
        self.unanswered = 0
        """Requests to coordinators that may still be carried out, or not."""
        self.transactions: list[Transaction] = []

    def place_of(self, producer_id: int, epoch: int) -> int:
        """How an epoch stands to those of the same producer id, and of those before it."""
        return self._bases[producer_id] + epoch

    def is_past(self, producer_id: int, epoch: int) -> bool:
        """Whether a newer epoch was acknowledged; of an id that nobody was told there is none."""
        if producer_id in self._bases:
            return self.place_of(producer_id, epoch) < self.epoch
        return metadata.MAX_PRODUCER_EPOCH > MOST_TRANSACTIONS

    def initialized(self, producer_id: int, epoch: int, sent_at: int, *, bumps: bool) -> int:
        """Someone is told who it is; the epoch in force when it asked was `sent_at`.

        Only a retry that names its epoch may be told one that was told before (`bumps` False).
        Returns the place of the epoch. Another producer id comes when the epochs are used up, of
        which the last is nobody's (TransactionMetadata.isEpochExhausted).
        """
        limit = metadata.MAX_PRODUCER_EPOCH
        if producer_id not in self._bases:
            if self.producer_id >= 0 and limit > MOST_TRANSACTIONS:
                self._world.violate(
                    f"{self.transactional_id} was {self.producer_id} and is {producer_id}"
                )
            self._bases[producer_id] = (len(self._bases) - 1) * AGE
        place = self.place_of(producer_id, epoch)
        if place < sent_at + int(bumps) or epoch >= limit:
            self._world.violate(
                f"{self.transactional_id} is told epoch {epoch} of {producer_id}, after {sent_at} "
                "was acknowledged"
            )
        if place >= self.epoch:
            self.epoch, self.producer_id, self.told_epoch = place, producer_id, epoch
        return place

    def fence(self) -> None:
        """A producer was let in: what was open before is over."""
        for transaction in self.transactions:
            if not transaction.commit_tried:
                transaction.fenced = True

    def check_current(self, what: str, epoch: int, sent_at: int) -> None:
        """Something succeeded that was asked for with `epoch` when `sent_at` was in force."""
        if epoch < sent_at:
            self._world.violate(f"{what} succeeds in epoch {epoch}, although {sent_at} is in force")


class TransactionLedger:
    """All lineages, and which transaction a value belongs to."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self.lineages: dict[str, Lineage] = {}
        self.of_value: dict[bytes, Transaction] = {}
        self.order: dict[bytes, int] = {}
        """By value: the how manyth that was sent."""

    def lineage(self, transactional_id: str) -> Lineage:
        """A new transactional id."""
        lineage = self.lineages[transactional_id] = Lineage(self._world, transactional_id)
        return lineage

    def begin(self, lineage: Lineage, owner: str) -> Transaction:
        """One of its incarnations begins a transaction."""
        number = 1 + sum(each.owner == owner for each in lineage.transactions)
        transaction = Transaction(owner, number, self._world.now_ms)
        lineage.transactions.append(transaction)
        return transaction

    def sends(self, transaction: Transaction, part: Part, values: list[bytes]) -> None:
        """These values go out as part of the transaction."""
        transaction.values.update(dict.fromkeys(values, part))
        for value in values:
            self.of_value[value] = transaction
            self.order.setdefault(value, len(self.order))

    def was_read(self, who: str, value: bytes) -> None:
        """A reader of committed records was given a value."""
        transaction = self.of_value.get(value)
        if transaction is None:
            return
        if not transaction.commit_tried:
            self._world.violate(f"{who} read {value!r}, and nobody commits {transaction}")
        elif transaction.ended is False:
            self._world.violate(f"{who} read {value!r}, and {transaction} was aborted")
