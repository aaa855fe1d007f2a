"""The transactional ids of one partition of `__transaction_state`.

The decisions read a shard and change it by `write` alone: the record is appended, and applied once
it is replicated (TransactionStateManager.appendTransactionToLog). Until then the transition is
pending, and an error leaves everything as it was. `replay` rebuilds a shard from its log.

What a new leader loads may not be replicated yet, and be lost with it: `is_settled` says that it
is, and that the shard may decide and send markers. Kafka does not wait for that.

Invariant: `transactions` holds exactly the ids with a record that is no tombstone, and those whose
first record is pending.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mockbroker.coordinator.txn.metadata import NO_PRODUCER_EPOCH, TransactionMetadata
from mockbroker.coordinator.txn.records import transaction_record, transaction_tombstone
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.coordinator.txn.metadata import Transition

    OnError: TypeAlias = Callable[[ErrorCode], None]


class ShardLog(Protocol):
    """What a shard wants of its partition's log: `CoordinatorRuntime`."""

    def write(
        self,
        partition_index: int,
        records: list[CoordinatorRecord],
        done: OnError,
        /,
        *,
        timeout_ms: float,
        replay: bool,
    ) -> None:
        """Append, and say once when that and all before it is replicated, or why not."""


class ShardListener:
    """What the coordinator does when shards change; every method is called by the shard."""

    def on_settled(self, shard: TransactionShard) -> None:
        """Go on where the coordinator before this one stopped."""

    def on_unloaded(self, shard: TransactionShard) -> None:
        """Forget what was under way."""

    def on_changed(self, metadata: TransactionMetadata) -> None:
        """A record was applied: something may be due at some time."""


@dataclass(slots=True, eq=False)
class TransactionShard:
    """One partition's transactions by transactional id.

    Tombstones, and the log that is loaded, have `_timeout_ms` to be replicated.
    """

    partition_index: int
    _log: ShardLog
    _listener: ShardListener
    _timeout_ms: float
    transactions: dict[str, TransactionMetadata] = field(default_factory=dict)
    is_settled: bool = True

    # -- changes -----------------------------------------------------------------------------

    def write(self, current: TransactionMetadata, transition: Transition, done: OnError) -> None:
        """Append a state and apply it once it is replicated, then `done(error)`.

        That may take as long as the transaction may be open; then 15, and nothing has changed.
        """
        assert current.pending_state is None, current.pending_state
        value = transition.value
        transactional_id = current.transactional_id
        current.pending_state = TransactionState(value.transaction_status)
        self.transactions.setdefault(transactional_id, current)

        def written(error: ErrorCode) -> None:
            current.pending_state = None
            if error is ErrorCode.NONE:
                current.apply(value)
                current.last_producer_epoch = transition.last_producer_epoch
                self._listener.on_changed(current)
            elif current.producer_epoch == NO_PRODUCER_EPOCH:
                del self.transactions[transactional_id]
            done(error)

        self._log.write(
            self.partition_index,
            [transaction_record(transactional_id, value)],
            written,
            timeout_ms=value.transaction_timeout_ms,
            replay=False,
        )

    def write_tombstones(self, doomed: list[TransactionMetadata]) -> None:
        """Forget ids at rest; what cannot be written stays (writeTombstonesForExpired...)."""
        for metadata in doomed:
            assert metadata.pending_state is None, metadata.pending_state
            metadata.pending_state = TransactionState.DEAD

        def written(error: ErrorCode) -> None:
            for metadata in doomed:
                metadata.pending_state = None
                if error is ErrorCode.NONE:
                    del self.transactions[metadata.transactional_id]

        self._log.write(
            self.partition_index,
            [transaction_tombstone(metadata.transactional_id) for metadata in doomed],
            written,
            timeout_ms=self._timeout_ms,
            replay=False,
        )

    # -- loading -----------------------------------------------------------------------------

    def replay(self, _offset: int, _producer_id: int, record: CoordinatorRecord) -> None:
        """Take over a record of the log that is loaded."""
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

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Nothing here is part of a transaction."""

    def on_loaded(self) -> None:
        """Every record of the partition was replayed; it counts once that is replicated."""
        self.is_settled = False
        self._settle()

    def _settle(self) -> None:
        self._log.write(
            self.partition_index, [], self._settled, timeout_ms=self._timeout_ms, replay=False
        )

    def _settled(self, error: ErrorCode) -> None:
        if error is ErrorCode.NOT_COORDINATOR:
            return
        if error is not ErrorCode.NONE:
            self._settle()
            return
        self.is_settled = True
        for metadata in self.transactions.values():
            self._listener.on_changed(metadata)
        self._listener.on_settled(self)

    def on_unloaded(self, _error: ErrorCode) -> None:
        """Another node owns the partition from now on."""
        self._listener.on_unloaded(self)
