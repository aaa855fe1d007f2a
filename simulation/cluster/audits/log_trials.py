"""What logs do when they are cut, grow old or are written to, tried on likenesses of them.

A likeness is a log of its own that is given the last batches of a replica, in smaller segments.
Nobody but a trial sees it, so that what is rare in a run can be tried often, and to the byte and
millisecond: each trial says what must become of it by rules of its own.

- Retention takes whole segments from the front: as many as are too many in full, and those whose
  newest record is older than retention.ms (UnifiedLog.deleteOldSegments). Of aborted transactions,
  those stay whose marker is not below the log start.
- A log that is cut knows no leader epoch that begins where it ends, or behind that, and one that
  begins where another does takes its place (LeaderEpochFileCache). What it tells of positions is
  of what is left.
- A producer is forgotten after producer.id.expiration.ms to the millisecond, and not while a
  transaction of his is open. Under transactions V2 a marker of the epoch of an open transaction is
  one of the transaction before (KIP-890).
- A batch of max.message.bytes is not too large; a follower stores no offset twice.
"""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, Final

from mockbroker.config.log_config import CODECS
from mockbroker.log.offsets import FetchIsolation
from mockbroker.log.recovery import lose_unflushed
from mockbroker.log.retention import delete_old_segments
from mockbroker.log.transactional_log import TRANSACTIONS_V2
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits.cleaning_trials import write_on, wrong_cleaning
from simulation.cluster.audits.log_audits import LogModel, wrong_with
from simulation.cluster.audits.trials import Trials
from simulation.producers import batch_of
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mockbroker.config.log_config import LogConfig
    from mockbroker.node.broker import Broker

    Trial = Callable[[UnifiedLog, Random], Iterator[str]]

MOST_BATCHES: Final = 24
SEGMENT_BYTES: Final = (1, 300, 1 << 20)
"""One batch a segment, a few, or all of them."""
WHILE_MS: Final = 1_000
STRANGER_ID: Final = 987_654
"""A producer whom no log knows."""


def likeness(log: UnifiedLog, segment_bytes: int) -> UnifiedLog | None:
    """The last batches of a log in another; None where there are none."""
    batches = [*log.iterate_batches(log.log_start_offset)][-MOST_BATCHES:]
    if not batches:
        return None
    made = UnifiedLog(log.topic, log.partition, log.config.replace(segment_bytes=segment_bytes))
    made.truncate_fully_and_start_at(batches[0][0].base_offset)
    for header, batch in batches:
        made.append_as_follower(bytes(batch), max(header.max_timestamp, EPOCH_MS))
    made.set_high_watermark(log.high_watermark)
    return made


def _takes_all(of: LogConfig) -> LogConfig:
    """Configs by which a batch may be written as it comes."""
    return of.replace(
        compact=False,
        segment_bytes=1 << 20,
        max_message_bytes=1 << 20,
        target_compression=CODECS["producer"],
    )


class LogTrials(Trials):
    """Tries the logs of brokers."""

    chance = 0.2

    def try_one(self, broker: Broker) -> Iterator[str]:
        """One trial of one log."""
        rng = self._rng
        logs = [each.log for each in broker.services.replicas.all_partitions()]
        known = [log for log in logs if log is not None and log.segment_count]
        if not known:
            return
        log, trial = rng.choice(known), rng.choice(TRIALS)
        like = likeness(log, rng.choice(SEGMENT_BYTES))
        if like is not None:
            self.tried += 1
            for wrong in trial(like, rng):
                yield f"{log!r}, as it is tried: {wrong}"


# -- retention -----------------------------------------------------------------------------------


def wrong_retention(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """Of a log of several segments so many are too many, or too old."""
    log.set_high_watermark(rng.choice((log.log_end_offset, log.high_watermark)))
    model, segments = LogModel(log), log.segments()
    ends = [each.base_offset for each in segments[1:]] + [log.log_end_offset]
    sizes, newest = [0] * len(ends), [-1] * len(ends)
    for header in model.headers:
        at = next(at for at, end in enumerate(ends) if header.base_offset < end)
        sizes[at] += header.size_in_bytes
        newest[at] = max(newest[at], header.max_timestamp)
    gone, now_ms = rng.randint(0, len(ends)), EPOCH_MS
    if rng.random() < 0.5:
        limit = max(sum(sizes[gone:]) + rng.choice((-1, 0, 1)), 0)
        config = log.config.replace(retention_bytes=limit, retention_ms=-1)
        surplus = sum(sizes) - limit
        is_old = [surplus >= sum(sizes[: at + 1]) for at in range(len(ends))]
    else:
        config = log.config.replace(retention_bytes=-1, retention_ms=WHILE_MS)
        now_ms = newest[max(gone - 1, 0)] + WHILE_MS + rng.choice((0, 1))
        is_old = [now_ms - time > WHILE_MS for time in newest]
    count = 0
    while count < len(ends) and is_old[count] and ends[count] <= log.high_watermark:
        count += 1
    start = ends[count - 1] if count else log.log_start_offset
    log.config = config.replace(delete=True, compact=False)
    delete_old_segments(log, now_ms)
    if log.log_start_offset != start:
        yield (
            f"retention of {config.retention_bytes} bytes, {config.retention_ms} ms leaves it from "
            f"{log.log_start_offset} on, not {start}, of {sizes}"
        )
    yield from _wrong_aborted(log, model)


def wrong_deletion(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """Records are deleted up to somewhere, often up to a marker."""
    log.set_high_watermark(log.log_end_offset)
    model = LogModel(log)
    markers = [marker for _, _, marker, committed in model.ended if not committed]
    offset = rng.choice(markers or [rng.randint(log.log_start_offset, log.log_end_offset)])
    log.config = log.config.replace(delete=True)
    log.delete_records_before(offset)
    yield from _wrong_aborted(log, model)


def _wrong_aborted(log: UnifiedLog, before: LogModel) -> Iterator[str]:
    """What a reader of all that is left must know of what it was."""
    start, bound = log.log_start_offset, log.log_end_offset
    told = {(one.producer_id, one.first_offset) for one in log.aborted_transactions(start, bound)}
    wanted = before.aborted(start, bound)
    if told != wanted:
        yield f"from {start} on {told} are told as aborted, not {wanted}"


# -- cutting -------------------------------------------------------------------------------------


def wrong_cut(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """It is cut, as a follower's by its leader, and its broker leads then, twice."""
    start, end = log.log_start_offset, log.log_end_offset
    log.assign_epoch(log.latest_epoch + 1)
    epochs = log.leader_epochs()
    offset = rng.randint(start, end)
    log.truncate_to(offset)
    left = [one for one in epochs if one[1] < offset]
    if log.leader_epochs() != left:
        yield f"cut at {offset}, it knows epochs {log.leader_epochs()} of {epochs}"
    yield from wrong_with(log, rng, may_be_cut=True)
    log.assign_epoch(log.latest_epoch + 1)
    log.assign_epoch(log.latest_epoch + 1)
    known = log.leader_epochs()
    if len(known) != len(left) + 1 or known[-1][1] != log.log_end_offset:
        yield f"two epochs that begin at its end {log.log_end_offset} are known as {known}"


def wrong_new_start(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """A consumer is at its end when it loses what is not on the disk, or begins there anew."""
    log.set_high_watermark(log.log_end_offset)
    log.read(log.high_watermark, 1, FetchIsolation.HIGH_WATERMARK, min_one=True)
    if rng.random() < 0.5:
        log.truncate_fully_and_start_at(log.log_end_offset)
    else:
        log.config = log.config.replace(delete=True)
        log.delete_records_before(log.log_end_offset)
        lose_unflushed(log)
    mark = log.high_watermark
    told = log.read(mark, 1, FetchIsolation.HIGH_WATERMARK, min_one=True)
    if told.offset_metadata != log.log_end_offset_metadata():
        yield f"a read of its end is of {told.offset_metadata}, of {log.log_end_offset_metadata()}"


# -- producers -----------------------------------------------------------------------------------


def wrong_expiry(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """Time passes until one of its producers is silent for long enough, or nearly."""
    if rng.random() < 0.5:
        write_on(log, rng)
    known = {} if log.producers is None else {**log.producers.producers}
    if not known:
        return
    model = LogModel(log)
    now_ms = rng.choice([*known.values()]).last_timestamp + WHILE_MS + rng.choice((-1, 0, 1))
    stay = {
        producer_id
        for producer_id, entry in known.items()
        if model.producers[producer_id].open_at >= 0 or now_ms - entry.last_timestamp < WHILE_MS
    }
    log.expire_producers(now_ms, WHILE_MS)
    left = set() if log.producers is None else {*log.producers.producers}
    if left != stay:
        yield f"of producers {[*known]} it knows {left} after a while, not {stay}"


def wrong_marker(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """A marker of the epoch of an open transaction, by either version of transactions."""
    version, now_ms = rng.choice((TRANSACTIONS_V2, TRANSACTIONS_V2 - 1)), EPOCH_MS
    log.config = _takes_all(log.config)
    batch = batch_of([b"open"], 0, STRANGER_ID, 0, transactional=True)
    told = log.append_as_leader(batch, log.latest_epoch, now_ms)
    ended = log.append_end_of_transaction(
        STRANGER_ID, 0, 0, log.latest_epoch, now_ms, commit=True, transaction_version=version
    )
    late = version >= TRANSACTIONS_V2
    wanted = ErrorCode.INVALID_PRODUCER_EPOCH if late else ErrorCode.NONE
    if told.error or ended.error != wanted:
        yield f"a marker of version {version} in the epoch of the data: {ended.error!r}"


# -- batches -------------------------------------------------------------------------------------


def wrong_limit(log: UnifiedLog, rng: Random) -> Iterator[str]:
    """A batch of just as many bytes as a topic lets through, or of one more."""
    batch, over = batch_of([b"large"], 0, -1, 0), rng.choice((0, 1))
    log.config = _takes_all(log.config).replace(max_message_bytes=len(batch) - over)
    told = log.append_as_leader(batch, log.latest_epoch, EPOCH_MS).error
    if told != (ErrorCode.MESSAGE_TOO_LARGE if over else ErrorCode.NONE):
        yield f"{len(batch)} bytes where {len(batch) - over} are allowed: {told!r}"


def wrong_growth(log: UnifiedLog, _rng: Random) -> Iterator[str]:
    """A leader sends a batch that begins with an offset that is there."""
    end = log.log_end_offset
    batch = pack(">q", end - 1) + batch_of([b"there", b"new"], 0, -1, 0)[8:]
    told = log.append_as_follower(batch, EPOCH_MS).error
    if told != ErrorCode.OFFSET_OUT_OF_RANGE or log.log_end_offset != end:
        yield f"a batch from {end - 1} on: {told!r}, it ends at {log.log_end_offset} after {end}"


TRIALS: Final[tuple[Trial, ...]] = (
    wrong_retention,
    wrong_deletion,
    wrong_cut,
    wrong_new_start,
    wrong_expiry,
    wrong_marker,
    wrong_limit,
    wrong_growth,
    wrong_cleaning,
    wrong_cleaning,
)
