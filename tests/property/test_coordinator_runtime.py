"""A coordinator's state beside other brokers, against a model: its log and how much is replicated.

Writes of any size, plain or in transactions, and ends of transactions are appended, refused by the
log, replicated in part, and run out of time; coordinators lose the partition and get it back with
the log that the in-sync replicas have, cut anywhere behind the high watermark, or load it again
before all of it is replicated. The model is the list of what stands in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

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
AT = 3
"""The partition of "g"."""

PRODUCERS = st.sampled_from([-1, 7, 8])


class Entry(NamedTuple):
    """What stands at an offset: a value, plain or of a producer's transaction, or its end."""

    producer_id: int
    value: int | None
    commit: bool = False


class State:
    """A shard: the values that count, those that are pending, and what it saw."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.pending: dict[int, list[int]] = {}
        self.next_offset = 0

    def replay(self, offset: int, producer_id: int, record: CoordinatorRecord) -> None:
        assert isinstance(record.value, OffsetCommitValue)
        assert offset >= self.next_offset
        self.next_offset = offset + 1
        values = self.values if producer_id < 0 else self.pending.setdefault(producer_id, [])
        values.append(record.value.offset)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        self.next_offset += 1
        ended = self.pending.pop(producer_id, [])
        self.values += ended if commit else []

    def on_loaded(self) -> None:
        pass

    def on_unloaded(self, error: ErrorCode) -> None:
        pass

    def shown(self) -> tuple[list[int], dict[int, list[int]]]:
        return self.values, self.pending


def state_after(log: list[Entry]) -> State:
    state = State()
    for offset, entry in enumerate(log):
        if entry.value is None:
            state.end_transaction(entry.producer_id, commit=entry.commit)
        else:
            state.replay(offset, entry.producer_id, record(entry.value))
    return state


def record(value: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey("g", "t", 0), OffsetCommitValue(value, 0, "", 0), 4)


class Ask:
    """A write, what shall come of it (None: it waits), and what was told."""

    def __init__(self, late: ErrorCode) -> None:
        self.late = late
        self.end_offset = self.deadline_ms = 0.0
        self.expected: ErrorCode | None = None
        self.told: ErrorCode | None = None

    def __call__(self, error: ErrorCode) -> None:
        assert self.told is None, "told twice"
        self.told = error


class Coordinators(RuleBasedStateMachine):
    """One partition, and whoever coordinates it."""

    @initialize()
    def begin(self) -> None:
        self.clock, self.timer = Clock(), Timer()
        self.log: list[Entry] = []
        self.batch_ends = [0]
        self.replicated = 0
        self.known = 0
        """The high watermark as the coordinator knows it."""
        self.owned = True
        self.refusal = ErrorCode.NONE
        self.values = 0
        self.asks: list[Ask] = []
        self.runtime: CoordinatorRuntime[State] = CoordinatorRuntime(
            InternalTopic("t", MetadataStore("c", BrokerConfig({})), 50),
            self.append,
            lambda _index: State(),
            make_committed=lambda _index, _live: State(),
        )
        self.runtime.replication = self
        assert self.runtime.shard_for("g") is not None

    # -- what the runtime stands on ----------------------------------------------------------

    def append(
        self,
        _partition_index: int,
        records: list[tuple[bytes, bytes | None]],
        producer_id: int = -1,
        _producer_epoch: int = -1,
    ) -> tuple[ErrorCode, int]:
        base_offset = len(self.log)
        for key, value in records if self.refusal is ErrorCode.NONE else ():
            decoded = self.runtime.decode(key, value)
            assert decoded is not None
            assert isinstance(decoded.value, OffsetCommitValue)
            self.log.append(Entry(producer_id, decoded.value.offset))
        self.batch_ends.append(len(self.log))
        return self.refusal, base_offset

    def append_marker(
        self, _partition_index: int, marker: TransactionMarker
    ) -> tuple[ErrorCode, int]:
        offset = len(self.log)
        if self.refusal is ErrorCode.NONE:
            self.log.append(Entry(marker.producer_id, None, marker.commit))
        self.batch_ends.append(len(self.log))
        return self.refusal, offset

    def owns(self, _partition_index: int) -> bool:
        return self.owned

    def high_watermark(self, _partition_index: int) -> int:
        return self.known

    def expire_write(self, expire: Callable[[], None], timeout_ms: float | None) -> TimerTask:
        wait_ms = TIMEOUT_MS if timeout_ms is None else timeout_ms
        return self.timer.schedule(self.clock.now_ms + wait_ms, expire)

    # -- what happens ------------------------------------------------------------------------

    @rule(count=st.integers(0, 3), producer_id=PRODUCERS, refused=st.booleans())
    def write(self, count: int, producer_id: int, refused: bool) -> None:
        refused = refused and count > 0
        records = [record(self.values + at) for at in range(count)]
        self.values += count
        self.refusal = ErrorCode.NOT_ENOUGH_REPLICAS if refused else ErrorCode.NONE
        ask = Ask(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.runtime.write(AT, records, ask, producer_id, 0)
        self.asked(ask, ErrorCode.COORDINATOR_NOT_AVAILABLE if refused else ErrorCode.NONE)

    @rule(producer_id=st.sampled_from([7, 8]), commit=st.booleans(), refused=st.booleans())
    def end(self, producer_id: int, commit: bool, refused: bool) -> None:
        marker = TransactionMarker(producer_id, 0, 0, commit, 0)
        self.refusal = ErrorCode.INVALID_PRODUCER_EPOCH if refused else ErrorCode.NONE
        ask = Ask(ErrorCode.REQUEST_TIMED_OUT)
        self.runtime.complete_transaction(AT, marker, self.append_marker, ask)
        self.asked(ask, self.refusal)

    def asked(self, ask: Ask, refusal: ErrorCode) -> None:
        self.asks.append(ask)
        if not self.owned:
            ask.expected = ErrorCode.NOT_COORDINATOR
        elif refusal is not ErrorCode.NONE or len(self.log) <= self.known:
            ask.expected = refusal
        else:
            ask.end_offset = len(self.log)
            ask.deadline_ms = self.clock.now_ms + TIMEOUT_MS

    def batch_end(self, low: int, high: int, share: float) -> int:
        """A place between these two: followers fetch whole batches."""
        ends = [one for one in self.batch_ends if low <= one <= high]
        return ends[round(share * (len(ends) - 1))]

    @rule(share=st.floats(0, 1))
    def replicate(self, share: float) -> None:
        self.replicated = self.batch_end(self.replicated, len(self.log), share)
        if self.owned:
            self.known = self.replicated
            self.runtime.high_watermark_updated(AT, self.known)
        for ask in self.asks:
            if ask.expected is None and ask.end_offset <= self.known:
                ask.expected = ErrorCode.NONE

    @rule(milliseconds=st.sampled_from([1, 1000, TIMEOUT_MS - 1, TIMEOUT_MS]))
    def wait(self, milliseconds: int) -> None:
        self.clock.now_ms += milliseconds
        self.timer.advance(self.clock.now_ms)
        for ask in self.asks:
            if ask.expected is None and ask.deadline_ms <= self.clock.now_ms:
                ask.expected = ask.late

    @rule()
    def lose(self) -> None:
        self.owned = False
        self.runtime.unload(AT)
        for ask in self.asks:
            if ask.expected is None:
                ask.expected = ErrorCode.NOT_COORDINATOR

    @rule(kept=st.floats(0, 1), known=st.floats(0, 1))
    def lead(self, kept: float, known: float) -> None:
        """Whoever has all that is replicated leads; what else it has, and knows, is by chance."""
        self.lose()
        self.owned = True
        end_offset = self.batch_end(self.replicated, len(self.log), kept)
        del self.log[end_offset:]
        self.batch_ends = [one for one in self.batch_ends if one <= end_offset]
        self.known = self.batch_end(0, self.replicated, known)
        logged = [
            EndOfTransaction(at, entry.producer_id, entry.commit)
            if entry.value is None
            else (at, entry.producer_id, *encode_record(record(entry.value)))
            for at, entry in enumerate(self.log)
        ]
        self.runtime.load(AT, logged)

    # -- what must hold ----------------------------------------------------------------------

    @invariant()
    def what_is_told_is_replicated(self) -> None:
        shard = self.runtime.committed_for("g")
        if not self.owned:
            assert shard is None
            return
        assert shard is not None
        assert shard.shown() == state_after(self.log[: self.known]).shown()

    @invariant()
    def decisions_see_what_is_written(self) -> None:
        shard = self.runtime.shard_for("g")
        if shard is not None:
            assert shard.shown() == state_after(self.log).shown()
            assert self.runtime.is_ahead("g") == (len(self.log) > self.known)

    @invariant()
    def each_write_is_told_what_came_of_it(self) -> None:
        assert [ask.told for ask in self.asks] == [ask.expected for ask in self.asks]

    def teardown(self) -> None:
        """Once all is replicated, nobody waits and no clock runs."""
        if hasattr(self, "log"):
            self.replicate(1.0)
            self.each_write_is_told_what_came_of_it()
            assert len(self.timer) == 0


TestCoordinators = Coordinators.TestCase
TestCoordinators.settings = settings(max_examples=100, stateful_step_count=30)
