"""Parked fetches, weighed beside the cluster: what ends their wait, by a model of its own.

A reader is made up for a replica of the run, and asked is what its partition adds to what the fetch
waits for. It need not wait (Kafka's DelayedFetch, in its letters) where the leader epoch that it
knows is over (E), where this one leads no more and must (A), where it is on an older segment or
behind the bound (F), where its log parts from this one (H), and where it knows a lower high
watermark, or anything is there for a reader that tells its own (KIP-1166).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.replica.delayed_fetch import COMPLETE, bytes_available
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.fetch_params import UNKNOWN_HIGH_WATERMARK, FetchParams
from mockbroker_protocol.messages.fetch import FetchRequest, FetchRequestPartition, ReplicaState
from simulation.cluster.audits.log_audits import INTERNAL_TOPICS
from simulation.cluster.audits.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition

LIMITS: Final = (100, 1 << 20)
VERSION: Final = 18
CONSUMER: Final = -1


class WaitTrials(Trials):
    """Asks about partitions of brokers."""

    chance = 0.5

    def try_one(self, broker: Broker) -> Iterator[str]:
        """One reader of one partition."""
        rng = self._rng
        hosted = broker.services.replicas.all_partitions()
        known = [each for each in hosted if each.log is not None and not _has_holes(each.log)]
        if known:
            self.tried += 1
            yield from self.wrong_with(rng.choice(known))

    def wrong_with(self, partition: Partition) -> Iterator[str]:
        """What is wrong with what one reader is told."""
        rng, log = self._rng, partition.log
        assert log is not None
        start, end, mark = log.log_start_offset, log.log_end_offset, log.high_watermark
        asked = FetchRequestPartition(
            partition.index,
            rng.choice((-1, partition.leader_epoch, partition.leader_epoch - 1)),
            rng.choice((rng.randint(start, end), end)),
            last_fetched_epoch=rng.choice((-1, log.latest_epoch, log.latest_epoch - 1)),
            partition_max_bytes=rng.choice(LIMITS),
        )
        asked.high_watermark = rng.choice((UNKNOWN_HIGH_WATERMARK, mark, mark, mark - 1))
        replica = ReplicaState(rng.choice((CONSUMER, 1)), -1)
        request = FetchRequest(max_wait_ms=100, min_bytes=1 << 20, replica_state=replica)
        params = FetchParams(request, VERSION, 1 << 20)
        entry = FetchEntry(FetchTopic(partition.topic, partition.topic_id), asked)
        entry.partition = partition
        told, wanted = bytes_available(entry, params, None), _available(entry, params, log)
        if told != wanted:
            yield f"{partition}, as it is asked: {told} are there, not {wanted}: {asked}"


def _has_holes(log: UnifiedLog) -> bool:
    """Whether an offset of it may be in no batch."""
    return (log.config.compact and log.topic not in INTERNAL_TOPICS) or not log.segment_count


def _available(entry: FetchEntry, params: FetchParams, log: UnifiedLog) -> int:
    """The bytes that are there, or `COMPLETE`."""
    partition, offset, last = entry.partition, entry.fetch_offset, entry.last_fetched_epoch
    assert partition is not None
    end = log.end_offset(params.isolation)
    epoch_is_over = 0 <= entry.current_leader_epoch < partition.leader_epoch
    leads_no_more = params.is_from_follower and not partition.is_leader
    if epoch_is_over or leads_no_more or entry.high_watermark < log.high_watermark or offset > end:
        return COMPLETE
    size = 0
    if offset < end:
        segments = [log.offset_metadata(one).segment_base_offset for one in (offset, end)]
        batches = log.iterate_batches(offset)
        size = sum(header.size_in_bytes for header, _ in batches if header.last_offset < end)
        tells = entry.high_watermark != UNKNOWN_HIGH_WATERMARK
        if segments[0] < segments[1] or (size and tells):
            return COMPLETE
    parts = log.end_offset_for_epoch(last)
    if last >= 0 and (parts is None or parts[0] < last or parts[1] < offset):
        return COMPLETE
    return min(size, entry.max_bytes)
