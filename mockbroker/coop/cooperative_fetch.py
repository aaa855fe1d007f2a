"""Cooperative fetches: the broker deals batches round among the members that ask.

Whoever asks is handed out what is free, or else whole batches from where the last one ended, and
has it for a while; the answer holds these batches as they stand in the log, ACQUIRED_RANGES says
which offsets are meant. FetchOffset does not count. Without anything to hand out a fetch waits its
turn: fetches that wait are served in the order in which they came, one acquisition each.

There are no sessions for such fetches: what is handed out changes with no append.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop.errors import Refusal
from mockbroker.coop.extension import extension_of
from mockbroker.coop.fencing import NOT_OPTED_IN, STALE, TOPIC_REFUSES
from mockbroker.coop.handouts import Shared, holder_of, is_current
from mockbroker.coop.leases import Bounds, Piece, Span
from mockbroker.coop.numbers import Tag
from mockbroker.coop.progress import progress_of
from mockbroker.coop.range_writer import RangeWriter
from mockbroker.log.offsets import FetchIsolation
from mockbroker.replica.delayed_fetch import COMPLETE
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchResponsePartition
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.apis.context import Services
    from mockbroker.coop.handouts import Handouts
    from mockbroker.coop.leases import Leases
    from mockbroker.coop.progress import Progress
    from mockbroker.coop.tags import Cooperative, Identity
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.records.batch import BatchHeader

_COMMIT_VERSION: Final = 9
_NOT_HERE: Final = Refusal(ErrorCode.NOT_COORDINATOR)


class CooperativeReader(LogReader):
    """One pass over partitions, each of which is handed out from (see `LogReader`)."""

    __slots__ = ("_asked", "_handouts", "_identity", "_services")
    told_by_marks = False

    def __init__(
        self,
        params: FetchParams,
        services: Services,
        handouts: Handouts,
        identity: Identity | None,
        asked: Cooperative,
    ) -> None:
        super().__init__(params)
        self._services = services
        self._handouts = handouts
        self._identity = identity
        self._asked = asked

    def read(self, entry: FetchEntry) -> FetchResponsePartition:
        self.last_size_bytes = 0
        partition = entry.partition
        name = entry.topic.name
        if partition is None or name is None:
            return self._error(entry, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        error = self._check(entry, partition)
        if error is ErrorCode.NONE and not partition.is_leader:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error is not ErrorCode.NONE:
            return self._error(entry, error)
        refusal = self._refusal(name)
        if refusal is not None:
            data = self._error(entry, refusal.error)
            data.error_code = refusal.code(self._services.config.str("coop.error.mode"))
            if refusal.draft is not None:
                data.unknown_tags = {Tag.EXT_ERROR: tags.error(refusal.draft)}
            return data
        assert self._identity is not None
        log = partition.open_log()
        shared = Shared(self._identity.group, name, entry.index)
        leases, progress = self._now(shared, log)
        pieces = self._acquire(shared, leases, progress, log, entry)
        entry.fetch_offset = min(leases.marker, log.end_offset(self.params.isolation))
        chunks, size = self._batches(log, pieces)
        if pieces:
            self.respond_now = True
            self.min_one = False
            self.last_size_bytes = size
            self.bytes_read += size
            self.budget = max(self.budget - size, 0)
            if self.fetched is None:
                self.fetched = []
            self.fetched.append((partition, sum(piece.offsets for piece in pieces), size))
        data = FetchResponsePartition(
            entry.index,
            0,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            None,
            -1,
            chunks or b"",
        )
        data.unknown_tags = {
            Tag.NEXT_FETCH_OFFSET: tags.offset(leases.marker),
            Tag.ACQUIRED_RANGES: tags.write_acquired(pieces),
            Tag.LEASE_MS: tags.milliseconds(self._lease_ms),
        }
        return data

    def available(self, entry: FetchEntry, params: FetchParams, parked_segment: int | None) -> int:
        """COMPLETE once there is something for whoever asks next, or something is wrong."""
        del params, parked_segment
        partition, name = entry.partition, entry.topic.name
        if (
            partition is None
            or name is None
            or partition.deleted
            or not partition.is_leader
            or self._check(entry, partition)
            or self._refusal(name) is not None
        ):
            return COMPLETE
        assert self._identity is not None
        log = partition.open_log()
        leases, progress = self._now(Shared(self._identity.group, name, entry.index), log)
        bounds = self._bounds(entry)
        return (
            COMPLETE
            if leases.has_something(bounds, self._spans(log, progress), progress.done)
            else 0
        )

    @property
    def _lease_ms(self) -> int:
        return self._asked.lease_ms or self._services.config.int("coop.fetch.lease.ms")

    def _refusal(self, topic: str) -> Refusal | None:
        """Why who asks is handed out nothing."""
        identity, services = self._identity, self._services
        if identity is None:
            return NOT_OPTED_IN
        if services.groups.service.runtime.shard_for(identity.group) is None:
            return _NOT_HERE
        extension = extension_of(services)
        if extension.has_commits and not extension.commits.is_here(identity.group):
            return _NOT_HERE  # what is committed beyond the stable offset is another's to tell
        known = services.metadata.topics.get(topic)
        if known is not None and not known.config.bool("range.fetch.enable"):
            return TOPIC_REFUSES
        if is_current(services, identity.group, holder_of(identity)):
            alone = identity.generation < 0
            if not alone or services.config.bool("range.fetch.standalone.allow"):
                return None
            return NOT_OPTED_IN
        return STALE

    def _now(self, shared: Shared, log: UnifiedLog) -> tuple[Leases, Progress]:
        progress = progress_of(self._services, shared, log, self.params.isolation)
        return self._handouts.current(shared, progress.stable), progress

    def _bounds(self, entry: FetchEntry) -> Bounds:
        config = self._services.config
        most = config.int("coop.fetch.max.records")
        return Bounds(
            min(self._asked.max_records or most, most),
            max(min(entry.max_bytes, self.budget), 0),
            config.int("coop.fetch.max.locks"),
        )

    def _acquire(
        self,
        shared: Shared,
        leases: Leases,
        progress: Progress,
        log: UnifiedLog,
        entry: FetchEntry,
    ) -> list[Piece]:
        if not self.min_one and not self.budget:
            return []
        assert self._identity is not None
        limit = self._services.config.int("coop.fetch.max.deliveries")
        if limit:
            self._give_up(shared, leases, leases.take_dead(limit), self._identity)
        pieces = leases.acquire(
            holder_of(self._identity),
            self._services.clock.now_ms + self._lease_ms,
            self._bounds(entry),
            self._spans(log, progress),
            progress.done,
        )
        if pieces:
            self._handouts.arm()
        return pieces

    def _give_up(
        self, shared: Shared, leases: Leases, dead: list[Piece], identity: Identity
    ) -> None:
        """Commit what was handed out too often, for whoever asks now."""
        if not dead:
            return
        part = OffsetCommitRequestPartition(shared.partition, -1, -1, None)
        tags.tag(part, commit_fields((piece.first, piece.last) for piece in dead))
        request = OffsetCommitRequest(
            group_id=shared.group,
            generation_id_or_member_epoch=identity.generation,
            member_id=identity.member,
            group_instance_id=identity.instance,
            topics=[OffsetCommitRequestTopic(shared.topic, partitions=[part])],
        )

        def committed(response: OffsetCommitResponse) -> None:
            if any(one.error_code for topic in response.topics for one in topic.partitions):
                for piece in dead:
                    leases.take_back(piece)
            else:
                self._handouts.dead.extend((shared, piece) for piece in dead)

        self._services.groups.service.offsets.commit(
            request, _COMMIT_VERSION, committed, RangeWriter(self._services, request)
        )

    def _spans(self, log: UnifiedLog, progress: Progress) -> Callable[[int], Iterator[Span]]:
        """The batches with records to process, from an offset on.

        While the group is full those below its last range: what is between must be filled, also
        where nobody knows any more to whom it was handed out.
        """
        isolation = self.params.isolation
        only_committed = isolation is FetchIsolation.TXN_COMMITTED

        def spans(offset: int) -> Iterator[Span]:
            start, end = max(offset, log.log_start_offset), log.end_offset(isolation)
            if progress.is_full:
                last = progress.done.highest()
                end = start if last is None else min(end, last.first)
            if start >= end:
                return
            for header, _ in log.iterate_batches(start, isolation):
                if header.base_offset >= end:
                    return
                if header.is_control or not header.record_count:
                    continue
                if only_committed and _is_aborted(log, header):
                    continue
                last_offset = min(header.last_offset, end - 1)
                yield Span(max(header.base_offset, start), last_offset, header.size_in_bytes)

        return spans

    def _batches(self, log: UnifiedLog, pieces: list[Piece]) -> tuple[list[Buffer], int]:
        """The batches that hold these offsets, as they stand in the log."""
        if not pieces:
            return [], 0
        found: list[Buffer] = []
        at = 0
        for header, batch in log.iterate_batches(
            max(pieces[0].first, log.log_start_offset), self.params.isolation
        ):
            while at < len(pieces) and pieces[at].last < header.base_offset:
                at += 1
            if at == len(pieces):
                break
            if pieces[at].first <= header.last_offset:
                found.append(batch)
        return found, sum(map(len, found))


def _is_aborted(log: UnifiedLog, header: BatchHeader) -> bool:
    base = header.base_offset
    return header.is_transactional and any(
        one.producer_id == header.producer_id and one.first_offset <= base <= one.last_offset
        for one in log.aborted_transactions(base, base + 1)
    )
