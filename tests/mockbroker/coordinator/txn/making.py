"""Transactions in a given state, for tests of the decisions."""

from __future__ import annotations

from mockbroker.coordinator.txn.metadata import TransactionMetadata, Transition
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode

NOW_MS = 1_000
STATES = {
    "none": None,
    "Empty": TransactionState.EMPTY,
    "Ongoing": TransactionState.ONGOING,
    "PrepareCommit": TransactionState.PREPARE_COMMIT,
    "PrepareAbort": TransactionState.PREPARE_ABORT,
    "CompleteCommit": TransactionState.COMPLETE_COMMIT,
    "CompleteAbort": TransactionState.COMPLETE_ABORT,
}


def transaction(
    state: TransactionState = TransactionState.EMPTY,
    producer_id: int = 7,
    epoch: int = 5,
    *,
    last_epoch: int = -1,
    previous_producer_id: int = -1,
    version: int = 2,
    pending: TransactionState | None = None,
) -> TransactionMetadata:
    """The id "tx" with partition 0 of "t" in what is open or prepared."""
    made = TransactionMetadata("tx", producer_id)
    made.state = state
    made.producer_epoch = epoch
    made.last_producer_epoch = last_epoch
    made.previous_producer_id = previous_producer_id
    made.timeout_ms = 60_000
    made.client_transaction_version = version
    made.pending_state = pending
    if state in (
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
    ):
        made.partitions = {("t", 0): None}
        made.start_ms = NOW_MS - 10
    return made


class Ids:
    """Producer ids from 100 on."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self) -> int:
        self.given += 1
        return 99 + self.given


def outcome(decision: object) -> object:
    """A transition as (state, producer id, epoch), an error as its number."""
    if isinstance(decision, Transition):
        value = decision.value
        return STATE_OF[value.transaction_status], value.producer_id, value.producer_epoch
    if isinstance(decision, ErrorCode):
        return int(decision)
    return decision


STATE_OF = {int(state): name for name, state in STATES.items() if state is not None}
