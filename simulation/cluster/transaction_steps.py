"""How one record of `__transaction_state` may follow another (Kafka: TransactionMetadata).

- At rest there are no partitions, and without a transaction no time at which it began.
- While one is open its partitions only grow; producer, epoch and its beginning stay.
- An end is of the same partitions. Under transactions V2, and where a coordinator fences, it has
  the next epoch (KIP-890); its completion has that, or epoch 0 of the next producer id.
- Each InitProducerId has the next epoch, or epoch 0 of another producer id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.states import AT_REST, PREPARED, TransactionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker_protocol.messages.transaction_records import TransactionLogValue

MAY_BE_VOID = 5
"""So many records one after the other may be such that their writers were told an error: what
follows follows then the one before them."""
V2 = 2


def wrong_step(before: Sequence[TransactionLogValue], now: TransactionLogValue) -> str:
    """Why a record may follow none of those before it; empty when it may."""
    found = _wrong_alone(now)
    if found or not before:
        return found or _wrong_first(now)
    reasons = [_wrong_after(each, now) for each in reversed(before[-MAY_BE_VOID:])]
    return "" if "" in reasons else reasons[0]


def partitions_of(value: TransactionLogValue) -> set[tuple[str, int]]:
    """The partitions of a transaction."""
    return {
        (topic.topic, index)
        for topic in value.transaction_partitions or ()
        for index in topic.partition_ids
    }


def _wrong_alone(now: TransactionLogValue) -> str:
    state, parts = TransactionState(now.transaction_status), partitions_of(now)
    began_ms = now.transaction_start_timestamp_ms
    if state in AT_REST and parts:
        return f"{state.name} has partitions {parts}"
    if state is TransactionState.EMPTY and began_ms != -1:
        return f"EMPTY began at {began_ms}"
    if state is TransactionState.ONGOING and not parts:
        return "ONGOING has no partitions"
    return ""


def _wrong_first(now: TransactionLogValue) -> str:
    return "" if now.producer_epoch == 0 else f"the first epoch is {now.producer_epoch}"


def _wrong_after(before: TransactionLogValue, now: TransactionLogValue) -> str:
    was = TransactionState(before.transaction_status)
    state = TransactionState(now.transaction_status)
    step = f"{state.name} after {was.name}"
    epochs = f"epoch {now.producer_epoch} of {now.producer_id} after {before.producer_epoch}"
    grew = now.producer_epoch - before.producer_epoch
    same = now.producer_id == before.producer_id
    if state is TransactionState.EMPTY:
        follows = was in AT_REST and (grew in (0, 1) if same else now.producer_epoch == 0)
        return "" if follows else f"{step}: {epochs}"
    if state is TransactionState.ONGOING:
        return _wrong_addition(before, now, step) or ("" if same and not grew else epochs)
    if state in PREPARED:
        bumps = now.client_transaction_version >= V2 or was in AT_REST
        if was in PREPARED or not same or grew not in ((1,) if bumps else (0, 1)):
            return f"{step}: {epochs}"
        kept = partitions_of(now) == partitions_of(before)
        return "" if kept else f"{step}: other partitions"
    exchanged = now.producer_id == before.next_producer_id and now.producer_epoch == 0
    follows = was in PREPARED and (exchanged if before.next_producer_id >= 0 else same and not grew)
    return "" if follows else f"{step}: {epochs}"


def _wrong_addition(before: TransactionLogValue, now: TransactionLogValue, step: str) -> str:
    was = TransactionState(before.transaction_status)
    began_ms = now.transaction_start_timestamp_ms
    if was is TransactionState.ONGOING:
        if began_ms != before.transaction_start_timestamp_ms:
            return f"{step}: it began at {began_ms}"
        lost = partitions_of(before) - partitions_of(now)
        return f"{step}: without {lost}" if lost else ""
    if was not in AT_REST or began_ms != now.transaction_last_update_timestamp_ms:
        return f"{step}: it began at {began_ms}"
    return ""
