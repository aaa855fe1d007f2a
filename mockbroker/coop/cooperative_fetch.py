"""Cooperative fetches: the broker deals batches round among the members that ask.

Whoever asks is handed out what is free, or else whole batches from where the last one ended, and
has it for a while; the answer holds these batches as they stand in the log, ACQUIRED_RANGES says
which offsets are meant. FetchOffset does not count. Without anything to hand out a fetch waits its
turn: fetches that wait are served in the order in which they came, one acquisition each.

Who leads the partition serves them; what is done and who has what it asks whoever coordinates the
group (`handouts`), and answers that there is no coordinator where none can be asked.

There are no sessions for such fetches: what is handed out changes with no append.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop.errors import Refusal
from mockbroker.coop.extension import extension_of
from mockbroker.coop.fencing import NOT_OPTED_IN, STALE, TOPIC_REFUSES
from mockbroker.coop.handouts import Leading, Shared, holder_of, is_current
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
    from mockbroker.coop.tags import Cooperative, Identity
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.records.batch import BatchHeader

    Tell = Callable[[int, Callable[[Services], None]], None]

_COMMIT_VERSION: Final = 9
_NOBODY_TO_ASK: Final = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
_OVERTAKEN: Final = Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER)


class CooperativeReader(LogReader):
    """One pass over partitions, each of which is handed out from (see `LogReader`)."""

    __slots__ = ("_asked", "_identity", "_services")
    told_by_marks = False

    def __init__(
        self,
        params: FetchParams,
        services: Services,
        identity: Identity | None,
        asked: Cooperative,
    ) -> None:
        super().__init__(params)
        self._services = services
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
        dealer = self._dealer(name, partition)
        if isinstance(dealer, Refusal):
            data = self._error(entry, dealer.error)
            data.error_code = dealer.code(self._services.config.str("coop.error.mode"))
            if dealer.draft is not None:
                data.unknown_tags = {Tag.EXT_ERROR: tags.error(dealer.draft)}
            return data
        log = dealer.log
        leases = dealer.leases
        pieces = []
        if self.min_one or self.budget:
            pieces = dealer.acquire(self._bounds(entry), self._services.tell)
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
        ):
            return COMPLETE
        dealer = self._dealer(name, partition)
        if isinstance(dealer, Refusal) or dealer.has_something(self._bounds(entry)):
            return COMPLETE
        return 0

    def _dealer(self, topic: str, partition: Partition) -> Dealer | Refusal:
        """Who hands out, as of now; or why who asks is handed out nothing."""
        identity = self._identity
        if identity is None:
            return NOT_OPTED_IN
        shared = Shared(identity.group, topic, partition.index)
        coordinator = self._services.coordinator_of(shared.group)
        if coordinator is None or not _knows(coordinator, shared, partition.topic_id):
            return _NOBODY_TO_ASK
        leading = Leading(
            partition.topic_id,
            partition.leader_epoch,
            partition.open_log(),
            max(self._services.clock.now_ms, coordinator.clock.now_ms),
        )
        if extension_of(coordinator).handouts.is_overtaken(shared, leading):
            return _OVERTAKEN
        known = self._services.metadata.topics.get(topic)
        if known is not None and not known.config.bool("range.fetch.enable"):
            return TOPIC_REFUSES
        if not is_current(coordinator, shared.group, holder_of(identity)):
            return STALE
        if identity.generation < 0 and not self._services.config.bool(
            "range.fetch.standalone.allow"
        ):
            return NOT_OPTED_IN
        isolation = self.params.isolation
        return Dealer(coordinator, shared, leading, isolation, identity, self._lease_ms)

    @property
    def _lease_ms(self) -> int:
        return self._asked.lease_ms or self._services.config.int("coop.fetch.lease.ms")

    def _bounds(self, entry: FetchEntry) -> Bounds:
        config = self._services.config
        most = config.int("coop.fetch.max.records")
        return Bounds(
            min(self._asked.max_records or most, most),
            max(min(entry.max_bytes, self.budget), 0),
            config.int("coop.fetch.max.locks"),
            config.int("coop.fetch.max.deliveries"),
        )

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


class Dealer:
    """One look of a member at what its group's coordinator hands out of a partition.

    `coordinator` is what coordinates there, which may be another broker than the leader.
    """

    def __init__(
        self,
        coordinator: Services,
        shared: Shared,
        leading: Leading,
        isolation: FetchIsolation,
        identity: Identity,
        lease_ms: int,
    ) -> None:
        self._coordinator = coordinator
        self._handouts = extension_of(coordinator).handouts
        self._shared = shared
        self._identity = identity
        self._isolation = isolation
        self._now_ms = leading.now_ms
        self.log = leading.log
        self._lease_ms = lease_ms
        self._progress = progress_of(coordinator, shared, leading.log, isolation)
        self.leases = self._handouts.current(shared, self._progress.stable, leading)
        """What is handed out."""

    def has_something(self, bounds: Bounds) -> bool:
        """Whether there is something to hand out."""
        return self.leases.has_something(bounds, self._spans, self._progress.done)

    def acquire(self, bounds: Bounds, tell: Tell) -> list[Piece]:
        """Hand something out, if there is something; `tell`: the coordinator, in its own step."""
        if any(map(bounds.is_dead, self.leases.free)):
            most = bounds.max_deliveries
            tell(self._coordinator.broker_id, lambda services: self._give_up(services, most))
        pieces = self.leases.acquire(
            holder_of(self._identity),
            self._now_ms + self._lease_ms,
            bounds,
            self._spans,
            self._progress.done,
        )
        if pieces:
            self._handouts.arm()
        return pieces

    def _give_up(self, coordinator: Services, most: int) -> None:
        """Commit what was handed out too often, for whoever asks now."""
        shared, identity, leases = self._shared, self._identity, self.leases
        dead = leases.take_dead(most)
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

        coordinator.groups.service.offsets.commit(
            request, _COMMIT_VERSION, committed, RangeWriter(coordinator, request)
        )

    def _spans(self, offset: int) -> Iterator[Span]:
        """The batches with records to process, from an offset on.

        While the group is full those below its last range: what is between must be filled, also
        where nobody knows any more to whom it was handed out.
        """
        log, isolation, progress = self.log, self._isolation, self._progress
        only_committed = isolation is FetchIsolation.TXN_COMMITTED
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


def _knows(coordinator: Services, shared: Shared, topic_id: bytes) -> bool:
    """Whether a coordinator knows of the topic, and of what the group has committed there."""
    topic = coordinator.metadata.topics.get(shared.topic)
    extension = extension_of(coordinator)
    return (
        topic is not None
        and topic.id == topic_id
        and (not extension.has_commits or extension.commits.is_here(shared.group))
    )


def _is_aborted(log: UnifiedLog, header: BatchHeader) -> bool:
    base = header.base_offset
    return header.is_transactional and any(
        one.producer_id == header.producer_id and one.first_offset <= base <= one.last_offset
        for one in log.aborted_transactions(base, base + 1)
    )
