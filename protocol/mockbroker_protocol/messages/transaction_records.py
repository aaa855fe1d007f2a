"""The record of __transaction_state: a transactional id and what its transaction is doing.

In the log a key is an int16 record type, 0, and the key's body; a value is an int16 version and
its body in that version (TransactionLog).
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated, Final

from mockbroker_protocol.schema import V, int8, int16, int32, int64, message, struct


@message(versions=(0, 0))
class TransactionLogKey:
    """A transactional id."""

    transactional_id: str = ""


@message(versions=(0, 1), flexible=1)
class TransactionLogValue:
    """The state of its transaction."""

    producer_id: int64 = 0
    producer_epoch: int16 = 0
    transaction_timeout_ms: int32 = 0
    transaction_status: int8 = 0
    transaction_partitions: Annotated[list[PartitionsSchema] | None, V(nullable=0)] = []
    transaction_last_update_timestamp_ms: int64 = 0
    transaction_start_timestamp_ms: int64 = 0
    previous_producer_id: Annotated[int64, V(tag=0, tagged=1)] = -1
    next_producer_id: Annotated[int64, V(tag=1, tagged=1)] = -1
    next_producer_epoch: Annotated[int16, V(tag=3, tagged=1)] = -1
    client_transaction_version: Annotated[int16, V(tag=2, tagged=1)] = 0


@struct
class PartitionsSchema:
    """Partitions of one topic in the transaction."""

    topic: str = ""
    partition_ids: list[int32] = []


RECORD_TYPES: Final[dict[int, tuple[type, type]]] = {
    0: (TransactionLogKey, TransactionLogValue),
}
"""Number at the head of a key → the classes of key and value."""
