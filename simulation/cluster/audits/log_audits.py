"""Logs held against their own batches: what a log derives from them is derived here anew.

Producers (the last batches of their epoch, an open transaction), the last stable offset, aborted
transactions, leader epochs, and what a read from an offset holds. A log is looked at when it was
cut, now and then while it grows, and when all is at rest.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from mockbroker.log.offsets import FetchIsolation
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from mockbroker_protocol.records.batch import (
    CONTROL_COMMIT,
    iterate_batches,
    iterate_records,
    parse_control_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker_protocol.records.batch import BatchHeader

REMEMBERED = 5
"""Batches of a producer, as ProducerStateEntry has it."""
READ_BYTES = 300
LATEST_BOUNDS = 4
"""So many ends and beginnings of transactions are where a read may end, too."""
INTERNAL_TOPICS = (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC)


class KnownProducer:
    """A producer as its batches show it."""

    def __init__(self) -> None:
        self.epoch = -1
        self.batches: list[tuple[int, int, int]] = []
        """First and last sequence and last offset, of its epoch alone."""
        self.coordinator_epoch = -1
        self.open_at = -1

    def take_epoch(self, epoch: int) -> None:
        """Another epoch begins without batches."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches = []


class LogModel:
    """What follows from the batches of a log, from its start on."""

    def __init__(self, log: UnifiedLog) -> None:
        self.headers: list[BatchHeader] = []
        self.producers: dict[int, KnownProducer] = {}
        self.ended: list[tuple[int, int, int, bool]] = []
        """Producer, first offset, marker, and whether it was committed."""
        self.unknown: set[int] = set()
        """Producers of which a marker is there, and not where their transaction began."""
        for header, batch in log.iterate_batches(log.log_start_offset):
            self.headers.append(header)
            if header.producer_id >= 0:
                self._take(header, batch)

    def _take(self, header: BatchHeader, batch: memoryview | bytes | bytearray) -> None:
        producer = self.producers.setdefault(header.producer_id, KnownProducer())
        producer.take_epoch(header.producer_epoch)
        if not header.is_control:
            batch_of = header.base_sequence, header.last_sequence, header.last_offset
            producer.batches.append(batch_of)
            if header.is_transactional and producer.open_at < 0:
                producer.open_at = header.base_offset
            return
        kind, producer.coordinator_epoch = parse_control_record(
            next(iter(iterate_records(batch, 0, header)))
        )
        if producer.open_at >= 0:
            began, producer.open_at = producer.open_at, -1
            committed = kind == CONTROL_COMMIT
            self.ended.append((header.producer_id, began, header.base_offset, committed))
        else:
            self.unknown.add(header.base_offset)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Where the first transaction began that is open, or ended by no replicated marker."""
        unstable = [one.open_at for one in self.producers.values() if one.open_at >= 0]
        unstable += [first for _, first, marker, _ in self.ended if marker >= high_watermark]
        return min([high_watermark, *unstable])

    def aborted(self, offset: int, bound: int) -> set[tuple[int, int]]:
        """Producers and first offsets that a read of `offset` up to `bound` must know."""
        return {
            (producer_id, first)
            for producer_id, first, marker, committed in self.ended
            if not committed and marker >= offset and first < bound
        }


def wrong_with(
    log: UnifiedLog, rng: Random, *, may_be_cut: bool = False, passed: int = 0
) -> Iterator[str]:
    """What does not follow from the batches of a log; one of its offsets is read.

    A log that `may_be_cut` within a batch, where leaders differ, is truncated before that batch
    and ends where it was to end (LocalLog.truncateTo). `passed` is the highest high watermark that
    it ever had: a follower that goes back to a new leader's holds no transaction for open again
    that a marker below has ended (ProducerStateManager.removeUnreplicatedTransactions).
    """
    model = LogModel(log)
    compacted = log.config.compact and log.topic not in INTERNAL_TOPICS  # those never roll
    yield from _wrong_order(log, model, compacted=compacted, may_be_cut=may_be_cut)
    yield from _wrong_epochs(log, model)
    if not compacted:
        yield from _wrong_producers(log, model)
        yield from _wrong_transactions(log, model, passed)
    yield from _wrong_reads(log, model, rng)


def _wrong_order(
    log: UnifiedLog, model: LogModel, *, compacted: bool, may_be_cut: bool
) -> Iterator[str]:
    end, gaps = -1, compacted or may_be_cut
    for header in model.headers:
        if header.base_offset < end or (not gaps and end >= 0 and header.base_offset > end):
            yield f"a batch begins at {header.base_offset} after {end}"
        end = header.last_offset + 1
    if model.headers and (end > log.log_end_offset or (not gaps and end < log.log_end_offset)):
        yield f"the last batch ends at {end}"


def _wrong_epochs(log: UnifiedLog, model: LogModel) -> Iterator[str]:
    """Each batch's epoch is known, and ends where a batch of a later one begins, or before."""
    later: int | None = None
    above = -1
    for header in reversed(model.headers):
        epoch = header.partition_leader_epoch
        if epoch == above:
            later = header.base_offset
            continue
        end = log.end_offset_for_epoch(epoch)
        if end is None or end[0] != epoch:
            yield f"epoch {epoch} of its batches is unknown: {end}"
        elif not header.last_offset < end[1] <= (log.log_end_offset if later is None else later):
            yield f"epoch {epoch} ends at {end[1]}, not from {header.last_offset + 1} to {later}"
        above, later = epoch, header.base_offset
    cache = log._epochs  # noqa: SLF001 -- for the audit alone
    epochs, starts = ([], []) if cache is None else (cache.epochs, cache.start_offsets)
    for told in (epochs, starts):
        if any(first >= second for first, second in pairwise(told)):
            yield f"epochs {epochs} begin at {starts}"
    for asked in range(epochs[0] if epochs else 0, log.latest_epoch + 1):
        end = log.end_offset_for_epoch(asked)
        if end is None or end[0] != max(epoch for epoch in epochs if epoch <= asked):
            yield f"of epochs {epochs}, the end of {asked} is told as {end}"
    if log.latest_epoch < (model.headers[-1].partition_leader_epoch if model.headers else -1):
        yield f"its latest epoch is {log.latest_epoch}"


def _wrong_producers(log: UnifiedLog, model: LogModel) -> Iterator[str]:
    known = {} if log.producers is None else log.producers.producers
    for producer_id, entry in known.items():
        wanted = model.producers.get(producer_id)
        stored = [(one.first_sequence, one.last_sequence, one.last_offset) for one in entry.batches]
        if any(offset >= log.log_end_offset for _, _, offset in stored):
            yield f"producer {producer_id} is known by batches that it has not: {stored}"
        if wanted is None:
            if any(offset >= log.log_start_offset for _, _, offset in stored):
                yield f"producer {producer_id} is known by batches that are not there: {stored}"
            continue
        batches = wanted.batches[-REMEMBERED:]
        if entry.producer_epoch != wanted.epoch or stored[len(stored) - len(batches) :] != batches:
            yield (
                f"producer {producer_id} has epoch {entry.producer_epoch} and batches {stored}, "
                f"its log {wanted.epoch} and {batches}"
            )
        if entry.coordinator_epoch < wanted.coordinator_epoch:
            yield f"producer {producer_id} knows coordinator epoch {entry.coordinator_epoch}"
        began = entry.current_txn_first_offset
        # One that began before the log start had its first batches deleted.
        if began != wanted.open_at and not 0 <= began < log.log_start_offset:
            yield f"producer {producer_id} is open since {began}, not {wanted.open_at}"


def _wrong_transactions(log: UnifiedLog, model: LogModel, passed: int) -> Iterator[str]:
    stable, start, mark = log.last_stable_offset, log.log_start_offset, log.high_watermark
    wanted = max(model.last_stable_offset(mark), start)
    once = max(min(model.last_stable_offset(max(passed, mark)), mark), start)
    if stable not in (wanted, once) and (start == 0 or stable != start):
        yield f"its last stable offset is not {wanted}"
    offsets = {start, *(first for _, first, _, _ in model.ended)}
    offsets |= {marker for _, _, marker, _ in model.ended} | model.unknown
    bounds = {log.high_watermark, *sorted(offsets)[-LATEST_BOUNDS:]}
    for offset, bound in product(sorted(offsets), sorted(bounds)):
        if bound <= offset and bound != log.high_watermark:
            continue
        told = {
            (one.producer_id, one.first_offset) for one in log.aborted_transactions(offset, bound)
        }
        missing = model.aborted(offset, bound) - told
        extra = {one for one in told - model.aborted(offset, bound) if one[1] >= start}
        if missing or extra:
            yield f"a read of {offset} lacks aborted transactions {missing}, and lists {extra}"


def _wrong_reads(log: UnifiedLog, model: LogModel, rng: Random) -> Iterator[str]:
    """A read holds the batch of its offset, and what follows as far as size and bound let it."""
    if not model.headers:
        return
    offset = rng.randint(log.log_start_offset, log.log_end_offset)
    limit = rng.choice((1, READ_BYTES, 1 << 20))
    isolation = rng.choice(tuple(FetchIsolation))
    end = log.end_offset(isolation)
    if offset > end:
        return
    result = log.read(offset, limit, isolation, min_one=True)
    if result.error:
        yield f"a read of {offset} answers {result.error!r}"
        return
    data = b"".join(map(bytes, result.chunks))
    got = [header.base_offset for _, header in iterate_batches(data)]
    wanted: list[int] = []
    size = 0
    for header in model.headers:
        if header.last_offset < offset or header.last_offset >= end:
            continue
        size += header.size_in_bytes
        if wanted and size > limit:
            break
        wanted.append(header.base_offset)
    if got != wanted[: max(len(got), 1)]:
        yield f"a read of {offset} up to {end} has batches at {got}, not {wanted}"
