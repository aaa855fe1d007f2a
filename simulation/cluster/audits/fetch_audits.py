"""What brokers answer to a fetch, held against the logs and metadata that they have right then.

A consumer's fetch without a session is asked past the network, of a few partitions of one broker,
and all of its answer is made here anew: from where on another replica is to be asked (KIP-392),
where the reader's log leaves this one (KIP-595), which bytes the limits let through (KIP-74), and
which aborted transactions belong to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.log.offsets import FetchIsolation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from simulation.clients import fetch_at_once
from simulation.cluster.audits.log_audits import INTERNAL_TOPICS, LogModel

if TYPE_CHECKING:
    from random import Random

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.fetch import FetchResponsePartition
    from simulation.cluster.world import ClusterWorld

VERSIONS = (12, 13, 16)
BY_IDS = 13
MOST_PARTITIONS = 3
LIMITS = (1, 150, 400, 1 << 20)
ISOLATIONS = (FetchIsolation.HIGH_WATERMARK, FetchIsolation.TXN_COMMITTED)
"""By the isolation level of the wire."""
NOWHERE = -1


class Told(NamedTuple):
    """What an answer says of one partition; `size` bytes of batches from its offset on."""

    error: int = 0
    high_watermark: int = -1
    stable_offset: int = -1
    start: int = -1
    diverging: tuple[int, int] | None = None
    size: int = 0


class FetchAudits:
    """Asks brokers, as a consumer in one of the `racks`."""

    def __init__(self, world: ClusterWorld, rng: Random, racks: list[str]) -> None:
        self._world = world
        self._rng = rng
        self._racks = racks
        self.asked = 0

    def look(self) -> None:
        """One question to one broker."""
        world, rng = self._world, self._rng
        world.finish_work()
        broker = rng.choice(world.cluster.brokers) if world.cluster.brokers else None
        hosted = [] if broker is None else broker.services.replicas.all_partitions()
        if broker is None or broker.services.quotas is not None or not hosted:
            return  # a quota lets less through
        partitions = rng.sample(hosted, min(rng.randint(1, MOST_PARTITIONS), len(hosted)))
        version, isolation = rng.choice(VERSIONS), rng.choice(ISOLATIONS)
        rack = rng.choice(("", *self._racks))
        asked = [self._question(each, broker) for each in partitions]
        topics = [
            FetchRequestTopic("", each.topic_id, [one])
            if version >= BY_IDS
            else FetchRequestTopic(each.topic, bytes(16), [one])
            for each, one in zip(partitions, asked, strict=True)
        ]
        request = FetchRequest(
            max_bytes=rng.choice(LIMITS),
            isolation_level=ISOLATIONS.index(isolation),
            session_epoch=-1,
            topics=topics,
            rack_id=rack,
        )
        answer = fetch_at_once(world, request, version, broker)
        self.asked += 1
        told = [data for topic in answer.responses for data in topic.partitions]
        left, first = request.max_bytes, True
        for partition, one, data in zip(partitions, asked, told, strict=True):
            if data.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                continue  # by an ACL about everybody
            judge = _Judge(broker, partition, one, isolation)
            wrong = judge.wrong(data, rack, left, first=first)
            if wrong:
                world.violate(f"{partition} of broker {broker.broker_id}: {wrong}: {one}")
            size = len(_records(data))
            left, first = max(left - size, 0), first and not size

    def _question(self, partition: Partition, broker: Broker) -> FetchRequestPartition:
        rng, log = self._rng, partition.log
        start, end, last = (0, 0, -1)
        if log is not None:
            start, end, last = log.log_start_offset, log.log_end_offset, log.latest_epoch
        del broker
        return FetchRequestPartition(
            partition.index,
            rng.choice((-1, partition.leader_epoch)),
            rng.choice((start, end, end + 1, rng.randint(start, end), rng.randint(start, end))),
            last_fetched_epoch=-1 if rng.random() < 0.5 else rng.randint(-1, last + 1),
            partition_max_bytes=rng.choice(LIMITS),
        )


def _records(data: FetchResponsePartition) -> bytes:
    chunks = data.records or b""
    return b"".join(map(bytes, chunks)) if isinstance(chunks, list) else bytes(chunks)


class _Judge:
    """One partition of an answer."""

    def __init__(
        self,
        broker: Broker,
        partition: Partition,
        asked: FetchRequestPartition,
        isolation: FetchIsolation,
    ) -> None:
        self.broker = broker
        self.partition = partition
        self.asked = asked
        self.isolation = isolation
        self.log = partition.log

    def wrong(self, data: FetchResponsePartition, rack: str, left: int, *, first: bool) -> str:
        """What is wrong with it; empty: nothing."""
        elsewhere = self._preferred(rack)
        if data.preferred_read_replica not in (elsewhere or [NOWHERE]):
            return f"{rack!r} is sent to {data.preferred_read_replica}, not {elsewhere}"
        records = _records(data)
        told = Told(
            data.error_code,
            data.high_watermark,
            data.last_stable_offset,
            data.log_start_offset,
            None
            if data.diverging_epoch is None
            else (data.diverging_epoch.epoch, data.diverging_epoch.end_offset),
            len(records),
        )
        wanted = self._wanted(left, first=first, redirected=bool(elsewhere))
        if told != wanted:
            return f"{told}, not {wanted}, of {left}"
        if records and self.isolation is FetchIsolation.TXN_COMMITTED:
            return self._wrong_aborted(data, len(records))
        return ""

    def _preferred(self, rack: str) -> list[int]:
        """The replicas of which one is to be read from; none: this one."""
        partition, brokers = self.partition, self.broker.services.metadata.brokers
        followers = partition.followers
        if not rack or followers is None or brokers[self.broker.broker_id].rack == rack:
            return []
        ends: dict[int, int] = {}
        for node in partition.state.isr:
            known, follower = brokers.get(node), followers.get(node)
            if known is None or follower is None or known.fenced or known.rack != rack:
                continue
            if follower.log_start_offset <= self.asked.fetch_offset <= follower.log_end_offset:
                ends[node] = follower.log_end_offset
        most = max(ends.values(), default=0)
        return [node for node, end in ends.items() if end == most]

    def _wanted(self, left: int, *, first: bool, redirected: bool) -> Told:
        log, offset, epoch = self.log, self.asked.fetch_offset, self.asked.last_fetched_epoch
        out_of_range = Told(ErrorCode.OFFSET_OUT_OF_RANGE)
        if log is None:
            if not redirected and (offset or epoch >= 0):
                return out_of_range
            return Told(0, 0, 0, 0)
        stands = Told(0, log.high_watermark, log.last_stable_offset, log.log_start_offset)
        if redirected:
            return stands
        if epoch >= 0:
            end = log.end_offset_for_epoch(epoch)
            if end is None or offset < log.log_start_offset:
                return out_of_range
            if end[0] < epoch or end[1] < offset:
                return stands._replace(diverging=end)
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return out_of_range
        return stands._replace(size=self._size(log, left, first=first))

    def _size(self, log: UnifiedLog, left: int, *, first: bool) -> int:
        """Bytes of batches of one segment, the last perhaps cut; the first of all is whole."""
        offset = self.asked.fetch_offset
        if offset >= log.end_offset(self.isolation):
            return 0
        sizes: list[int] = []
        segment = -1
        for header, _ in log.iterate_batches(offset, self.isolation):
            of = log.offset_metadata(header.base_offset).segment_base_offset
            if sizes and of != segment:
                break
            segment = of
            sizes.append(header.size_in_bytes)
        limit = min(left, self.asked.partition_max_bytes)
        if sizes and sizes[0] > limit:
            return sizes[0] if first else 0
        return min(sum(sizes), limit)

    def _wrong_aborted(self, data: FetchResponsePartition, size: int) -> str:
        log, offset = self.log, self.asked.fetch_offset
        assert log is not None
        if (log.config.compact and log.topic not in INTERNAL_TOPICS) or log.log_start_offset:
            return ""  # what is gone may have begun or ended one
        bound = log.log_end_offset
        for header, _ in log.iterate_batches(offset, self.isolation):
            bound = header.base_offset
            size -= header.size_in_bytes
            if size < 0:
                break
            bound = header.last_offset + 1
        told = {(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()}
        missing = LogModel(log).aborted(offset, bound) - told
        return f"it lacks aborted transactions {missing} of {offset} to {bound}" if missing else ""
