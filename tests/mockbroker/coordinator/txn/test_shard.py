"""A shard follows its log, and its log alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.metadata import Transition, add_partitions, increment_epoch
from mockbroker.coordinator.txn.records import transaction_record, transaction_tombstone
from mockbroker.coordinator.txn.shard import ShardListener, TransactionShard
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode
from tests.mockbroker.coordinator.txn.making import NOW_MS, transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.coordinator.txn.metadata import TransactionMetadata


class Listener(ShardListener):
    def __init__(self) -> None:
        self.told: list[object] = []

    def on_loaded(self, shard: TransactionShard) -> None:
        self.told.append("loaded")

    def on_unloaded(self, shard: TransactionShard) -> None:
        self.told.append("unloaded")

    def on_changed(self, metadata: TransactionMetadata) -> None:
        self.told.append(metadata.state)


class Bench:
    """A shard whose log is a list; `error` makes appends fail."""

    def __init__(self) -> None:
        self.listener = Listener()
        self.error = ErrorCode.NONE
        self.log: list[CoordinatorRecord] = []
        self.shard = TransactionShard(3, self.write, self.listener)

    def write(
        self,
        partition_index: int,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> None:
        assert partition_index == 3
        if self.error is ErrorCode.NONE:
            self.log += records
            for record in records:
                self.shard.replay(0, -1, record)
        done(self.error)


def first() -> Transition:
    decided = increment_epoch(transaction(epoch=4), 700, 4, NOW_MS)
    assert isinstance(decided, Transition)
    return decided


def test_a_written_state_is_replayed_and_told() -> None:
    bench = Bench()
    errors: list[ErrorCode] = []
    bench.shard.write("tx", first(), errors.append)
    assert errors == [0]
    current = bench.shard.transactions["tx"]
    assert (current.producer_epoch, current.last_producer_epoch) == (5, 4)
    assert bench.log == [transaction_record("tx", first().value)]
    bench.shard.write("tx", add_partitions(current, [("t", 0)], 2, NOW_MS), errors.append)
    assert bench.shard.transactions["tx"] is current
    assert bench.listener.told == [TransactionState.EMPTY, TransactionState.ONGOING]


def test_a_failed_append_changes_nothing() -> None:
    bench = Bench()
    bench.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    errors: list[ErrorCode] = []
    bench.shard.write("tx", first(), errors.append)
    assert errors == [15]
    assert bench.shard.transactions == {}


def test_a_tombstone_forgets_the_id() -> None:
    bench = Bench()
    bench.shard.write("tx", first(), lambda _error: None)
    bench.shard.write_records([transaction_tombstone("tx")], lambda _error: None)
    assert bench.shard.transactions == {}


def test_the_same_replay_rebuilds_a_shard() -> None:
    bench, other = Bench(), Bench()
    bench.shard.write("tx", first(), lambda _error: None)
    for record in bench.log:
        other.shard.replay(0, -1, record)
    other.shard.end_transaction(7, commit=True)
    other.shard.on_loaded()
    rebuilt, original = other.shard.transactions["tx"], bench.shard.transactions["tx"]
    assert rebuilt.producer_epoch == original.producer_epoch
    assert rebuilt.last_producer_epoch == -1
    other.shard.on_unloaded(ErrorCode.NOT_COORDINATOR)
    assert other.listener.told[1:] == ["loaded", "unloaded"]
