"""Compaction, tried on likenesses of logs (see `log_trials`) and held against a model of its own.

- What is not replicated, or in a transaction that is open, is left alone, and so is the active
  segment (LogCleanerManager.cleanableOffsets). A log is compacted where more of it is dirty than
  min.cleanable.dirty.ratio: as much is not enough.
- Of each key the last record stays that was not aborted; what was aborted goes at once.
- The last batch of each producer stays, be it empty, and so does the last of all. What is left of
  a batch is of the same producer, epoch and kind (MemoryRecords.filterTo).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.config.log_config import CODECS
from mockbroker.log.cleanable import cleanable
from mockbroker.log.cleaner import clean
from mockbroker_protocol.records.batch import iterate_records
from simulation.cluster.audits.log_audits import LogModel
from simulation.producers import batch_of
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker_protocol.records.batch import BatchHeader

JUST_MORE: Final = 0.999
PRODUCER_IDS: Final = (987_655, 987_656)
KEYS: Final = (b"k0", b"k1", b"k2")
WRITES: Final = 8
SEGMENT_BYTES: Final = 300


class _Batch(NamedTuple):
    """A batch of data; its records are offset, key and whether they have a value."""

    header: BatchHeader
    records: list[tuple[int, bytes | None, bool]]

    @property
    def kind(self) -> tuple[int, int, int, int, bool]:
        """What a smaller one in its place has, too."""
        of = self.header
        return (
            of.base_offset,
            of.producer_id,
            of.producer_epoch,
            of.base_sequence,
            of.is_transactional,
        )


def _data(log: UnifiedLog, end: int) -> list[_Batch]:
    found = []
    for header, batch in log.iterate_batches(log.log_start_offset):
        if header.base_offset < end and not header.is_control:
            records = [
                (one.offset, None if one.key is None else bytes(one.key), one.value is not None)
                for one in iterate_records(batch, 0, header)
            ]
            found.append(_Batch(header, records))
    return found


def write_on(log: UnifiedLog, rng: Random) -> None:
    """A few batches more of producers of its own, which have keys in common, and their ends."""
    log.config = log.config.replace(
        compact=True,
        segment_bytes=SEGMENT_BYTES,
        max_message_bytes=SEGMENT_BYTES,
        target_compression=CODECS["producer"],
    )
    log.must_roll = rng.random() < 0.5
    sequences, epoch = dict.fromkeys(PRODUCER_IDS, 0), max(log.latest_epoch, 0)
    open_at: set[int] = set()
    for _ in range(WRITES):
        producer_id = rng.choice(PRODUCER_IDS)
        if producer_id in open_at and rng.random() < 0.5:
            open_at.discard(producer_id)
            commit = rng.random() < 0.5
            log.append_end_of_transaction(producer_id, 0, 0, epoch, EPOCH_MS, commit=commit)
            continue
        transactional = producer_id in open_at or rng.random() < 0.5
        if transactional:
            open_at.add(producer_id)
        keys = [rng.choice(KEYS) for _ in range(rng.randint(1, 2))]
        batch = batch_of(
            keys,
            0,
            producer_id,
            sequences[producer_id],
            transactional=transactional,
            keys=keys,
        )
        sequences[producer_id] += len(keys)
        log.append_as_leader(batch, epoch, EPOCH_MS)
    for producer_id in sorted(open_at) if rng.random() < 0.7 else ():
        log.append_end_of_transaction(producer_id, 0, 0, epoch, EPOCH_MS, commit=False)


def wrong_cleaning(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """All of it is dirty, up to a high watermark somewhere."""
    write_on(log, rng)
    log.must_roll = True
    log.append_as_leader(batch_of([b"active"], 0, -1, 0, keys=KEYS), log.latest_epoch, EPOCH_MS)
    # It goes up alone: what it passed is not open again where it goes back.
    mark = rng.randint(log.high_watermark, log.log_end_offset)
    log.set_high_watermark(rng.choice((mark, log.log_end_offset)))
    model, ratio = LogModel(log), rng.choice((1.0, JUST_MORE))
    log.config = log.config.replace(
        compact=True,
        min_cleanable_dirty_ratio=ratio,
        min_compaction_lag_ms=0,
        max_compaction_lag_ms=(1 << 63) - 1,
    )
    now_ms = EPOCH_MS
    end, size = _bound(log, model)
    found = cleanable(log, now_ms)
    is_due = size > 0 and ratio < 1.0
    if (found.end_offset, found.cleanable_bytes, found.is_due) != (end, size, is_due):
        yield f"to be compacted is {found}, not {size} bytes up to {end} by {ratio}: {is_due}"
    elif size:
        yield from _wrong_result(log, model, end, now_ms)


def _bound(log: UnifiedLog, model: LogModel) -> tuple[int, int]:
    """Where the first segment begins that must be left alone, and how many bytes are before it."""
    stable = model.last_stable_offset(log.high_watermark)
    bases = [each.base_offset for each in log.segments()]
    end = bases[-1]
    for header in model.headers:
        if header.last_offset >= stable:
            end = min(end, max(base for base in bases if base <= header.base_offset))
            break
    return end, sum(one.size_in_bytes for one in model.headers if one.base_offset < end)


def _wrong_result(log: UnifiedLog, model: LogModel, end: int, now_ms: int) -> Iterator[str]:
    before = _data(log, end)
    clean(log, log.log_start_offset, end, now_ms)
    after = _data(log, end)
    stays, may_stay = _stays(before, model)
    left = {offset for batch in after for offset, _, _ in batch.records}
    if not stays <= left or not left <= stays | may_stay:
        yield (
            f"compacted up to {end} it has records at {sorted(left)}, not {sorted(stays)} and "
            f"perhaps {sorted(may_stay)}"
        )
    kinds = {batch.header.last_offset: batch.kind for batch in before}
    for batch in after:
        if batch.kind != kinds.get(batch.header.last_offset):
            yield f"{batch.kind} is left of {kinds.get(batch.header.last_offset)}"
    needed = {one.batches[-1][2] for one in model.producers.values() if one.batches}
    needed = {offset for offset in needed if offset in kinds}
    if before and before[-1].header.next_offset == end:
        needed.add(end - 1)
    gone = needed - {batch.header.last_offset for batch in after}
    if gone:
        yield f"compacted up to {end} it has no more the last batches of producers at {gone}"


def _stays(batches: list[_Batch], model: LogModel) -> tuple[set[int], set[int]]:
    """Offsets of the records that stay, and of tombstones, which may have stayed long enough."""
    latest: dict[bytes, int] = {}
    values: set[int] = set()
    for header, records in batches:
        if any(
            not committed and producer == header.producer_id and began <= header.base_offset < ends
            for producer, began, ends, committed in model.ended
        ):
            continue
        for offset, key, has_value in records:
            if key is not None:
                latest[key] = offset
            if has_value:
                values.add(offset)
    stays = {*latest.values()}
    return stays & values, stays - values
