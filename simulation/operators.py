"""What happens to the core that no client of a run asks for: a hand on the partitions themselves.

The operator moves log starts, raises leader epochs, lets the in-sync set grow beyond this node so
that high watermarks stand still and acks=-1 waits, and writes transactions and their markers.
Each act is one step of the world; `calm` ends what it left open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker_protocol.errors import ErrorCode
from simulation.producers import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.replica.partition import Partition
    from simulation.clients import Setting
    from simulation.ledger import TrueLog

FIRST_PRODUCER_ID = 1_000_000
"""Beyond what the broker gives to producers of a run."""
ABSENT_REPLICA = 99


@dataclass(slots=True, eq=False)
class Transaction:
    """An open transaction on one partition."""

    log: TrueLog
    producer_id: int
    offsets: list[int] = field(default_factory=list)


class Operator:
    """Acts every now and then, as far as the plan has it."""

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        self.world = setting.world
        self.ledger = setting.ledger
        self.plan = setting.plan
        self.name = name
        self.rng = rng
        self.stopped = False
        self.transactions: list[Transaction] = []
        self.stalled: list[TrueLog] = []
        self._own_id = setting.world.broker.broker_id
        self._made = 0
        self._turn = 0
        self._acts: list[Callable[[TrueLog], None]] = [
            act
            for kind, act in (
                ("delete_records", self.delete_records),
                ("leader_epochs", self.raise_leader_epoch),
                ("stall", self.stall_or_release),
                ("transactions", self.transact),
            )
            if self.plan.on[kind]
        ]

    def start(self) -> None:
        """Begin, if there is anything to do."""
        turn = self._turn
        if self._acts:
            mean_ms = self.plan.active_ms / 15
            delay_ms = self.rng.expovariate(1 / mean_ms) * self.plan.time_scale
            self.world.at(delay_ms, lambda: self._act(turn))

    def go_on(self) -> None:
        """Begin again after `calm`."""
        self.stopped = False
        self._turn += 1
        self.start()

    def calm(self) -> None:
        """Stop, end transactions, release what stands still."""
        self.stopped = True
        for transaction in self.transactions:
            self.end(transaction)
        self.transactions = []
        for log in self.stalled:
            self._set_in_sync(log, [self._own_id])
        self.stalled = []

    def _act(self, turn: int) -> None:
        if self.stopped or turn != self._turn:
            return
        live = [log for log in self.ledger.logs() if not log.deleted]
        if live:
            self.rng.choice(self._acts)(self.rng.choice(live))
        self.start()

    # -- acts ------------------------------------------------------------------------------

    def delete_records(self, log: TrueLog) -> None:
        """Move the log start up, anywhere to the high watermark."""
        self.ledger.catch_up(log)
        partition = log.partition
        if not partition.high_watermark or partition.log is None:
            return
        offset = self.rng.randint(partition.log.log_start_offset, partition.high_watermark)
        self.world.note(self.name, f"{log} starts at {offset}")
        self.world.operate(lambda: self._check(partition.delete_records_before(offset)))

    def raise_leader_epoch(self, log: TrueLog) -> None:
        """The partition is led anew, by the same node."""
        state = log.partition.state
        self._change(log, state.replicas, state.isr, 1)

    def stall_or_release(self, log: TrueLog) -> None:
        """Let the high watermark stand still, or move again."""
        if log in self.stalled:
            self.stalled.remove(log)
            self._set_in_sync(log, [self._own_id])
        else:
            self.stalled.append(log)
            self._set_in_sync(log, [self._own_id, ABSENT_REPLICA])

    def transact(self, log: TrueLog) -> None:
        """Append to the partition's transaction, or end it."""
        transaction = next((t for t in self.transactions if t.log is log), None)
        if transaction is not None and self.rng.random() < 0.5:
            self.transactions.remove(transaction)
            self.end(transaction)
            return
        if transaction is None:
            transaction = Transaction(log, FIRST_PRODUCER_ID + self._made)
            self.transactions.append(transaction)
        self._append(transaction)

    def end(self, transaction: Transaction) -> None:
        """Write the marker."""
        log = transaction.log
        if log.deleted:
            return
        commit = self.rng.random() < 0.5
        self.world.note(self.name, f"{log} {'commit' if commit else 'abort'}")
        if not commit:
            log.aborted.update(dict.fromkeys(transaction.offsets))
        log.open_transactions.pop(transaction.producer_id, None)
        partition = log.partition
        self.world.operate(
            lambda: self._check(
                partition.append_end_of_transaction(
                    transaction.producer_id, 0, 0, commit=commit
                ).error
            )
        )

    def _append(self, transaction: Transaction) -> None:
        log = transaction.log
        self._made += 1
        value = f"{self.name}:{self._made}".encode()
        self.ledger.sent[value] = log.topic, log.index
        sequence = len(transaction.offsets)
        data = batch_of(
            [value], self.world.now_ms, transaction.producer_id, sequence, transactional=True
        )
        self.world.note(self.name, f"{log} transactional append")

        def append() -> None:
            result = log.partition.append_batch(data, AppendOrigin.COORDINATOR)
            self._check(result.error)
            transaction.offsets.append(result.base_offset)
            log.open_transactions.setdefault(transaction.producer_id, result.base_offset)

        self.world.operate(append)

    # -- the metadata ----------------------------------------------------------------------

    def _set_in_sync(self, log: TrueLog, in_sync: list[int]) -> None:
        if not log.deleted:
            replicas = [self._own_id, ABSENT_REPLICA]
            self._change(log, replicas, in_sync, 0)

    def _change(self, log: TrueLog, replicas: list[int], in_sync: list[int], epochs: int) -> None:
        partition: Partition = log.partition
        state = PartitionState(self._own_id, replicas, in_sync, partition.leader_epoch + epochs)
        self.world.note(self.name, f"{log} epoch {state.leader_epoch}, in sync {in_sync}")
        change = LeaderChanged(log.topic, log.topic_id, log.index, state)
        self.world.operate(lambda: self.world.cluster.metadata.apply(change))

    def _check(self, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            self.world.violate(f"{self.name}: the core answers {error}")
