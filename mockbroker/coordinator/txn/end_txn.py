"""EndTxn, in both protocol generations: the next state, or the error for the client.

TransactionCoordinator.endTransaction and endTransactionWithTV1; `service` calls these and writes.
An error NONE says that the transaction ended so before: nothing is left to do.

Transactions V1 (EndTxn up to v4): the epoch must be the current one (90).

| state          | commit | abort |
|----------------|--------|-------|
| pending        | 51     | 51    |
| Prepare…       | 51     | 51    |
| Ongoing        | ok     | ok    |
| CompleteCommit | NONE   | 48    |
| CompleteAbort  | 48     | NONE  |
| Empty          | 48     | 48    |

Transactions V2 (EndTxn v5, KIP-890): each end bumps the epoch, so the epoch tells a retry (one
less than the current) from the next call (the current); which of both is allowed where, else 90.
What is pending or prepared goes before all of that, since it may exchange the producer id:

| state          | commit, retry | commit | abort, retry | abort          |
|----------------|---------------|--------|--------------|----------------|
| pending        | 51            | 51     | 51           | 51             |
| Prepare…       | 51            | 51     | 51           | 51             |
| Ongoing        | 90            | ok     | 90           | ok             |
| CompleteCommit | NONE          | 48     | 48           | ok, epoch bump |
| CompleteAbort  | 48            | 48     | NONE         | ok, epoch bump |
| Empty          | 90            | 48     | 90           | ok, epoch bump |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.txn.metadata import (
    MAX_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTION_VERSION_0,
    TRANSACTION_VERSION_2,
    prepare_end,
)
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.txn.metadata import TransactionMetadata, Transition

_LAST_CLIENT_EPOCH = MAX_PRODUCER_EPOCH - 1

# The answer to a repeated EndTxn once the transaction is decided: (state, commit) → error.
_SETTLED: Final[dict[tuple[TransactionState, bool], ErrorCode]] = {
    (TransactionState.COMPLETE_COMMIT, True): ErrorCode.NONE,
    (TransactionState.COMPLETE_ABORT, False): ErrorCode.NONE,
}


def decide_end_v1(
    current: TransactionMetadata, producer_id: int, producer_epoch: int, commit: bool, now_ms: int
) -> Transition | ErrorCode:
    """EndTxn up to v4."""
    if current.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if current.producer_epoch != producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if current.is_in_transition:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if current.state is not TransactionState.ONGOING:
        return _SETTLED.get((current.state, commit), ErrorCode.INVALID_TXN_STATE)
    return prepare_end(current, commit, TRANSACTION_VERSION_0, NO_PRODUCER_ID, now_ms)


def decide_end_v2(
    current: TransactionMetadata,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    generate_producer_id: Callable[[], int],
    now_ms: int,
) -> Transition | ErrorCode:
    """EndTxn from v5 on."""
    if current.is_in_transition:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    # The epochs of the last producer id were used up by the call that is repeated.
    retries_overflow = (
        current.previous_producer_id == producer_id
        and producer_epoch == _LAST_CLIENT_EPOCH
        and current.producer_epoch == 0
    )
    retries_bump = current.producer_epoch == producer_epoch + 1
    if current.producer_id != producer_id and not retries_overflow:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if not _is_valid_epoch(current, producer_epoch, retries_bump, retries_overflow):
        return ErrorCode.PRODUCER_FENCED
    state = current.state
    if state is TransactionState.ONGOING:
        return _prepare_v2(current, commit, generate_producer_id, now_ms)
    if retries_bump or retries_overflow:
        return _SETTLED.get((state, commit), ErrorCode.INVALID_TXN_STATE)
    if commit:
        return ErrorCode.INVALID_TXN_STATE
    # A producer that is in doubt aborts, so as to leave with an epoch that nobody has used.
    return _prepare_v2(current, commit, generate_producer_id, now_ms)


def decide_fence(
    current: TransactionMetadata, generate_producer_id: Callable[[], int], now_ms: int
) -> Transition:
    """Abort what is open, under an epoch that its producer does not have.

    TransactionCoordinator.endTransaction with isFromClient = false: the coordinator's own version
    of transactions counts, whatever the producer speaks.
    """
    assert current.state is TransactionState.ONGOING, current.state
    assert not current.is_in_transition
    return _prepare_v2(current, False, generate_producer_id, now_ms)


def _is_valid_epoch(
    current: TransactionMetadata, producer_epoch: int, retries_bump: bool, retries_overflow: bool
) -> bool:
    state = current.state
    is_current = producer_epoch == current.producer_epoch
    if state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        return is_current or retries_bump or retries_overflow
    return is_current


def _prepare_v2(
    current: TransactionMetadata,
    commit: bool,
    generate_producer_id: Callable[[], int],
    now_ms: int,
) -> Transition:
    next_producer_id = generate_producer_id() if current.is_epoch_exhausted else NO_PRODUCER_ID
    return prepare_end(current, commit, TRANSACTION_VERSION_2, next_producer_id, now_ms)
