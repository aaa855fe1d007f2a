"""What is parked in a broker, weighed anew: nobody waits for what is there already.

A fetch, produce or DeleteRecords that waits is held against what its partitions are by now, by
rules of its own: those after which Kafka's DelayedFetch, DelayedProduce and DelayedDeleteRecords
complete. Of them are left out a leader epoch and a log start that moved, which wake nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.fetch.incremental import IncrementalFetchContext
from mockbroker.fetch.waiting import SessionWait
from mockbroker.replica.append_entry import AppendEntry
from mockbroker.replica.delayed_delete_records import DeletedEntry
from mockbroker.replica.delayed_entries import DelayedEntries
from mockbroker.replica.delayed_fetch import DelayedFetch, PartitionsWait
from mockbroker.replica.log_reader import LogReader
from simulation.session_handler import UNKNOWN_HIGH_WATERMARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.apis.context import RequestContext
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from mockbroker.purgatory.purgatory import DelayedOperation, Purgatory
    from mockbroker.replica.delayed_entries import WaitingEntry
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.fetch_params import FetchParams


def needless_waits(broker: Broker, *, reassigns: bool = False) -> Iterator[str]:
    """Each operation that waits although there is nothing to wait for, and why.

    `reassigns`: replicas are taken away. Nobody is woken then whom one of them held back from the
    end of a DeleteRecords, so these are not judged.
    """
    replicas = broker.services.replicas
    if replicas.has_ready or broker.requests.unfinished:
        return  # what was done in this turn is told in the next
    for purgatory in (
        replicas.fetch_purgatory,
        replicas.produce_purgatory,
        replicas.delete_records_purgatory,
    ):
        if reassigns and purgatory is replicas.delete_records_purgatory:
            continue
        for operation in _waiting(purgatory):
            why = _why_not(operation)
            if why:
                yield f"{type(operation).__name__} until {operation.deadline_ms:.3f}: {why}"


def _waiting(purgatory: Purgatory) -> list[DelayedOperation]:
    if not purgatory.num_delayed_operations:
        return []
    waiting = {
        operation: None
        for operations in purgatory._watchers.values()  # noqa: SLF001 -- for the audit alone
        for operation in operations
        if not operation.completed
    }
    return list(waiting)


def _why_not(operation: DelayedOperation) -> str:
    if isinstance(operation, DelayedFetch):
        if superseded(operation) is not None:
            return ""  # its session has partitions since that it did not ask for
        return _why_no_fetch(operation._wait)  # noqa: SLF001
    if isinstance(operation, DelayedEntries):
        entries = operation._pending  # noqa: SLF001
        return "" if any(map(_is_awaited, entries)) else "all of it is done"
    return ""


def superseded(operation: object) -> RequestContext | None:
    """The request of a parked fetch, if its session was used by another one since."""
    answer = getattr(operation, "_answer", None)
    answer = getattr(answer, "func", answer)  # of one in slices it is a partial
    parked = getattr(answer, "__self__", None)
    context = getattr(parked, "context", None)
    if not isinstance(context, IncrementalFetchContext):
        return None
    gone_on = context.session.epoch != context._epoch  # noqa: SLF001
    return parked.ctx if gone_on else None  # type: ignore[union-attr]


def _is_awaited(entry: WaitingEntry) -> bool:
    if not isinstance(entry, AppendEntry | DeletedEntry):
        return True
    partition = entry.partition
    if partition is None or partition.deleted or not partition.is_leader:
        return False
    if isinstance(entry, AppendEntry):
        return partition.high_watermark <= entry.last_offset
    # Nobody is woken when a broker is fenced whose replica held the low watermark back.
    followers = () if partition.followers is None else partition.followers.all()
    starts = [one.log_start_offset for one in followers]
    return min([partition.low_watermark(), *starts]) < entry.offset


# -- fetches -------------------------------------------------------------------------------------


def _why_no_fetch(wait: object) -> str:
    """Why a fetch need not wait; its reader is not judged if it reads in a way of its own."""
    if isinstance(wait, PartitionsWait):
        stood = [*zip(wait._entries, wait._segments, strict=True)]  # noqa: SLF001
    elif isinstance(wait, SessionWait):
        refused = wait._rejected  # noqa: SLF001
        session = wait._session  # noqa: SLF001
        stood = [(one, None) for one in session.partitions() if one not in refused]
    else:
        return ""
    reader = wait._reader  # noqa: SLF001
    if type(reader) is not LogReader:
        return ""
    there = 0
    for entry, segment in stood:
        why = why_told(entry, reader.params, segment)
        if why:
            return f"{entry.topic.name}-{entry.index} {why}"
        there += bytes_there(entry, reader.params)
    wanted = reader.params.min_bytes
    return f"{there} of {wanted} bytes are there" if there >= wanted else ""


def why_told(entry: FetchEntry, params: FetchParams, stood_in: int | None) -> str:
    """What ends the wait whatever there is to read."""
    partition = entry.partition
    if partition is None or partition.deleted:
        return "is gone"
    if params.only_leader and not partition.is_leader:
        return "is led elsewhere"
    log = partition.log
    if log is None:
        return ""
    known, offset, end = entry.high_watermark, entry.fetch_offset, log.end_offset(params.isolation)
    if known < log.high_watermark:
        return f"has passed {known}, which is what its reader knows"
    if not (log.log_start_offset or -1) < offset < end:
        return ""
    if known != UNKNOWN_HIGH_WATERMARK and bytes_there(entry, params):
        return "has something for a reader that waits for anything"
    segment = log.offset_metadata(offset).segment_base_offset if stood_in is None else stood_in
    if segment < log.offset_metadata(end).segment_base_offset:
        return f"has begun another segment than {segment}"
    return ""


def bytes_there(entry: FetchEntry, params: FetchParams) -> int:
    """Of the batches from that of its offset on, as far as they may be read whole."""
    partition = entry.partition
    log: UnifiedLog | None = None if partition is None else partition.log
    if log is None or not (log.log_start_offset or -1) < entry.fetch_offset < log.end_offset(
        params.isolation
    ):
        return 0  # a log start that moved on may have taken an open transaction with it
    batches = log.iterate_batches(entry.fetch_offset, params.isolation)
    return min(entry.max_bytes, sum(header.size_in_bytes for header, _ in batches))
