"""The log against a naive list of batches, under any sequence of what can happen to it."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mockbroker.config.log_config import LogConfig
from mockbroker.log.offsets import FetchIsolation
from mockbroker.log.results import ReadResult
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from tests.mockbroker.log.batches import HIGH_WATERMARK, LOG_END, NOW, bytes_of, plain, produced

SEGMENT_BYTES = 1000
PRODUCERS = (1, 2)


class _Batch:
    """What the model knows of one batch."""

    def __init__(self, base: int, count: int, data: bytes, segment: int) -> None:
        self.base = base
        self.end = base + count
        self.data = data
        self.segment = segment
        self.producer = -1
        self.kind = "plain"


class LogAgainstList(RuleBasedStateMachine):
    """Each rule does one thing to both; the invariants compare them."""

    def __init__(self) -> None:
        super().__init__()
        self.log = UnifiedLog("t", 0, LogConfig(segment_bytes=SEGMENT_BYTES))
        self.batches: list[_Batch] = []
        self.segments: list[int] = []
        self.start = self.high = self.end = 0
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.epochs = dict.fromkeys(PRODUCERS, 0)
        self.open: dict[int, int] = {}
        self.ended: list[tuple[int, int]] = []

    def _stored(self, count: int, data: bytes) -> _Batch:
        current = self.segments[-1] if self.segments else -1
        used = sum(len(batch.data) for batch in self.batches if batch.segment == current)
        if not self.segments or (used and used + len(data) > SEGMENT_BYTES):
            self.segments.append(self.end)
        stamped = self.end.to_bytes(8, "big") + data[8:12] + bytes(4) + data[16:]
        batch = _Batch(self.end, count, stamped, self.segments[-1])
        self.batches.append(batch)
        self.end += count
        return batch

    @rule(size=st.integers(0, 500), count=st.integers(1, 4), writable=st.booleans())
    def append(self, size: int, count: int, writable: bool) -> None:
        data = plain(size // count, count=count)
        result = self.log.append_as_leader(bytearray(data) if writable else data, 0, NOW)
        assert (result.error, result.base_offset) == (ErrorCode.NONE, self.end)
        self._stored(count, data)

    @rule(producer=st.sampled_from(PRODUCERS))
    def append_in_transaction(self, producer: int) -> None:
        data = produced(
            producer, self.epochs[producer], self.sequences[producer], transactional=True
        )
        assert self.log.append_as_leader(data, 0, NOW).error is ErrorCode.NONE
        self.sequences[producer] += 1
        batch = self._stored(1, data)
        batch.producer, batch.kind = producer, "txn"
        self._remember(batch)

    @rule(producer=st.sampled_from(PRODUCERS), commit=st.booleans())
    def end_transaction(self, producer: int, commit: bool) -> None:
        epoch = self.epochs[producer]
        result = self.log.append_end_of_transaction(producer, epoch, 0, 0, NOW, commit=commit)
        assert (result.error, result.base_offset) == (ErrorCode.NONE, self.end)
        ((_, marker),) = self.log.iterate_batches(result.base_offset)
        batch = self._stored(1, bytes(marker))
        batch.producer, batch.kind = producer, "marker"
        self._remember(batch)

    def _remember(self, batch: _Batch) -> None:
        if batch.kind == "txn":
            self.open.setdefault(batch.producer, batch.base)
        elif batch.kind == "marker" and batch.producer in self.open:
            self.ended.append((self.open.pop(batch.producer), batch.base))

    @rule(data=st.data())
    def advance_high_watermark(self, data: st.DataObject) -> None:
        self.high = data.draw(st.integers(self.high, self.end))
        self.log.advance_high_watermark(self.high)

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(0, self.high))
        assert self.log.delete_records_before(offset) is ErrorCode.NONE
        if offset <= self.start:
            return
        self.start = offset
        if self.start == self.end:
            self.segments, self.batches = [], []
            return
        keep = max((base for base in self.segments if base <= self.start), default=0)
        self.segments = [base for base in self.segments if base >= keep]
        self.batches = [batch for batch in self.batches if batch.segment >= keep]

    @precondition(lambda self: self.end > self.start)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.end - 1))
        assert self.log.truncate_to(offset)
        self.batches = [batch for batch in self.batches if batch.end <= offset]
        self.segments = [base for base in self.segments if base <= offset]
        self.end = offset
        self.high = min(self.high, offset)
        # As Kafka without a snapshot: what lies below the log start is forgotten now.
        self.open, self.ended = {}, []
        for batch in self.batches:
            if batch.end > self.start:
                self._remember(batch)
        for producer in PRODUCERS:
            self.epochs[producer] += 1
            self.sequences[producer] = 0

    def _stable(self) -> int:
        unstable = [start for start, marker in self.ended if marker >= self.high]
        unstable += self.open.values()
        return min(self.high, max(self.start, min(unstable, default=self.high)))

    def _expected(self, offset: int, max_bytes: int, bound: int, min_one: bool) -> bytes:
        at = next((n for n, batch in enumerate(self.batches) if batch.end > offset), None)
        if at is None or offset >= bound:
            return b""
        segment = self.batches[at].segment
        readable = [batch for batch in self.batches[at:] if batch.segment == segment]
        first = len(readable[0].data)
        data = b"".join(batch.data for batch in readable if batch.end <= bound)
        size = max(max_bytes, first) if min_one else max_bytes
        return data[:size] if size >= first else b""

    @rule(
        data=st.data(),
        max_bytes=st.integers(0, 1200),
        isolation=st.sampled_from(FetchIsolation),
        min_one=st.booleans(),
    )
    def read(
        self, data: st.DataObject, max_bytes: int, isolation: FetchIsolation, min_one: bool
    ) -> None:
        offset = data.draw(st.integers(max(0, self.start - 1), self.end + 1))
        result = self.log.read(offset, max_bytes, isolation, min_one)
        if not self.start <= offset <= self.end:
            assert result.error is ErrorCode.OFFSET_OUT_OF_RANGE
            return
        bound = {LOG_END: self.end, HIGH_WATERMARK: self.high}.get(isolation, self._stable())
        assert bytes_of(result) == self._expected(offset, max_bytes, bound, min_one)
        self._check_place(offset, result)

    def _check_place(self, offset: int, result: ReadResult) -> None:
        place = result.offset_metadata
        assert place == self.log.offset_metadata(offset)
        at = next((batch for batch in self.batches if batch.end > offset), None)
        if at is None:  # a truncation may leave a gap before the log end
            assert place == self.log.log_end_offset_metadata()
        else:
            assert place.message_offset == offset
            assert place.segment_base_offset == at.segment
            assert place.relative_position == sum(
                len(batch.data)
                for batch in self.batches
                if batch.segment == at.segment and batch.base < at.base
            )

    @invariant()
    def offsets_agree(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.high_watermark) == (self.start, self.high)
        assert log.log_end_offset == self.end
        assert log.last_stable_offset == self._stable()

    @invariant()
    def bytes_agree(self) -> None:
        assert self.log.size_bytes == sum(len(batch.data) for batch in self.batches)
        stored = [bytes(batch) for _, batch in self.log.iterate_batches(self.start)]
        assert stored == [batch.data for batch in self.batches if batch.end > self.start]


TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstList.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
