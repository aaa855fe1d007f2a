"""Fetch sessions made beside a cluster, of a broker's partitions as they are right then.

No client knows of them. A session is given what the logs tell, one partition after the other, and
each decision about it is made here anew.

- An incremental answer includes a partition that differs from what was told last, whichever way,
  and one whose reader knows an older high watermark (KIP-227, KIP-1166).
- A partition is quiet at its bound alone: behind it each poll has to look.
- A parked fetch counts the bytes of each partition once, and nothing that its session forgot.
- A session that is empty may be filled, be it bit by bit.
- A fetch that is parked is tried again when it is registered: what came meanwhile is not missed
  (DelayedOperationPurgatory.tryCompleteElseWatch).
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from mockbroker.fetch.manager import FetchManager
from mockbroker.fetch.session import CHANGED, QUIET, READY, CachedPartition, FetchSession
from mockbroker.fetch.waiting import SessionWait
from mockbroker.log.offsets import FetchIsolation
from mockbroker.purgatory.purgatory import Purgatory
from mockbroker.replica.delayed_fetch import DelayedFetch, PartitionsWait
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.fetch_params import UNKNOWN_HIGH_WATERMARK, FetchParams
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponsePartition,
)
from simulation.parked import bytes_there, why_told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition
    from simulation.cluster.world import ClusterWorld

    Hosted = tuple[Partition, UnifiedLog]

VERSION = 12
MOST_BYTES = 1 << 20
ANSWERS = 5
PARTITIONS = 3
ISOLATIONS = (
    FetchIsolation.HIGH_WATERMARK,
    FetchIsolation.TXN_COMMITTED,
    FetchIsolation.LOG_END,
)


class SessionProbes:
    """One session of one broker at each look."""

    def __init__(self, world: ClusterWorld, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self._managers: dict[Broker, FetchManager] = {}
        self.made = 0

    def look(self) -> None:
        """Make a session, and see what comes of it."""
        brokers = self._world.cluster.brokers
        broker = self._rng.choice(brokers) if brokers else None
        if broker is None:
            return
        hosted = [
            (partition, partition.log)
            for partition in broker.services.replicas.all_partitions()
            if partition.log is not None and not partition.deleted
        ]
        if not hosted:
            return
        self.made += 1
        kind = self._rng.randrange(5)
        if kind == 0:
            wrong = self._wrong_news(hosted)
        elif kind == 1:
            wrong = self._wrong_state(*self._rng.choice(hosted))
        elif kind == 2:
            wrong = self._wrong_wait(
                self._rng.sample(hosted, min(PARTITIONS, len(hosted))),
            )
        elif kind == 3:
            wrong = self._wrong_filling(broker, hosted)
        else:
            wrong = _wrong_parking(broker, *self._rng.choice(hosted))
        if wrong:
            self._world.violate(f"a session of broker {broker.broker_id}: {wrong}")

    # -- what is told ------------------------------------------------------------------------

    def _wrong_news(self, hosted: list[Hosted]) -> str:
        """One entry is told what several logs tell: so it moves either way."""
        partition, _ = hosted[0]
        session = FetchSession(privileged=False, uses_topic_ids=False)
        cached = _entry(session, partition, 0)
        told, knows = (-1, -1), UNKNOWN_HIGH_WATERMARK
        for _, log in self._rng.choices(hosted, k=ANSWERS):
            mark, start = log.high_watermark, log.log_start_offset
            for known in (knows, self._rng.choice((UNKNOWN_HIGH_WATERMARK, mark, mark - 1))):
                knows = known
                cached.update(FetchRequestPartition(partition.index, high_watermark=known))
                size = self._rng.choice((0, 0, 100))
                wanted = size > 0 or told != (mark, start) or knows < mark
                data = FetchResponsePartition(
                    partition.index, 0, mark, log.last_stable_offset, start, None, -1, b""
                )
                if cached.has_news(data, size) != wanted:
                    return (
                        f"{told} was told, {knows} is known, and of {(mark, start)} with {size} "
                        f"bytes it {'must' if wanted else 'need not'} be told"
                    )
                told, knows = (mark, start), max(knows, mark)
        return ""

    def _wrong_state(self, partition: Partition, log: UnifiedLog) -> str:
        """What the next poll does with a partition of which all was told."""
        rng = self._rng
        session = FetchSession(privileged=False, uses_topic_ids=False)
        session.isolation = rng.choice(ISOLATIONS)
        bound = log.end_offset(session.isolation)
        offset = rng.choice((log.log_start_offset, bound, bound + 1, log.log_end_offset))
        cached = _entry(session, partition, offset)
        cached.partition = partition
        cached.cached_high_watermark = log.high_watermark
        cached.cached_log_start_offset = log.log_start_offset
        session.settle(cached, sticky=False)
        wanted = QUIET if offset == bound else READY if offset < bound else CHANGED
        if cached.state == wanted:
            return ""
        return f"{partition} at {offset} of {bound} is in state {cached.state}, not {wanted}"

    # -- what is waited for ------------------------------------------------------------------

    def _wrong_wait(self, hosted: list[Hosted]) -> str:
        """A parked fetch that waits for one byte more than there is; all is looked at twice."""
        request = FetchRequest(min_bytes=MOST_BYTES, max_bytes=MOST_BYTES)
        params = FetchParams(request, VERSION, MOST_BYTES)
        session = FetchSession(privileged=False, uses_topic_ids=False)
        there = 0
        for partition, log in hosted:
            start, end = log.log_start_offset, log.high_watermark
            cached = _entry(session, partition, self._rng.randint(min(start + 1, end), end))
            cached.partition = partition
            if why_told(cached, params, None):
                return ""
            cached.link(partition)
            there += bytes_there(cached, params)
        params.min_bytes = there + 1
        wait = SessionWait(session, LogReader(params), {})
        wrong = "" if not wait.satisfied() else f"{there} bytes are {there + 1}"
        for cached in session.partitions():
            cached.mark()
        if not wrong and wait.satisfied():
            wrong = f"{there} bytes are {there + 1} when they are counted again"
        gone, _ = hosted[0]
        for cached in session.partitions():
            cached.mark()
        forgotten = FetchRequestForgottenTopic(gone.topic, partitions=[gone.index])
        session.update([], [forgotten])
        if not wrong and wait.satisfied():
            wrong = f"{gone} was forgotten, and ends a wait"
        session.close()
        wait.end()
        return wrong

    # -- an empty session ----------------------------------------------------------------------

    def _wrong_filling(self, broker: Broker, hosted: list[Hosted]) -> str:
        services = broker.services
        manager = self._managers.get(broker)
        if manager is None:
            manager = self._managers[broker] = FetchManager(
                services.clock,
                services.config,
                services.metadata,
                services.replicas,
                Random(self._rng.random()),
            )
        session = FetchSession(privileged=False, uses_topic_ids=False)
        if not manager.try_create_session(session):
            return ""  # none are kept
        request = FetchRequest(
            session_id=session.id, session_epoch=1, topics=[_asked(hosted[0][0], 0)]
        )
        manager.new_long_context(request, VERSION)
        goes_on = manager.end(session.id, "closed")
        return "" if goes_on else "it was empty, and was closed before it was filled"


class _Arriving(list[object]):
    """Keys to be registered under; meanwhile there are records for the entry."""

    def __init__(self, key: object, entry: FetchEntry, offset: int) -> None:
        super().__init__([key])
        self._entry = entry
        self._offset = offset

    def __iter__(self) -> Iterator[object]:
        self._entry.fetch_offset = self._offset
        return super().__iter__()


def _wrong_parking(broker: Broker, partition: Partition, log: UnifiedLog) -> str:
    request = FetchRequest(min_bytes=1, max_bytes=MOST_BYTES)
    params = FetchParams(request, VERSION, MOST_BYTES)
    (asked,) = _asked(partition, log.high_watermark).partitions
    entry = FetchEntry(FetchTopic(partition.topic, bytes(16)), asked)
    entry.partition = partition
    start, end = map(log.offset_metadata, (log.log_start_offset, log.high_watermark))
    if start == end or start.segment_base_offset != end.segment_base_offset:
        return ""
    if why_told(entry, params, None):
        return ""
    answers: list[None] = []
    wait = PartitionsWait([entry], LogReader(params))
    parked = DelayedFetch(broker.services.clock.now_ms + 1, wait, lambda: answers.append(None))
    keys = _Arriving(partition, entry, log.log_start_offset)
    if Purgatory(broker.services.timer).try_complete_else_watch(parked, keys) and answers:
        return ""
    parked.give_up()
    return f"what came for {partition} while a fetch was parked is missed"


def _asked(partition: Partition, offset: int) -> FetchRequestTopic:
    asked = FetchRequestPartition(
        partition.index, fetch_offset=offset, partition_max_bytes=MOST_BYTES
    )
    return FetchRequestTopic(partition.topic, partitions=[asked])


def _entry(session: FetchSession, partition: Partition, offset: int) -> CachedPartition:
    """A partition of a session, to be read from `offset`."""
    session.update([_asked(partition, offset)], [])
    return session.topics[partition.topic].partitions[partition.index]
