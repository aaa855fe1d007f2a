"""Decisions of transaction coordinators, asked for beside a run and held against `Model`.

What is asked is about ids as the run has them, and as they may come to be: with another state,
with epochs that are used up, on their way to another state. Nothing of the run is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn import metadata
from mockbroker.coordinator.txn.end_txn import decide_end_v1, decide_end_v2, decide_fence
from mockbroker.coordinator.txn.init_producer import (
    Fence,
    ProducerIdAndEpoch,
    decide_init_producer,
)
from mockbroker.coordinator.txn.metadata import TransactionMetadata
from mockbroker.coordinator.txn.partitions import decide_add_partitions
from mockbroker.coordinator.txn.states import AT_REST, PREPARED, TransactionState
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits.transaction_model import FENCE, NONE, V2, Model, id_after, id_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.coordinator.txn.metadata import Transition
    from simulation.cluster.audits.transaction_model import Id, Outcome

NEW_ID = 1 << 41
OTHER_ID = 1 << 42
TIMEOUT_MS = 7_000
STATES = (
    TransactionState.EMPTY,
    TransactionState.ONGOING,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
)
PENDING_CHANCE = 0.1
CHANGED_CHANCE = 0.7
EXCHANGED_CHANCE = 0.3
"""How likely an id has just another producer id than before."""
PARTS = (("probed", 0), ("probed", 1), ("probed too", 0))


def new_id() -> int:
    """What the next producer id is."""
    return NEW_ID


def copy_of(known: TransactionMetadata) -> TransactionMetadata:
    """The same, to change on its own."""
    return TransactionMetadata(
        known.transactional_id,
        known.producer_id,
        known.previous_producer_id,
        known.next_producer_id,
        known.producer_epoch,
        known.last_producer_epoch,
        known.timeout_ms,
        known.state,
        dict(known.partitions),
        known.start_ms,
        known.last_update_ms,
        known.client_transaction_version,
        known.pending_state,
    )


def variant_of(
    known: TransactionMetadata, rng: Random, now_ms: int, state: TransactionState | None = None
) -> TransactionMetadata:
    """One that a run may come to, in that state, or in any; nothing of it is pending."""
    one = copy_of(known)
    one.pending_state = None
    one.state = state = rng.choice(STATES) if state is None else state
    last = metadata.MAX_PRODUCER_EPOCH
    epochs = {0, 1, last - 3, last - 2, last - 1, min(max(one.producer_epoch, 0), last - 1)}
    one.producer_epoch = rng.choice(sorted(epochs))
    one.last_producer_epoch = rng.choice((NONE, one.producer_epoch - 1))
    one.previous_producer_id = rng.choice((one.producer_id, OTHER_ID))
    if rng.random() < EXCHANGED_CHANCE:
        one.previous_producer_id, one.producer_epoch = OTHER_ID, 0
    one.next_producer_id = NONE
    one.client_transaction_version = rng.choice((0, V2))
    one.partitions = {}
    one.start_ms = NONE if state is TransactionState.EMPTY else now_ms - 5
    if state not in AT_REST:
        one.partitions = dict.fromkeys((*known.partitions, *PARTS[: rng.randint(1, 3)]))
    if state in PREPARED and rng.random() < 0.5:
        one.producer_epoch, one.client_transaction_version = last, V2
        one.next_producer_id = OTHER_ID
    return one


class DecisionProbes:
    """Asks; `look` tells what was decided otherwise than it should be."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.asked = 0

    def look(self, known: TransactionMetadata, now_ms: int) -> Iterator[str]:
        """Ask for one decision about an id."""
        rng = self._rng
        changed = rng.random() < CHANGED_CHANCE or known.producer_epoch < 0
        one = variant_of(known, rng, now_ms) if changed else copy_of(known)
        if rng.random() < PENDING_CHANCE:
            one.pending_state = TransactionState.ONGOING
        before = id_of(one)
        model = Model(metadata.MAX_PRODUCER_EPOCH, NEW_ID, now_ms)
        kind = rng.choice((self._init, self._add, self._end_v1, self._end_v2, self._own_end))
        what, decided, wanted = kind(one, before, model)
        self.asked += 1
        if decided != wanted:
            yield f"{what} makes {decided} of {before}, not {wanted}"
        elif id_of(one) != before:
            yield f"{what} changes {before} before it is written"

    def _producer(self, known: Id, model: Model) -> tuple[int, int]:
        """Who asks."""
        last = model.most_epochs - 1
        was_exchanged = known.epoch == 0 and known.previous_id != known.producer_id
        if was_exchanged and self._rng.random() < 0.5:
            return known.previous_id, last
        return self._rng.choice(
            (
                (known.producer_id, known.epoch),
                (known.producer_id, known.epoch),
                (known.producer_id, max(known.epoch - 1, 0)),
                (known.producer_id, max(known.epoch - 2, 0)),
                (known.producer_id, min(known.epoch + 1, last)),
                (known.previous_id, last),
                (known.previous_id, 0),
                (NEW_ID, known.epoch),
            )
        )

    def _init(
        self, one: TransactionMetadata, before: Id, model: Model
    ) -> tuple[str, Outcome, Outcome]:
        told = None if self._rng.random() < 0.3 else self._producer(before, model)
        decided = decide_init_producer(
            one,
            TIMEOUT_MS,
            None if told is None else ProducerIdAndEpoch(*told),
            new_id,
            model.now_ms,
        )
        outcome = FENCE if isinstance(decided, Fence) else outcome_of(decided)
        return f"InitProducerId of {told}", outcome, model.init(before, told, TIMEOUT_MS)

    def _add(
        self, one: TransactionMetadata, before: Id, model: Model
    ) -> tuple[str, Outcome, Outcome]:
        told, version = self._producer(before, model), self._rng.choice((0, V2))
        there = [*one.partitions]
        parts = self._rng.sample(there, min(len(there), 1)) + [
            part for part in PARTS if self._rng.random() < 0.5
        ]
        decided = decide_add_partitions(one, *told, parts, version, model.now_ms)
        wanted = model.add(before, told, parts, version)
        return f"AddPartitionsToTxn of {told} with {parts}", outcome_of(decided), wanted

    def _end_v1(
        self, one: TransactionMetadata, before: Id, model: Model
    ) -> tuple[str, Outcome, Outcome]:
        told, commit = self._producer(before, model), self._rng.random() < 0.5
        decided = decide_end_v1(one, *told, commit, model.now_ms)
        wanted = model.end_v1(before, told, commit=commit)
        return f"EndTxn v4 of {told}, {commit=}", outcome_of(decided), wanted

    def _end_v2(
        self, one: TransactionMetadata, before: Id, model: Model
    ) -> tuple[str, Outcome, Outcome]:
        told, commit = self._producer(before, model), self._rng.random() < 0.5
        decided = decide_end_v2(one, *told, commit, new_id, model.now_ms)
        wanted = model.end_v2(before, told, commit=commit)
        return f"EndTxn v5 of {told}, {commit=}", outcome_of(decided), wanted

    def _own_end(
        self, one: TransactionMetadata, before: Id, model: Model
    ) -> tuple[str, Outcome, Outcome]:
        """What the coordinator does by itself: it fences what is open, and ends what is decided."""
        if before.state is TransactionState.ONGOING and not before.is_pending:
            decided = decide_fence(one, new_id, model.now_ms)
            return "a fence", id_after(decided), model.fence(before)
        if before.state in PREPARED:
            decided = metadata.complete(one, model.now_ms)
            wanted = model.complete(before._replace(is_pending=False))
            return "a completion", id_after(decided), wanted
        return "nothing", before, before


def outcome_of(decided: Transition | ErrorCode) -> Outcome:
    """As the model tells it."""
    return decided if isinstance(decided, ErrorCode) else id_after(decided)
