"""InitProducerId with a transactional id: which producer id and epoch, or why none (KIP-98).

TransactionCoordinator.prepareInitProducerIdTransit; `service` calls it and writes the outcome.

| state     | producer given (KIP-360)     | outcome                                   |
|-----------|------------------------------|-------------------------------------------|
| no epoch  | any or none                  | epoch 0                                   |
| pending   | any or none                  | 51                                        |
| Prepare…  | any or none                  | 51                                        |
| any       | another producer id          | 90, unless it is the one before, used up  |
| Ongoing   | current or none              | the transaction is fenced; 51             |
| at rest   | none, or the current epoch   | next epoch, or next producer id           |
| at rest   | the epoch before             | the current epoch again                   |
| at rest   | any other epoch              | 90                                        |
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coordinator.txn.metadata import (
    NO_PRODUCER_EPOCH,
    increment_epoch,
    is_epoch_exhausted,
    rotate_producer_id,
)
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.txn.metadata import TransactionMetadata, Transition


class ProducerIdAndEpoch(NamedTuple):
    """What a producer that goes on after an error believes itself to be."""

    producer_id: int
    epoch: int


class Fence(Enum):
    """The transaction must be ended first."""

    FENCE = auto()


def decide_init_producer(
    current: TransactionMetadata,
    timeout_ms: int,
    expected: ProducerIdAndEpoch | None,
    generate_producer_id: Callable[[], int],
    now_ms: int,
) -> Transition | ErrorCode | Fence:
    """The next state, an error for the client, or that the open transaction must go first."""
    if current.is_in_transition:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if expected is not None and not _may_continue(current, expected):
        return ErrorCode.PRODUCER_FENCED
    if current.state is TransactionState.ONGOING:
        return Fence.FENCE
    if current.is_epoch_exhausted and (
        expected is None or expected.epoch == current.producer_epoch
    ):
        return rotate_producer_id(
            current,
            generate_producer_id(),
            timeout_ms,
            now_ms,
            remember_last_epoch=expected is not None,
        )
    if current.is_epoch_exhausted:
        return ErrorCode.PRODUCER_FENCED
    expected_epoch = None if expected is None else expected.epoch
    return increment_epoch(current, timeout_ms, expected_epoch, now_ms)


def _may_continue(current: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    return (
        current.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == current.producer_id
        or (
            expected.producer_id == current.previous_producer_id
            and is_epoch_exhausted(expected.epoch)
        )
    )
