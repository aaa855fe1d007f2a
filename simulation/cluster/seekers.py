"""Seekers of the cluster's simulation: offsets by time, by leader epoch, and who produces where.

ListOffsets must find the first record from a time on, the newest one, and both ends of what is
committed; OffsetForLeaderEpoch where an epoch ended. What is found is held against the log of the
leader in force as it is when the answer arrives: what was appended since is behind what was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from mockbroker_protocol.messages.transaction_admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from mockbroker_protocol.records.batch import iterate_records
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from random import Random

    from mockbroker.log.unified_log import UnifiedLog
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

VERSION = 11
EPOCH_VERSION = 4
LATEST, EARLIEST, NEWEST, EARLIEST_LOCAL, TIERED = -1, -2, -3, -4, -5
SPECIAL = (LATEST, EARLIEST, NEWEST, EARLIEST_LOCAL, TIERED)
PAUSE_MS = 80.0
MOVED = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,  # the same before v5
        ErrorCode.REPLICA_NOT_AVAILABLE,
    )
)
Stamp = tuple[int, int]
"""Offset and timestamp of a record."""


def stamps_of(log: UnifiedLog) -> list[Stamp]:
    """Of all records that a log has, from its start on."""
    return [
        (record.offset, record.timestamp)
        for header, batch in log.iterate_batches(log.log_start_offset)
        for record in iterate_records(batch, 0, header)
        if record.offset >= log.log_start_offset
    ]


class Seeker(ClusterClient):
    """Looks for offsets in all partitions; it only reads."""

    reads_on = True

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.all_topics)
        self.found = 0

    def begin(self) -> None:
        part = self.rng.choice(self.parts)
        known = self.leaders.get(part)
        if known is None:
            self.learn()
        elif self.rng.random() < 0.7:
            self._seek(part, *known)
        elif self.rng.random() < 0.6:
            self._ask_epoch(part, *known)
        else:
            self._ask_producers(part, known[0])

    def _pause(self) -> None:
        self.later(self.rng.random() * PAUSE_MS)

    def _failed(self, part: tuple[str, int], what: str, error: int) -> None:
        if error != -1 and error not in MOVED:
            self.world.violate(f"{self.name}: {what} of {part} answers {error}")
        self.forget(part)
        self.later()

    def _leader_log(self, part: tuple[str, int], asked: tuple[int, int]) -> UnifiedLog | None:
        """Of who led when it was asked, if it leads still, alone and with all that is committed."""
        truth = self.truth.find(*part)
        if truth is None or asked != self.leadership(part) or truth.unclean_floor >= 0:
            return None
        broker = self.world.cluster.broker(asked[0])
        partition = None if broker is None else broker.services.replicas.partition(*part)
        if partition is None or partition.leader_epoch != asked[1]:
            return None
        return partition.log

    # -- by time ---------------------------------------------------------------------------

    def _seek(self, part: tuple[str, int], node: int, epoch: int) -> None:
        rng = self.rng
        asked = self.leadership(part)
        stable = rng.random() < 0.5
        wanted = rng.choice(SPECIAL)
        if rng.random() < 0.6:
            wanted = EPOCH_MS + int(self.world.now_ms * rng.random() * 1.1)
        log = self._leader_log(part, asked)
        bound = None if log is None else log.last_stable_offset if stable else log.high_watermark
        before = (0, []) if log is None else (log.first_dirty_offset, [*log.segments()])
        version = VERSION if wanted in SPECIAL else rng.randint(4, VERSION)

        def answered(answer: ListOffsetsResponse | None) -> None:
            data = None if answer is None else answer.topics[0].partitions[0]
            if data is None or data.error_code:
                self._failed(part, "a look-up", -1 if data is None else data.error_code)
                return
            self.note(f"finds {wanted} of {part} at {data.offset}")
            after = self._leader_log(part, asked)
            if bound is not None and after is log and after is not None and node == asked[0]:
                dirty, segments = before
                left = after.segments()
                cleaned = after.first_dirty_offset != dirty or any(
                    each not in left for each in segments
                )
                self._check(part, wanted, data, after, bound, cleaned=cleaned)
            self.found += 1
            self._pause()

        partition = ListOffsetsPartition(part[1], rng.choice((-1, epoch)), wanted)
        request = ListOffsetsRequest(-1, int(stable), [ListOffsetsTopic(part[0], [partition])])
        self.ask(node, request, version, ListOffsetsResponse, answered)

    def _check(
        self,
        part: tuple[str, int],
        wanted: int,
        data: ListOffsetsPartitionResponse,
        log: UnifiedLog,
        bound: int,
        *,
        cleaned: bool,
    ) -> None:
        """`bound` is how far a reader could see when it asked: it sees as far since.

        What is found may be gone since, where old segments were `cleaned`: no such record stands
        before it.
        """
        offset = data.offset
        if wanted == TIERED:
            right = offset == -1
        elif wanted in (EARLIEST, EARLIEST_LOCAL):
            right = 0 <= offset <= log.log_start_offset
        elif wanted == LATEST:
            right = bound <= offset <= log.high_watermark
        elif wanted == NEWEST:
            newest = max((at for _, at in stamps_of(log)), default=0)
            gone = cleaned or offset < log.log_start_offset
            newest_since = gone or data.timestamp <= newest
            right = offset < log.high_watermark and newest_since
        else:
            first = next(((at, stamp) for at, stamp in stamps_of(log) if stamp >= wanted), None)
            if offset < 0:
                right = first is None or first[0] >= bound
            else:
                right = first == (offset, data.timestamp) or offset < log.log_start_offset
                if cleaned and not right:
                    right = data.timestamp >= wanted and (first is None or offset < first[0])
            right = right and offset < log.high_watermark
        if not right:
            self.world.violate(
                f"{self.name}: {wanted} of {part} is found at {offset} ({data.timestamp}); {log!r}"
            )

    # -- by epoch, and producers -----------------------------------------------------------

    def _ask_epoch(self, part: tuple[str, int], node: int, epoch: int) -> None:
        asked = self.leadership(part)
        led = self._leader_log(part, asked)
        wanted = self.rng.randint(0, max(epoch, 0))

        def answered(answer: OffsetForLeaderEpochResponse | None) -> None:
            data = None if answer is None else answer.topics[0].partitions[0]
            if data is None or data.error_code:
                self._failed(part, "an epoch", -1 if data is None else data.error_code)
                return
            log = self._leader_log(part, asked)
            if log is not None and log is led and node == asked[0]:
                later = [
                    max(header.base_offset, log.log_start_offset)
                    for header, _ in log.iterate_batches(log.log_start_offset)
                    if header.partition_leader_epoch > wanted
                ]
                if data.leader_epoch > wanted or (later and data.end_offset > later[0]):
                    self.world.violate(
                        f"{self.name}: epoch {wanted} of {part} ends at {data}, not {later[:1]}"
                    )
            self.found += 1
            self._pause()

        partition = OffsetForLeaderPartition(part[1], -1, wanted)
        request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(part[0], [partition])])
        self.ask(node, request, EPOCH_VERSION, OffsetForLeaderEpochResponse, answered)

    def _ask_producers(self, part: tuple[str, int], node: int) -> None:
        asked = self.leadership(part)
        led = self._leader_log(part, asked)

        def answered(answer: DescribeProducersResponse | None) -> None:
            data = None if answer is None else answer.topics[0].partitions[0]
            if data is None or data.error_code:
                self._failed(part, "producers", -1 if data is None else data.error_code)
                return
            log = self._leader_log(part, asked)
            if log is not None and log is led and node == asked[0]:
                open_since = [
                    one.current_txn_start_offset
                    for one in data.active_producers
                    if one.current_txn_start_offset >= 0
                ]
                if any(offset >= log.log_end_offset for offset in open_since):
                    self.world.violate(f"{self.name}: {part} has open transactions {open_since}")
            self.found += 1
            self._pause()

        request = DescribeProducersRequest([TopicRequest(part[0], [part[1]])])
        self.ask(node, request, 0, DescribeProducersResponse, answered)


class SeekerCrew(Crew):
    """Seekers, where a seed draws "look_ups"; at rest all they find is right."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.seekers = setting.hire(Seeker, "seeker", int(self.plan.on["look_ups"]))
        self.clients = [*self.seekers]

    def counts(self) -> dict[str, int]:
        return {"found": sum(seeker.found for seeker in self.seekers)}

    def check(self) -> None:
        """Every time is found where a walk over all records finds it."""
        for name, count in self.plan.all_topics.items():
            for index in range(count) if self.seekers else ():
                truth = self.truth.find(name, index)
                assert truth is not None
                log = self.world.controls.log(name, index, truth.state.leader)
                if log is not None:
                    self._check_log(log)

    def _check_log(self, log: UnifiedLog) -> None:
        stamps = stamps_of(log)
        for wanted in {stamp + more for _, stamp in stamps for more in (0, 1)}:
            right = next((at for at, stamp in stamps if stamp >= wanted), None)
            found = log.offset_for_timestamp(wanted)
            if (None if found is None else found.offset) != right:
                self.world.violate(f"{log!r}: {wanted} is found at {found}, not at {right}")
