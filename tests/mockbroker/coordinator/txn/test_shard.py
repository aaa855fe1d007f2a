"""A shard follows its log, and what is replicated of it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.txn.metadata import (
    TransactionMetadata,
    Transition,
    add_partitions,
    increment_epoch,
    prepare_end,
)
from mockbroker.coordinator.txn.records import transaction_record, transaction_tombstone
from mockbroker.coordinator.txn.shard import ShardListener, TransactionShard
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode
from tests.mockbroker.coordinator.txn.making import NOW_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.records import CoordinatorRecord

REQUEST_TIMEOUT_MS = 30_000


class Listener(ShardListener):
    def __init__(self) -> None:
        self.told: list[object] = []

    def on_settled(self, shard: TransactionShard) -> None:
        self.told.append("settled")

    def on_unloaded(self, shard: TransactionShard) -> None:
        self.told.append("unloaded")

    def on_changed(self, metadata: TransactionMetadata) -> None:
        self.told.append(metadata.state)


class Bench:
    """A shard whose log is a list; `answer` says what became of the oldest write or wait."""

    def __init__(self) -> None:
        self.listener = Listener()
        self.log: list[CoordinatorRecord] = []
        self.waiting: list[Callable[[ErrorCode], None]] = []
        self.timeouts: list[float] = []
        self.errors: list[ErrorCode] = []
        self.shard = TransactionShard(3, self, self.listener, REQUEST_TIMEOUT_MS)

    def write(
        self,
        partition_index: int,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *,
        timeout_ms: float,
        replay: bool,
    ) -> None:
        assert partition_index == 3
        assert not replay
        self.log += records
        self.timeouts.append(timeout_ms)
        self.waiting.append(done)

    def answer(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self.waiting.pop(0)(error)

    def decide(self, transition: Transition, metadata: TransactionMetadata | None = None) -> None:
        current = metadata or self.shard.transactions["tx"]
        self.shard.write(current, transition, self.errors.append)

    def begin(self) -> TransactionMetadata:
        """The id with its first epoch."""
        metadata = TransactionMetadata("tx", 7)
        self.decide(first(metadata), metadata)
        self.answer()
        return metadata


def first(metadata: TransactionMetadata) -> Transition:
    decided = increment_epoch(metadata, 700, None, NOW_MS)
    assert isinstance(decided, Transition)
    return decided


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_state_is_applied_when_it_is_replicated(bench: Bench) -> None:
    metadata = TransactionMetadata("tx", 7)
    transition = first(metadata)
    bench.decide(transition, metadata)
    assert bench.log == [transaction_record("tx", transition.value)]
    assert bench.timeouts == [700]
    assert bench.errors == bench.listener.told == []
    assert metadata.producer_epoch == -1
    assert metadata.pending_state is TransactionState.EMPTY
    bench.answer()
    assert bench.errors == [0]
    assert not metadata.is_in_transition
    assert bench.shard.transactions == {"tx": metadata}
    assert (metadata.producer_epoch, metadata.last_producer_epoch) == (0, -1)
    bench.decide(add_partitions(metadata, [("t", 0)], 2, NOW_MS))
    assert metadata.partitions == {}
    bench.answer()
    assert metadata.partitions == {("t", 0): None}
    assert bench.listener.told == [TransactionState.EMPTY, TransactionState.ONGOING]


def test_the_epoch_before_is_remembered_with_the_new_one(bench: Bench) -> None:
    metadata = bench.begin()
    decided = increment_epoch(metadata, 700, 0, NOW_MS)
    assert isinstance(decided, Transition)
    bench.decide(decided)
    assert metadata.last_producer_epoch == -1
    bench.answer()
    assert (metadata.producer_epoch, metadata.last_producer_epoch) == (1, 0)


def test_what_was_not_replicated_in_time_has_not_happened(bench: Bench) -> None:
    metadata = bench.begin()
    bench.decide(add_partitions(metadata, [("t", 0)], 2, NOW_MS))
    bench.answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert bench.errors == [0, 15]
    assert (metadata.state, metadata.partitions) == (TransactionState.EMPTY, {})
    assert not metadata.is_in_transition
    assert bench.listener.told == [TransactionState.EMPTY]
    bench.decide(add_partitions(metadata, [("t", 0)], 2, NOW_MS))
    bench.answer()
    assert metadata.state is TransactionState.ONGOING


def test_a_first_state_that_was_not_replicated_leaves_nothing(bench: Bench) -> None:
    metadata = TransactionMetadata("tx", 7)
    bench.decide(first(metadata), metadata)
    assert bench.shard.transactions == {"tx": metadata}
    bench.answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert bench.shard.transactions == {}


def test_one_transition_is_pending_at_a_time(bench: Bench) -> None:
    metadata = bench.begin()
    bench.decide(add_partitions(metadata, [("t", 0)], 2, NOW_MS))
    with pytest.raises(AssertionError):
        bench.decide(add_partitions(metadata, [("t", 1)], 2, NOW_MS))


def test_a_tombstone_forgets_the_id_when_it_is_replicated(bench: Bench) -> None:
    metadata = bench.begin()
    bench.shard.write_tombstones([metadata])
    assert bench.log[-1] == transaction_tombstone("tx")
    assert bench.timeouts[-1] == REQUEST_TIMEOUT_MS
    assert metadata.is_in_transition
    assert not metadata.may_be_forgotten
    assert list(bench.shard.transactions) == ["tx"]
    bench.answer()
    assert bench.shard.transactions == {}


def test_a_tombstone_that_was_not_replicated_leaves_the_id(bench: Bench) -> None:
    metadata = bench.begin()
    bench.shard.write_tombstones([metadata])
    bench.answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert bench.shard.transactions == {"tx": metadata}
    assert metadata.may_be_forgotten


# -- loading ---------------------------------------------------------------------------------


def loaded(bench: Bench) -> Bench:
    """Another shard with the log of this one, not replicated yet."""
    other = Bench()
    for offset, record in enumerate(bench.log, 20):
        other.shard.replay(offset, -1, record)
    other.shard.end_transaction(7, commit=True)
    other.shard.on_loaded()
    return other


def settled(bench: Bench) -> bool:
    return bench.shard.is_settled


def test_a_log_rebuilds_the_shard(bench: Bench) -> None:
    metadata = bench.begin()
    bench.decide(add_partitions(metadata, [("t", 0)], 2, NOW_MS))
    bench.answer()
    bench.decide(prepare_end(metadata, True, 2, -1, NOW_MS))
    bench.answer()
    rebuilt = loaded(bench).shard.transactions["tx"]
    assert (rebuilt.state, rebuilt.producer_epoch) == (metadata.state, 1)
    assert rebuilt.partitions == metadata.partitions
    assert metadata.last_producer_epoch == 0
    assert rebuilt.last_producer_epoch == -1


def test_a_tombstone_in_the_log_forgets_the_id(bench: Bench) -> None:
    metadata = bench.begin()
    bench.shard.write_tombstones([metadata])
    assert loaded(bench).shard.transactions == {}


def test_what_was_loaded_counts_once_it_is_replicated(bench: Bench) -> None:
    metadata = bench.begin()
    bench.decide(add_partitions(metadata, [("t", 0)], 2, NOW_MS))
    other = loaded(bench)
    assert not settled(other)
    assert (other.log, other.timeouts) == ([], [REQUEST_TIMEOUT_MS])
    assert other.listener.told == []
    other.answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert not settled(other)
    assert len(other.timeouts) == 2
    other.answer()
    assert settled(other)
    assert other.listener.told == [TransactionState.ONGOING, "settled"]
    assert other.waiting == []


def test_a_shard_that_went_away_does_not_settle(bench: Bench) -> None:
    bench.begin()
    other = loaded(bench)
    other.answer(ErrorCode.NOT_COORDINATOR)
    other.shard.on_unloaded(ErrorCode.NOT_COORDINATOR)
    assert not settled(other)
    assert other.waiting == []
    assert other.listener.told == ["unloaded"]
