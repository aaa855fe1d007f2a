"""States of a transaction and how one follows another (Kafka: TransactionState).

| state          | reached by                                                         |
|----------------|--------------------------------------------------------------------|
| Empty          | InitProducerId                                                     |
| Ongoing        | the first partition or group that is added                         |
| PrepareCommit  | EndTxn                                                             |
| PrepareAbort   | EndTxn, a newer producer, a time-out; in transactions V2 from rest |
| CompleteCommit | every partition has its marker                                     |
| CompleteAbort  | every partition has its marker                                     |

Kafka's Dead and PrepareEpochFence exist only while a write is under way there. Here a decision is
appended and replayed in one step, so they are known by number and name alone.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """The number is what a record of `__transaction_state` has."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


_EMPTY = TransactionState.EMPTY
_ONGOING = TransactionState.ONGOING
_COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
_COMPLETE_ABORT = TransactionState.COMPLETE_ABORT

STATE_NAMES: Final[dict[TransactionState, str]] = {
    TransactionState.EMPTY: "Empty",
    TransactionState.ONGOING: "Ongoing",
    TransactionState.PREPARE_COMMIT: "PrepareCommit",
    TransactionState.PREPARE_ABORT: "PrepareAbort",
    TransactionState.COMPLETE_COMMIT: "CompleteCommit",
    TransactionState.COMPLETE_ABORT: "CompleteAbort",
    TransactionState.DEAD: "Dead",
    TransactionState.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}

AT_REST: Final = frozenset({_EMPTY, _COMPLETE_COMMIT, _COMPLETE_ABORT})
"""No transaction is open: a new one may begin, and an idle id expires."""

PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
"""Decided, and not every partition has its marker."""

VALID_PREVIOUS_STATES: Final[dict[TransactionState, frozenset[TransactionState]]] = {
    _EMPTY: AT_REST,
    _ONGOING: AT_REST | {_ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({_ONGOING}),
    TransactionState.PREPARE_ABORT: AT_REST | {_ONGOING},
    _COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    _COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}
