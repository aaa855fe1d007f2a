"""Records of a transactional id follow each other by rules; a step that breaks one is told."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.messages.transaction_records import PartitionsSchema, TransactionLogValue
from simulation.cluster.transaction_steps import wrong_step


def value(
    state: TransactionState, epoch: int = 3, parts: tuple[int, ...] = (), **fields: int
) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=fields.get("producer_id", 7),
        next_producer_id=fields.get("next_producer_id", -1),
        producer_epoch=epoch,
        transaction_status=state,
        transaction_partitions=[PartitionsSchema("t0", list(parts))] if parts else [],
        transaction_start_timestamp_ms=fields.get("began", 10 if parts else -1),
        transaction_last_update_timestamp_ms=fields.get("now", 10),
        client_transaction_version=fields.get("version", 2),
    )


EMPTY = value(TransactionState.EMPTY)
OPEN = value(TransactionState.ONGOING, 3, (0,))
PREPARED = value(TransactionState.PREPARE_COMMIT, 4, (0,))
ENDED = value(TransactionState.COMPLETE_COMMIT, 4)


@pytest.mark.parametrize(
    "records",
    [
        [value(TransactionState.EMPTY, 0)],
        [EMPTY, value(TransactionState.EMPTY, 4)],
        [EMPTY, value(TransactionState.EMPTY, 0, producer_id=8)],
        [EMPTY, OPEN, value(TransactionState.ONGOING, 3, (0, 1), now=12), PREPARED],
        [OPEN, value(TransactionState.PREPARE_ABORT, 3, (0,), version=0)],
        [OPEN, PREPARED, ENDED, value(TransactionState.ONGOING, 4, (1,))],
        [value(TransactionState.PREPARE_ABORT, 9, next_producer_id=8),
         value(TransactionState.COMPLETE_ABORT, 0, producer_id=8)],
        [OPEN, PREPARED, value(TransactionState.PREPARE_ABORT, 4, (0,))],
    ],
)  # fmt: skip
def test_these_follow(records: list[TransactionLogValue]) -> None:
    assert not wrong_step(records[:-1], records[-1])


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([EMPTY], "the first epoch is 3"),
        ([EMPTY, value(TransactionState.EMPTY, 5)], "epoch 5 of 7 after 3"),
        ([EMPTY, value(TransactionState.EMPTY, 4, began=10)], "EMPTY began at 10"),
        ([EMPTY, value(TransactionState.EMPTY, 4, (0,))], "EMPTY has partitions"),
        ([EMPTY, value(TransactionState.ONGOING, 3)], "ONGOING has no partitions"),
        ([EMPTY, value(TransactionState.ONGOING, 3, (0,), began=9)], "it began at 9"),
        ([OPEN, value(TransactionState.ONGOING, 3, (1,), now=12)], "without {('t0', 0)}"),
        ([OPEN, value(TransactionState.ONGOING, 3, (0, 1), began=12, now=12)], "began at 12"),
        ([OPEN, value(TransactionState.ONGOING, 4, (0, 1), now=12)], "epoch 4 of 7 after 3"),
        ([OPEN, value(TransactionState.PREPARE_COMMIT, 3, (0,))], "epoch 3 of 7 after 3"),
        ([OPEN, value(TransactionState.PREPARE_COMMIT, 4, (1,))], "other partitions"),
        ([PREPARED, value(TransactionState.PREPARE_COMMIT, 5, (0,))], "after PREPARE_COMMIT"),
        ([PREPARED, value(TransactionState.COMPLETE_COMMIT, 5)], "epoch 5 of 7 after 4"),
        ([EMPTY, ENDED], "COMPLETE_COMMIT after EMPTY"),
        ([PREPARED, OPEN], "it began at 10"),
    ],
)
def test_these_do_not(records: list[TransactionLogValue], told: str) -> None:
    assert told in wrong_step(records[:-1], records[-1])
