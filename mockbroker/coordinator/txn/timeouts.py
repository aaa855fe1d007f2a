"""What goes by itself: transactions that are open for too long, ids that nobody uses any more.

Open longer than its producer's time-out, a transaction is fenced and aborted; looked for every
`transaction.abort.timed.out.transaction.cleanup.interval.ms` while one is open. At rest for
`transactional.id.expiration.ms`, an id is forgotten; looked for every
`transaction.remove.expired.transaction.cleanup.interval.ms` while there are ids. Both checks fall
on multiples of their interval since the start, as Kafka's scheduler has them.

Invariant: a check is scheduled exactly while something may come due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.states import TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.coordinator.txn.shard import TransactionShard

_ABORT_INTERVAL = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
_REMOVE_INTERVAL = "transaction.remove.expired.transaction.cleanup.interval.ms"
_EXPIRATION = "transactional.id.expiration.ms"


@dataclass(slots=True, eq=False)
class Timeouts:
    """The two recurring checks of one coordinator.

    `shards()` are those in use; `fence(shard, metadata)` aborts an open transaction.
    """

    _clock: Clock
    _timer: Timer
    _config: BrokerConfig
    _shards: Callable[[], list[TransactionShard]]
    _fence: Callable[[TransactionShard, TransactionMetadata], None]
    _abort: TimerTask | None = None
    _expire: TimerTask | None = None

    def watch(self, metadata: TransactionMetadata) -> None:
        """It changed: check again when it may be due."""
        if self._abort is None and metadata.state is TransactionState.ONGOING:
            self._abort = self._schedule(_ABORT_INTERVAL, self._abort_overdue)
        if self._expire is None:
            self._expire = self._schedule(_REMOVE_INTERVAL, self._remove_expired)

    def _watch_all(self) -> None:
        for shard in self._shards():
            for metadata in shard.transactions.values():
                self.watch(metadata)

    def _schedule(self, interval_name: str, action: Callable[[], None]) -> TimerTask:
        interval_ms = self._config.int(interval_name)
        deadline_ms = (self._clock.now_ms // interval_ms + 1) * interval_ms
        return self._timer.schedule(deadline_ms, action)

    def _abort_overdue(self) -> None:
        """TransactionCoordinator.abortTimedOutTransactions."""
        self._abort = None
        now_ms = self._clock.wall_ms()
        for shard in self._shards():
            if not shard.is_settled:
                continue
            for metadata in list(shard.transactions.values()):
                if (
                    metadata.state is TransactionState.ONGOING
                    and metadata.pending_state is None
                    and metadata.start_ms + metadata.timeout_ms < now_ms
                ):
                    self._fence(shard, metadata)
        self._watch_all()

    def _remove_expired(self) -> None:
        """TransactionStateManager.removeExpiredTransactionalIds."""
        self._expire = None
        oldest_ms = self._clock.wall_ms() - self._config.int(_EXPIRATION)
        for shard in self._shards():
            expired = [
                metadata
                for metadata in shard.transactions.values()
                if metadata.may_be_forgotten and metadata.last_update_ms <= oldest_ms
            ]
            if expired:
                shard.write_tombstones(expired)
        self._watch_all()
