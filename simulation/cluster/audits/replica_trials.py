"""Replicas, tried beside the cluster: answers that are late, partitions that go.

A fetcher of its own follows a likeness of one of the run's logs, which nobody else sees, and the
trial answers in its leader's place.

- An answer counts where it was asked for: not when the log was cut since, and what was asked of an
  end of a log not in another leader epoch (AbstractFetcherThread).
- A log whose leader knows an epoch that it does not know itself is cut where its own epoch before
  that one ends, if at all (AbstractFetcherThread.getOffsetTruncationState).
- What is held back is so until it goes: a topic that has the same name is another.
- A replica that went is told as one that is elsewhere, while its topic is there.
- A follower that fetches from the high watermark on joins, if the leader's epoch began before.
- What is too old is deleted in the first round after that (log.retention.check.interval.ms).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.clock import Clock, Timer
from mockbroker.replica.fetcher import ReplicaFetcher, truncation_offset
from mockbroker.replica.fetchers import ReplicaFetchers
from mockbroker.replica.hosted_log import PartitionReader
from mockbroker.replica.partition import Partition, PartitionHost
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from simulation.cluster.audits.log_trials import likeness
from simulation.cluster.audits.trials import Trials
from simulation.stage import EPOCH_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from mockbroker_protocol.messages.fetch import FetchRequest

SEGMENT_BYTES: Final = 300
WHILE_MS: Final = 1_000
OTHER_ID: Final = b"another topic id"


class _Channel:
    """What a fetcher asks, and whom to answer."""

    def __init__(self) -> None:
        self.fetches: list[FetchRequest] = []
        self.answer: Callable[[FetchResponse | None], None] = _nobody
        self.answer_other: Callable[[object], None] = _nobody

    def fetch(
        self,
        request: FetchRequest,
        _version: int,
        on_response: Callable[[FetchResponse | None], None],
    ) -> None:
        """As FetchChannel."""
        self.fetches.append(request)
        self.answer = on_response

    def send(self, _request: object, _version: int, on_response: Callable[[object], None]) -> None:
        """As FetchChannel."""
        self.answer_other = on_response

    def close(self) -> None:
        """Nothing is to be closed."""


def _nobody(_: object) -> None:
    """Has asked nothing yet."""


class ReplicaTrials(Trials):
    """Tries what follows a partition."""

    chance = 0.1

    def try_one(self, broker: Broker) -> Iterator[str]:
        """One trial with the log of one partition."""
        rng = self._rng
        hosted = broker.services.replicas.all_partitions()
        known = [each for each in hosted if each.log is not None and len(each.state.replicas) > 1]
        if not known:
            return
        partition = rng.choice(known)
        assert partition.log is not None
        like = likeness(partition.log, SEGMENT_BYTES)
        if like is not None:
            self.tried += 1
            trial = _Trial(broker, partition, like)
            wrong = rng.choice(trial.all)(rng)
            if wrong:
                yield f"{partition}, as it is followed in a trial: {wrong}"


class _Trial:
    """One partition that is followed at a broker like that of the run."""

    def __init__(self, broker: Broker, partition: Partition, log: UnifiedLog) -> None:
        services = broker.services
        self.all = (
            self.late_answer,
            self.late_end,
            self.unknown_epoch,
            self.held,
            self.gone,
            self.grown_old,
            self.caught_up,
        )
        self._log = log
        self._channel = _Channel()
        self._node = broker.broker_id
        self._config = services.replicas.config
        self._clock, self._timer = Clock(EPOCH_MS), Timer()
        self._host = PartitionHost(
            self._node, self._clock, self._timer, self._config, services.metadata
        )
        leader = next(node for node in partition.state.replicas if node != self._node)
        self._state = partition.state._replace(leader=leader)
        self._partition = self._followed(partition.topic, partition.topic_id, partition.index)
        self._partition.adopt(log)

    def _followed(self, topic: str, topic_id: bytes, index: int) -> Partition:
        return Partition(self._host, topic, topic_id, index, self._state)

    def _ask(self) -> None:
        """It is fetched."""
        channel, clock, timer = self._channel, self._clock, self._timer
        fetcher = ReplicaFetcher(channel, clock, timer, self._config, self._node, 1)
        fetcher.add(self._partition)
        fetcher.poll()

    def _answer(self, error: int = 0, records: bytes = b"") -> None:
        data = FetchResponsePartition(self._partition.index, error, 0, records=records)
        data.log_start_offset = self._log.log_start_offset
        topic = FetchResponseTopic(topic_id=self._partition.topic_id, partitions=[data])
        self._channel.answer(FetchResponse(session_id=1, responses=[topic]))

    # -- trials ------------------------------------------------------------------------------

    def late_answer(self, rng: Random) -> str:
        """The log is cut while its next batch is under way."""
        log = self._log
        header, batch = [*log.iterate_batches(log.log_start_offset)][-1]
        if header.base_offset == log.log_start_offset:
            return ""
        log.truncate_to(header.base_offset)
        self._ask()
        self._partition.truncate_to(rng.randint(log.log_start_offset, log.log_end_offset - 1))
        before = log.log_end_offset
        self._answer(records=bytes(batch))
        if log.log_end_offset == before:
            return ""
        return f"cut at {before}, it takes a batch of {header.base_offset}"

    def late_end(self, rng: Random) -> str:
        """The leader is asked where its log ends, and another epoch begins."""
        log, partition = self._log, self._partition
        self._ask()
        self._answer(ErrorCode.OFFSET_OUT_OF_RANGE)
        is_late, end = rng.random() < 0.5, log.log_end_offset
        if is_late:
            state = self._state
            partition.change_state(state._replace(leader_epoch=state.leader_epoch + 1))
        told = ListOffsetsPartitionResponse(partition.index, offset=end - 1)
        topic = ListOffsetsTopicResponse(partition.topic, [told])
        self._channel.answer_other(ListOffsetsResponse(topics=[topic]))
        was_cut = log.log_end_offset < end
        return "" if was_cut is not is_late else f"an end is told, late {is_late}: cut {was_cut}"

    def unknown_epoch(self, rng: Random) -> str:
        """The leader knows where an epoch ends, maybe one that is unknown here."""
        log, end = self._log, self._log.log_end_offset
        log.assign_epoch(log.latest_epoch + 3)
        told = rng.randint(log.log_start_offset, end)
        epoch = log.latest_epoch - rng.randint(0, 3)
        known = [one for one, _ in log.leader_epochs()]
        begins = [start for one, start in log.leader_epochs() if one > epoch]
        ends = begins[0] if begins else end
        wanted = min(ends, told) if epoch in known or epoch < known[0] else ends
        cut = truncation_offset(log, EpochEndOffset(epoch, told))
        if cut == wanted:
            return ""
        return f"epoch {epoch} ends at {told} there: cut at {cut}, not {wanted}, with {known}"

    def held(self, _rng: Random) -> str:
        """It is held back, and its topic deleted and made again."""
        partition, channel = self._partition, self._channel
        fetchers = ReplicaFetchers(
            self._node, 1, self._clock, self._timer, self._config, lambda _leader: channel
        )
        fetchers.role_changed(partition)
        fetchers.hold(partition)
        fetchers.run()
        partition.delete()
        fetchers.role_changed(partition)
        early = len(channel.fetches)
        fetchers.role_changed(self._followed(partition.topic, OTHER_ID, partition.index))
        fetchers.run()
        asked = len(channel.fetches)
        return "" if (early, asked) == (0, 1) else f"held it is asked {early} times, then {asked}"

    def gone(self, rng: Random) -> str:
        """It goes, with its topic or alone."""
        partition, is_there = self._partition, rng.random() < 0.5
        if not is_there:
            partition = self._followed(partition.topic, OTHER_ID, partition.index)
        partition.delete()
        told = partition.error_when_gone()
        if is_there:
            is_right = told == ErrorCode.NOT_LEADER_OR_FOLLOWER
        else:
            is_right = told == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return "" if is_right else f"it is gone, its topic is not {is_there}: {told!r}"

    def caught_up(self, rng: Random) -> str:
        """It leads alone, and a follower fetches what others have, or all."""
        log, host, proposed = self._log, self._host, list[list[int]]()
        host.propose_isr = lambda _, isr: proposed.append(isr)
        node, state = self._state.leader, self._state
        self._state = state._replace(leader=self._node, isr=[self._node])
        led = self._followed(self._partition.topic, self._partition.topic_id, self._partition.index)
        (led.adopt if rng.random() < 0.5 else led.replace_log)(log)
        reader, between = PartitionReader(), rng.randint(log.high_watermark, log.log_end_offset)
        reader.fetch_offset = rng.choice((between, log.log_end_offset, log.log_start_offset))
        reader.log_start_offset = log.log_start_offset
        needs = max(log.high_watermark, led.epoch_start_offset)
        led.follower_fetched(node, reader, log.log_end_offset)
        known = host.metadata.brokers.get(node)
        may_join = known is not None and not known.fenced and not known.leaving
        joins = may_join and reader.fetch_offset >= needs
        if proposed == ([[self._node, node]] if joins else []):
            return ""
        return f"{node} has {reader.fetch_offset} of {needs}: {proposed} is proposed"

    def grown_old(self, rng: Random) -> str:
        """Time passes until its first segment is too old, and the round after that comes."""
        log, clock = self._log, self._clock
        if log.config.compact:
            return ""  # the cleaner has rounds of its own
        interval_ms = self._config.int("log.retention.check.interval.ms")
        log.set_high_watermark(log.log_end_offset)
        log.config = log.config.replace(
            compact=False, delete=True, retention_ms=WHILE_MS, retention_bytes=-1
        )
        old_ms = log.segments()[0].largest_timestamp + WHILE_MS + 1
        clock.epoch_ms = old_ms - rng.randint(1, 2 * interval_ms)
        self._host.upkeep.look_at(self._partition, log)
        first_ms = self._config.int("log.initial.task.delay.ms")
        round_ms = first_ms
        while clock.epoch_ms + round_ms < old_ms:
            round_ms += interval_ms
        start, starts = log.log_start_offset, list[int]()
        for now_ms in (*range(first_ms, round_ms, interval_ms), round_ms - 1, round_ms):
            clock.now_ms = now_ms
            self._timer.advance(now_ms)
            starts.append(log.log_start_offset)
        if starts[-2] == start < starts[-1]:
            return ""
        return f"too old in {old_ms - clock.epoch_ms} ms, it begins at {starts} by {round_ms} ms"
