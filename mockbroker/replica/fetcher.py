"""A follower's fetcher: it keeps this node's replicas in step with one leading broker.

`fetchers` makes one for each broker that leads partitions followed here (Kafka:
AbstractFetcherThread, ReplicaFetcherThread). It is sans-IO: `poll` sends at most one Fetch through
a channel, the answer comes back through a callback, and the next Fetch goes out. One incremental
fetch session carries all its partitions; a request names those whose state changed and no others.

Where two logs part: the leader tells where (DivergingEpoch, KIP-595), this log is cut there, and
the next fetch tries again. An offset that the leader does not have is asked for by ListOffsets.

Invariants: one request is under way at most; an answer counts only for a partition that is still
where it was when it was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    ReplicaState,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.fetch import (
        EpochEndOffset,
        FetchResponse,
        FetchResponsePartition,
    )

FETCH_VERSION: Final = 18
FETCH_VERSION_WITHOUT_HIGH_WATERMARK: Final = 17
_LIST_OFFSETS_VERSION: Final = 9
_LATEST: Final = -1
_EARLIEST: Final = -2
_UNKNOWN_HIGH_WATERMARK: Final = 2**63 - 1
_FULL: Final = 0

_NONE: Final = ErrorCode.NONE


class FetchChannel(Protocol):
    """What carries the requests: `links.BrokerClient`."""

    def fetch(
        self,
        request: FetchRequest,
        version: int,
        on_response: Callable[[FetchResponse | None], None],
    ) -> None:
        """Send a Fetch; None answers when the connection was lost."""

    def send(
        self, request: object, version: int, on_response: Callable[[object | None], None]
    ) -> None:
        """Send another message."""

    def close(self) -> None:
        """Hang up."""


class PartitionFetchState:
    """One partition as its fetcher sees it (Kafka: PartitionFetchState).

    `asked` is what the session knows of it: offset, leader epoch, last epoch, log start and high
    watermark. It is not fetched before `retry_ms`, on the clock of the node.
    """

    __slots__ = ("asked", "partition", "retry_ms")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.asked: tuple[int, int, int, int, int] | None = None
        self.retry_ms = 0.0


class ReplicaFetcher:
    """Follows one leader. `broker_epoch` is this node's own registration."""

    __slots__ = (
        "_alarm",
        "_busy",
        "_by_key",
        "_changed",
        "_clock",
        "_config",
        "_epoch",
        "_failures",
        "_forgotten",
        "_interrupt",
        "_max_bytes",
        "_min_bytes",
        "_replica_id",
        "_response_max_bytes",
        "_session_id",
        "_timer",
        "broker_epoch",
        "channel",
        "max_wait_ms",
        "version",
    )

    def __init__(
        self,
        channel: FetchChannel,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        replica_id: int,
        broker_epoch: int,
    ) -> None:
        self.channel = channel
        self._clock = clock
        self._timer = timer
        self._config = config
        # None of them can be changed while a broker is up.
        self.max_wait_ms = config.int("replica.fetch.wait.max.ms")
        self._min_bytes = config.int("replica.fetch.min.bytes")
        self._max_bytes = config.int("replica.fetch.max.bytes")
        self._response_max_bytes = config.int("replica.fetch.response.max.bytes")
        self._replica_id = replica_id
        self.broker_epoch = broker_epoch
        self.version = FETCH_VERSION
        self._by_key: dict[tuple[bytes, int], PartitionFetchState] = {}
        self._changed: dict[PartitionFetchState, None] = {}
        self._forgotten: dict[tuple[bytes, int], None] = {}
        self._session_id = 0
        self._epoch = _FULL
        self._busy = False
        self._interrupt = False
        self._failures = 0
        self._alarm: TimerTask | None = None

    # -- which partitions --------------------------------------------------------------------

    def __len__(self) -> int:
        """How many partitions it follows."""
        return len(self._by_key)

    def add(self, partition: Partition) -> None:
        """Follow the partition, or note that its leader's epoch changed. `poll` soon."""
        key = partition.topic_id, partition.index
        followed = self._by_key.get(key)
        if followed is None or followed.partition is not partition:
            asked = None if followed is None else followed.asked
            followed = self._by_key[key] = PartitionFetchState(partition)
            followed.asked = asked
            self._interrupt = self._busy
        followed.retry_ms = 0.0
        self._forgotten.pop(key, None)
        self._changed[followed] = None

    def remove(self, partition: Partition) -> None:
        """Follow it no more."""
        key = partition.topic_id, partition.index
        followed = self._by_key.pop(key, None)
        if followed is not None:
            self._changed.pop(followed, None)
            # Even when it was not asked for: it may have been delayed, added again and still be
            # in the session, which would answer its error for ever. What it lacks it forgets too.
            self._forgotten[key] = None

    def close(self) -> None:
        """Stop for good."""
        self._by_key.clear()
        self._changed.clear()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self.channel.close()

    @property
    def is_idle(self) -> bool:
        """Whether it waits for an answer and knows nothing that the next request would tell."""
        alarm = self._alarm
        return (
            self._busy
            and not self._interrupt
            and not self._changed
            and not self._forgotten
            and self._epoch != _FULL
            and (alarm is None or not alarm.pending)
        )

    # -- asking ------------------------------------------------------------------------------

    def poll(self) -> None:
        """Send the next Fetch unless one is under way or nothing is to be fetched.

        One that may be parked does not hold up a partition that is new: it is abandoned.
        """
        if self._interrupt:
            self._abandon_request()
        if self._busy or not self._by_key:
            return
        now_ms = self._clock.now_ms
        if self._epoch == _FULL:
            asked = [each for each in self._by_key.values() if each.retry_ms <= now_ms]
            self._forgotten.clear()
        else:
            asked = [each for each in self._changed if each.retry_ms <= now_ms]
        later: list[PartitionFetchState] = []
        if self._epoch == _FULL or len(asked) < len(self._changed):
            later = [each for each in self._changed if each.retry_ms > now_ms]
        self._changed = dict.fromkeys(later)
        for followed in later:
            if followed.asked is not None:
                followed.asked = None
                self._forgotten[followed.partition.topic_id, followed.partition.index] = None
        if later:
            self._wake_at(min(each.retry_ms for each in later))
        if len(later) == len(self._by_key):
            return
        self._busy = True
        self.channel.fetch(self._request(asked), self.version, self._process_response)

    def _abandon_request(self) -> None:
        """Begin a session in place of the one under way; Kafka waits for its answer here."""
        session_id = self._session_id
        self.channel.close()
        self._reset_session()
        self._session_id = session_id
        self._busy = self._interrupt = False

    def _request(self, asked: Iterable[PartitionFetchState]) -> FetchRequest:
        max_bytes = self._max_bytes
        topics: dict[bytes, FetchRequestTopic] = {}
        tells_high_watermark = self.version >= FETCH_VERSION
        for followed in asked:
            partition = followed.partition
            log = partition.log or partition.open_log()
            state = (
                log.log_end_offset,
                partition.leader_epoch,
                log.latest_epoch,
                log.log_start_offset,
                log.high_watermark,
            )
            if followed.asked == state and self._epoch != _FULL:
                continue
            followed.asked = state
            if (
                self._forgotten
            ):  # it was delayed, and whoever is asked for what is forgotten forgets
                self._forgotten.pop((partition.topic_id, partition.index), None)
            topic = topics.get(partition.topic_id)
            if topic is None:
                topic = topics[partition.topic_id] = FetchRequestTopic(
                    topic_id=partition.topic_id, partitions=[]
                )
            topic.partitions.append(
                FetchRequestPartition(
                    partition=partition.index,
                    current_leader_epoch=state[1],
                    fetch_offset=state[0],
                    last_fetched_epoch=state[2],
                    log_start_offset=state[3],
                    partition_max_bytes=max_bytes,
                    high_watermark=state[4] if tells_high_watermark else _UNKNOWN_HIGH_WATERMARK,
                )
            )
        return FetchRequest(
            replica_state=ReplicaState(self._replica_id, self.broker_epoch),
            max_wait_ms=self.max_wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=self._response_max_bytes,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=list(topics.values()),
            forgotten_topics_data=self._take_forgotten() if self._forgotten else [],
        )

    def _take_forgotten(self) -> list[FetchRequestForgottenTopic]:
        topics: dict[bytes, list[int]] = {}
        for topic_id, index in self._forgotten:
            topics.setdefault(topic_id, []).append(index)
        self._forgotten.clear()
        return [
            FetchRequestForgottenTopic(topic_id=topic_id, partitions=indexes)
            for topic_id, indexes in topics.items()
        ]

    # -- the answer --------------------------------------------------------------------------

    def _process_response(self, response: FetchResponse | None) -> None:
        self._busy = self._interrupt = False
        if response is None or response.error_code:
            self._reset_session()
            self._failures += 1
            if response is None or self._failures > 1:
                self._delay_partitions(self._by_key.values())
            self.poll()
            return
        self._failures = 0
        if self._epoch == _FULL:
            self._session_id = response.session_id
            self._epoch = 1 if response.session_id else _FULL
        else:
            self._epoch = 1 if self._epoch == 2**31 - 1 else self._epoch + 1
        for topic in response.responses:
            for data in topic.partitions:
                followed = self._by_key.get((topic.topic_id, data.partition_index))
                if followed is not None:
                    self._process_partition_data(followed, data)
        self.poll()

    def _reset_session(self) -> None:
        """The session is gone: the next request is a full one."""
        self._session_id = 0
        self._epoch = _FULL
        self._forgotten.clear()
        for followed in self._by_key.values():
            followed.asked = None

    def _process_partition_data(
        self, followed: PartitionFetchState, data: FetchResponsePartition
    ) -> None:
        """What the leader says of one partition (AbstractFetcherThread.processFetchRequest)."""
        partition = followed.partition
        asked = followed.asked
        log = partition.log
        if (
            asked is None
            or log is None
            or log.log_end_offset != asked[0]
            or partition.leader_epoch != asked[1]
            or partition.is_leader
        ):
            return
        self._changed[followed] = None
        error = data.error_code
        if error == _NONE:
            if data.diverging_epoch is not None:
                partition.truncate_to(truncation_offset(log, data.diverging_epoch))
                return
            records = data.records or b""
            chunk = b"".join(records) if isinstance(records, list) else records
            error = partition.append_as_follower(chunk, data.high_watermark, data.log_start_offset)
            if error is _NONE:
                return
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._find_offset(followed)
        else:
            # Another leader or epoch will be heard of; until then ask again from time to time.
            self._delay_partitions([followed])

    def _delay_partitions(self, delayed: Iterable[PartitionFetchState]) -> None:
        retry_ms = self._clock.now_ms + self._config.int("replica.fetch.backoff.ms")
        for followed in delayed:
            followed.retry_ms = retry_ms
            self._changed[followed] = None

    def _wake_at(self, time_ms: float) -> None:
        if self._alarm is None or not self._alarm.pending:
            self._alarm = self._timer.schedule(time_ms, self.poll)

    # -- an offset that the leader does not have ---------------------------------------------

    def _find_offset(self, followed: PartitionFetchState) -> None:
        """AbstractFetcherThread.fetchOffsetAndTruncate: ask where the leader's log ends."""
        self._delay_partitions([followed])
        self._list_offset(followed, _LATEST, lambda end: self._found_end(followed, end))

    def _found_end(self, followed: PartitionFetchState, end_offset: int) -> None:
        partition = followed.partition
        log = partition.log or partition.open_log()
        if end_offset < log.log_end_offset:
            partition.truncate_to(end_offset)
            self._resume(followed)
        else:
            self._list_offset(followed, _EARLIEST, lambda start: self._found_start(followed, start))

    def _found_start(self, followed: PartitionFetchState, start_offset: int) -> None:
        partition = followed.partition
        log = partition.log or partition.open_log()
        if start_offset > log.log_end_offset:
            partition.restart_at(start_offset)
        self._resume(followed)

    def _resume(self, followed: PartitionFetchState) -> None:
        partition = followed.partition
        if self._by_key.get((partition.topic_id, partition.index)) is not followed:
            return
        followed.retry_ms = 0.0
        self._changed[followed] = None
        self.poll()

    def _list_offset(
        self, followed: PartitionFetchState, timestamp: int, found: Callable[[int], None]
    ) -> None:
        from mockbroker_protocol.messages.list_offsets import (
            ListOffsetsPartition,
            ListOffsetsRequest,
            ListOffsetsResponse,
            ListOffsetsTopic,
        )

        partition = followed.partition
        epoch = partition.leader_epoch

        def answered(response: object | None) -> None:
            if not isinstance(response, ListOffsetsResponse) or partition.leader_epoch != epoch:
                return
            answer = response.topics[0].partitions[0]
            if answer.error_code == _NONE and not partition.is_leader and not partition.deleted:
                found(answer.offset)

        wanted = ListOffsetsPartition(
            partition_index=partition.index, current_leader_epoch=epoch, timestamp=timestamp
        )
        request = ListOffsetsRequest(
            replica_id=self._replica_id,
            topics=[ListOffsetsTopic(name=partition.topic, partitions=[wanted])],
        )
        self.channel.send(request, _LIST_OFFSETS_VERSION, answered)


def truncation_offset(log: UnifiedLog, leader: EpochEndOffset) -> int:
    """Where to cut a log whose leader says that an epoch ends at an offset.

    If this log knows another epoch as the largest up to that one, it is cut at that one's end,
    and the next fetch goes on from there (AbstractFetcherThread.getOffsetTruncationState).
    """
    if leader.epoch < 0:
        return min(max(leader.end_offset, 0), log.log_end_offset)
    own = log.end_offset_for_epoch(leader.epoch)
    if own is None:
        return min(leader.end_offset, log.log_end_offset)
    epoch, end_offset = own
    if epoch != leader.epoch:
        return min(end_offset, log.log_end_offset)
    return min(end_offset, leader.end_offset, log.log_end_offset)
