"""Beside other brokers: what is written runs ahead, what is told follows the high watermark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.clock import Clock, Timer
from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.partition_load import EndOfTransaction
from mockbroker.coordinator.records import CoordinatorRecord, encode_record
from mockbroker.coordinator.runtime import CoordinatorRuntime, InternalTopic
from mockbroker.metadata.store import MetadataStore
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import TimerTask

TIMEOUT_MS = 5000
AT = 3  # the partition of "g"


def record(offset: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey("g", "t", 0), OffsetCommitValue(offset, 2, "m", 3), 4)


class Recorder:
    """A shard that remembers the offsets that it was given, and the ends of transactions."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def replay(self, offset: int, _producer_id: int, _record: CoordinatorRecord) -> None:
        self.told.append(offset)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        self.told.append((producer_id, commit))

    def on_loaded(self) -> None:
        self.told.append("loaded")

    def on_unloaded(self, error: ErrorCode) -> None:
        self.told.append(error)


class Bench:
    """A log that ends at `end_offset`, and is replicated up to `high_watermarks`."""

    def __init__(self, *, twins: bool = True) -> None:
        self.clock, self.timer = Clock(), Timer()
        self.end_offset = 0
        self.replicated = 0
        self.owned = True
        self.error = ErrorCode.NONE
        self.errors: list[tuple[str, ErrorCode]] = []
        self.runtime: CoordinatorRuntime[Recorder] = CoordinatorRuntime(
            InternalTopic("t", MetadataStore("c", BrokerConfig({})), 50),
            self.append,
            lambda _index: Recorder(),
            make_committed=(lambda _index, _live: Recorder()) if twins else None,
        )
        self.runtime.replication = self

    # -- what the runtime stands on ----------------------------------------------------------

    def append(
        self,
        _partition_index: int,
        records: list[tuple[bytes, bytes | None]],
        _producer_id: int = -1,
        _producer_epoch: int = -1,
    ) -> tuple[ErrorCode, int]:
        base_offset = self.end_offset
        if self.error is ErrorCode.NONE:
            self.end_offset += len(records)
        return self.error, base_offset

    def append_marker(
        self, partition_index: int, _marker: TransactionMarker
    ) -> tuple[ErrorCode, int]:
        return self.append(partition_index, [(b"", b"")])

    def owns(self, _partition_index: int) -> bool:
        return self.owned

    def high_watermark(self, _partition_index: int) -> int:
        return self.replicated

    def expire_write(self, expire: Callable[[], None], timeout_ms: float | None) -> TimerTask:
        wait_ms = TIMEOUT_MS if timeout_ms is None else timeout_ms
        return self.timer.schedule(self.clock.now_ms + wait_ms, expire)

    # -- what a test does --------------------------------------------------------------------

    def write(self, name: str, count: int = 1, timeout_ms: float | None = None) -> None:
        records = [record(at) for at in range(count)]
        self.runtime.write(AT, records, self.done(name), timeout_ms=timeout_ms)

    def end(self, name: str, *, commit: bool = True) -> None:
        marker = TransactionMarker(42, 0, 0, commit, 0)
        self.runtime.complete_transaction(AT, marker, self.append_marker, self.done(name))

    def done(self, name: str) -> Callable[[ErrorCode], None]:
        return lambda error: self.errors.append((name, error))

    def replicate(self, offset: int) -> None:
        self.replicated = offset
        self.runtime.high_watermark_updated(AT, offset)

    def advance(self, milliseconds: float) -> None:
        self.clock.now_ms += milliseconds
        self.timer.advance(self.clock.now_ms)

    @property
    def live(self) -> list[object]:
        shard = self.runtime.shard_for("g")
        assert shard is not None
        return shard.told

    @property
    def committed(self) -> list[object]:
        shard = self.runtime.committed_for("g")
        assert shard is not None
        return shard.told


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    assert bench.live == []
    return bench


def test_a_write_counts_once_it_is_replicated(bench: Bench) -> None:
    bench.write("a", 2)
    bench.write("b")
    assert (bench.live, bench.committed, bench.errors) == ([0, 1, 2], [], [])
    assert [one.told for one in bench.runtime.shards()] == [[0, 1, 2]]
    assert [one.told for one in bench.runtime.committed_shards()] == [[]]
    bench.replicate(1)
    assert (bench.committed, bench.errors) == ([], [])
    bench.replicate(2)
    assert (bench.committed, bench.errors) == ([0, 1], [("a", ErrorCode.NONE)])
    bench.replicate(3)
    assert bench.committed == [0, 1, 2]
    assert bench.errors == [("a", ErrorCode.NONE), ("b", ErrorCode.NONE)]
    assert len(bench.timer) == 0
    assert [one.told for one in bench.runtime.committed_shards()] == [[0, 1, 2]]


def test_alone_in_sync_a_write_counts_at_once(bench: Bench) -> None:
    bench.replicated = 9
    bench.write("a")
    assert (bench.committed, bench.errors) == ([0], [("a", ErrorCode.NONE)])


def test_a_late_write_is_refused_once_and_counts_all_the_same(bench: Bench) -> None:
    bench.write("a")
    bench.write("b", timeout_ms=100)
    bench.advance(99)
    assert bench.errors == []
    bench.advance(1)
    late = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert bench.errors == [("b", late)]
    bench.advance(TIMEOUT_MS - 100)
    assert bench.errors == [("b", late), ("a", late)]
    assert (bench.live, bench.committed) == ([0, 1], [])
    bench.replicate(2)
    assert bench.committed == [0, 1]
    assert len(bench.errors) == 2


def test_without_records_a_write_waits_for_those_before(bench: Bench) -> None:
    bench.write("nothing", 0)
    assert bench.errors == [("nothing", ErrorCode.NONE)]
    bench.write("a")
    bench.write("read", 0)
    bench.write("late read", 0, timeout_ms=5)
    bench.advance(5)
    bench.replicate(1)
    assert bench.errors[1:] == [
        ("late read", ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ("a", ErrorCode.NONE),
        ("read", ErrorCode.NONE),
    ]
    assert bench.committed == [0]


def test_what_is_not_appended_leaves_nothing(bench: Bench) -> None:
    bench.error = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.write("a")
    bench.end("end")
    assert bench.errors == [
        ("a", ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ("end", ErrorCode.NOT_ENOUGH_REPLICAS),
    ]
    bench.replicate(9)
    assert (bench.live, bench.committed) == ([], [])


def test_a_lost_partition_leaves_nothing(bench: Bench) -> None:
    bench.write("a")
    live = bench.live
    bench.runtime.unload(AT)
    assert bench.errors == [("a", ErrorCode.NOT_COORDINATOR)]
    assert live == [0, ErrorCode.NOT_COORDINATOR]
    bench.replicate(1)
    bench.advance(TIMEOUT_MS)
    assert (bench.live, bench.committed) == ([], [])
    assert len(bench.errors) == 1
    bench.owned = False
    bench.runtime.unload(AT)
    assert bench.runtime.committed_for("g") is None
    bench.end("end")
    assert bench.errors[1:] == [("end", ErrorCode.NOT_COORDINATOR)]


def test_loading_tells_what_is_replicated_and_keeps_the_rest(bench: Bench) -> None:
    bench.replicated = 2
    key, value = encode_record(record(1))
    bench.runtime.load(
        AT,
        [
            (0, 42, key, value),
            (1, -1, b"\x00\x63", b""),  # of a newer broker
            (2, -1, key, value),
            EndOfTransaction(3, 42, commit=False),
        ],
    )
    assert (bench.live, bench.committed) == ([0, 2, (42, False), "loaded"], [0])
    bench.end_offset = 4
    bench.write("read", 0)
    bench.write("a")
    bench.replicate(3)
    assert (bench.committed, bench.errors) == ([0, 2], [])
    bench.replicate(5)
    assert bench.committed == [0, 2, (42, False), 4]
    assert bench.errors == [("read", ErrorCode.NONE), ("a", ErrorCode.NONE)]


def test_the_end_of_a_transaction_is_told_when_it_is_replicated(bench: Bench) -> None:
    bench.write("a")
    bench.end("end")
    assert (bench.live, bench.committed, bench.errors) == ([0, (42, True)], [], [])
    bench.replicate(1)
    assert (bench.committed, bench.errors) == ([0], [("a", ErrorCode.NONE)])
    bench.replicate(2)
    assert bench.committed == [0, (42, True)]
    assert bench.errors[1:] == [("end", ErrorCode.NONE)]


def test_a_late_marker_is_told_the_error_of_the_log(bench: Bench) -> None:
    bench.end("end", commit=False)
    bench.advance(TIMEOUT_MS - 1)
    assert bench.errors == []
    bench.advance(1)
    assert bench.errors == [("end", ErrorCode.REQUEST_TIMED_OUT)]
    bench.replicate(1)
    assert bench.committed == [(42, False)]


def test_a_shard_may_change_by_itself_when_it_is_told() -> None:
    bench = Bench(twins=False)
    assert bench.live == []
    for name, timeout_ms in (("a", 5), ("late", 1)):
        bench.runtime.write(AT, [record(1)], bench.done(name), timeout_ms=timeout_ms, replay=False)
    bench.advance(1)
    assert bench.errors == [("late", ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    bench.replicate(2)
    assert bench.errors[1:] == [("a", ErrorCode.NONE)]
    assert bench.live is bench.committed
    assert bench.live == []


@pytest.mark.parametrize("twins", [False, True])
def test_what_is_loaded_counts_as_written_before(twins: bool) -> None:
    bench = Bench(twins=twins)
    bench.replicated = 1
    key, value = encode_record(record(1))
    bench.runtime.load(AT, [(0, -1, key, value), (1, -1, b"\x00\x63", b"")])
    bench.write("read", 0)
    assert bench.errors == []
    bench.replicate(2)
    assert bench.errors == [("read", ErrorCode.NONE)]


def test_a_writer_may_change_the_live_shard_himself(bench: Bench) -> None:
    order: list[str] = []
    bench.runtime.write(
        AT,
        [record(1)],
        lambda _error: order.append("done"),
        replay=False,
        appended=lambda: order.append("appended"),
    )
    assert (bench.live, order) == ([], ["appended"])
    bench.replicate(1)
    assert (bench.live, bench.committed, order) == ([], [0], ["appended", "done"])


def test_all_of_a_log_that_is_replicated_counts_at_once(bench: Bench) -> None:
    bench.replicated = 2
    key, value = encode_record(record(1))
    bench.runtime.load(AT, [(0, -1, key, value), (1, -1, key, value)])
    assert bench.committed == [0, 1]
    bench.write("read", 0)
    assert (bench.committed, bench.errors) == ([0, 1], [("read", ErrorCode.NONE)])
