"""The transactional ids of one partition of `__transaction_state`.

The decisions read a shard and change it by `write` alone: the record is appended, and `replay`
changes the state. The same `replay` rebuilds a shard from its log.

Invariant: `transactions` holds exactly the ids with a record that is no tombstone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.metadata import TransactionMetadata
from mockbroker.coordinator.txn.records import transaction_record
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.coordinator.txn.metadata import Transition


class ShardListener:
    """What the coordinator does when shards change; every method is called by the shard."""

    def on_loaded(self, shard: TransactionShard) -> None:
        """Go on where the coordinator before this one stopped."""

    def on_unloaded(self, shard: TransactionShard) -> None:
        """Forget what was under way."""

    def on_changed(self, metadata: TransactionMetadata) -> None:
        """A record was replayed: something may be due at some time."""


@dataclass(slots=True, eq=False)
class TransactionShard:
    """One partition's transactions by transactional id."""

    partition_index: int
    _write: Callable[[int, list[CoordinatorRecord], Callable[[ErrorCode], None]], None]
    _listener: ShardListener
    transactions: dict[str, TransactionMetadata] = field(default_factory=dict)

    def write(
        self, transactional_id: str, transition: Transition, done: Callable[[ErrorCode], None]
    ) -> None:
        """Append and replay a state, then `done(error)`; see `CoordinatorRuntime.write`."""

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                current = self.transactions[transactional_id]
                current.last_producer_epoch = transition.last_producer_epoch
            done(error)

        self._write(
            self.partition_index, [transaction_record(transactional_id, transition.value)], written
        )

    def write_records(
        self, records: list[CoordinatorRecord], done: Callable[[ErrorCode], None]
    ) -> None:
        """Append and replay `records`."""
        self._write(self.partition_index, records, done)

    def replay(self, _offset: int, _producer_id: int, record: CoordinatorRecord) -> None:
        """Change the state as the record says; the only place where durable state changes."""
        key, value = record.key, record.value
        assert isinstance(key, TransactionLogKey)
        transactional_id = key.transactional_id
        if value is None:
            self.transactions.pop(transactional_id, None)
            return
        assert isinstance(value, TransactionLogValue)
        current = self.transactions.get(transactional_id)
        if current is None:
            current = self.transactions[transactional_id] = TransactionMetadata(transactional_id)
        current.apply(value)
        self._listener.on_changed(current)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Nothing here is part of a transaction."""

    def on_loaded(self) -> None:
        """Every record of the partition was replayed."""
        self._listener.on_loaded(self)

    def on_unloaded(self, _error: ErrorCode) -> None:
        """Another node owns the partition from now on."""
        self._listener.on_unloaded(self)
