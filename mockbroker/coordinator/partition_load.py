"""A coordinator's shard while it is built from its partition's log, at once or piece by piece.

`CoordinatorRuntime` makes one when this broker becomes the partition's leader. Kafka reads the log
by a thread of its own (CoordinatorLoaderImpl, TransactionStateManager.loadTransactions); here a
long log is read in pieces, between which other requests are served.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from mockbroker.coordinator.deferred_writes import DeferredWrite, DeferredWrites, ignore_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker_protocol.errors import ErrorCode


class EndOfTransaction(NamedTuple):
    """A marker in the log."""

    offset: int
    producer_id: int
    commit: bool


LoggedEntry: TypeAlias = "tuple[int, int, bytes | None, bytes | None] | EndOfTransaction"
"""(offset, producer id or -1, key, value), or a marker."""


class Shard(Protocol):
    """The state of one partition of the internal topic."""

    def replay(self, offset: int, producer_id: int, record: CoordinatorRecord) -> None:
        """Change the state as the record says."""

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The marker of a transaction stands in the log: what it has pending counts, or is gone."""

    def on_loaded(self) -> None:
        """Every record of the partition was replayed: arm what runs on time."""

    def on_unloaded(self, error: ErrorCode) -> None:
        """The partition is owned elsewhere from now on: answer what is parked with `error`."""


ShardT = TypeVar("ShardT", bound=Shard)


class PartitionLoad(Generic[ShardT]):
    """What was replayed so far, up to `next_offset`, for the next `replay` to begin at.

    With a `high_watermark`, None for a broker alone, what is not replicated yet is kept apart:
    `finish` gives it as writes that wait, and `committed`, if there is such a twin, has the rest.
    """

    __slots__ = (
        "_decode",
        "_high_watermark",
        "_unreplicated",
        "committed",
        "next_offset",
        "partition_index",
        "shard",
    )

    def __init__(
        self,
        partition_index: int,
        shard: ShardT,
        committed: ShardT | None,
        high_watermark: int | None,
        decode: Callable[[bytes | None, bytes | None], CoordinatorRecord | None],
    ) -> None:
        self.partition_index = partition_index
        self.shard = shard
        self.committed = committed
        self.next_offset = 0
        self._high_watermark = high_watermark
        self._decode = decode
        self._unreplicated = DeferredWrites()

    def replay(self, entries: Iterable[LoggedEntry]) -> int:
        """Replay what follows in the log; returns how many entries that were."""
        committed, high_watermark = self.committed, self._high_watermark
        count = 0
        for logged in entries:
            count += 1
            end_offset = self.next_offset = logged[0] + 1
            apply = self._replay_of(logged)
            if apply is None:
                continue
            apply(self.shard)
            if committed is None or high_watermark is None:
                continue
            if end_offset <= high_watermark:
                apply(committed)
            else:
                action = partial(apply, committed)
                self._unreplicated.add(DeferredWrite(end_offset, ignore_error, action))
        return count

    def _replay_of(self, logged: LoggedEntry) -> Callable[[ShardT], None] | None:
        """What an entry of the log does to a shard; None for a record that nobody knows."""
        if isinstance(logged, EndOfTransaction):
            return lambda shard: shard.end_transaction(logged.producer_id, commit=logged.commit)
        offset, producer_id, key, value = logged
        record = self._decode(key, value)
        if record is None:
            return None
        return lambda shard: shard.replay(offset, producer_id, record)

    def finish(self) -> DeferredWrites:
        """All of the log was replayed: what the in-sync replicas lack of it, in order."""
        if self._high_watermark is not None and self.next_offset > self._high_watermark:
            self._unreplicated.add(DeferredWrite(self.next_offset, ignore_error))
        return self._unreplicated
