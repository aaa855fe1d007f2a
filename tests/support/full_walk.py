"""Fetch sessions the way Apache Kafka walks them: every partition of the session at every poll.

The model against which the sessions of `mockbroker.fetch` are compared. It reads and weighs with
the same two pieces (`LogReader`, `PartitionsWait`), but knows nothing of marks, stamps and heaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.fetch.contexts import ResponseTopics, rejection
from mockbroker.replica.delayed_fetch import DelayedFetch, PartitionsWait
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.fetch_params import FetchParams
from mockbroker.replica.log_reader import LogReader
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse, FetchResponsePartition

if TYPE_CHECKING:
    from tests.support.fetch_world import World

Key = tuple[str | bytes, int]


class WalkedEntry(FetchEntry):
    """A cached partition: last request and what was last told."""

    __slots__ = ("told_high_watermark", "told_log_start")

    told_high_watermark: int
    told_log_start: int


class FullWalkPoll:
    """One accepted incremental fetch."""

    def __init__(self, session: FullWalkSession, request: FetchRequest, version: int) -> None:
        self.session = session
        self.params = FetchParams(request, version, 57671680)
        self.response: FetchResponse | None = None
        self.delayed: DelayedFetch | None = None
        world = session.world
        self.rejected: list[tuple[WalkedEntry, int]] = []
        self.readable: list[WalkedEntry] = []
        for entry in session.entries.values():
            error = world.fetch.resolve(entry)
            if error:
                self.rejected.append((entry, error))
            else:
                self.readable.append(entry)
        if not self.params.is_from_follower:
            # KafkaApis goes over a consumer's partitions twice.
            self.rejected.sort(key=lambda refused: refused[1] != ErrorCode.UNKNOWN_TOPIC_ID)
        reader, data = self.read()
        if (
            self.params.max_wait_ms <= 0
            or not self.readable
            or reader.bytes_read >= self.params.min_bytes
            or reader.respond_now
        ):
            self.response = self.respond(data)
            return
        wait = PartitionsWait(self.readable, LogReader(self.params))
        deadline = world.clock.now_ms + self.params.max_wait_ms
        self.delayed = DelayedFetch(deadline, wait, self.answer)
        world.replicas.fetch_purgatory.try_complete_else_watch(self.delayed, wait.keys())

    def read(self) -> tuple[LogReader, list[tuple[WalkedEntry, FetchResponsePartition, int]]]:
        reader = LogReader(self.params)
        data = []
        for entry in self.readable:
            found = reader.read(entry)
            data.append((entry, found, reader.last_size_bytes))
        return reader, data

    def answer(self) -> None:
        self.response = self.respond(self.read()[1])

    def respond(self, data: list[tuple[WalkedEntry, FetchResponsePartition, int]]) -> FetchResponse:
        collected = ResponseTopics()
        for entry, found, size in data:
            if self.has_news(entry, found, size):
                collected.add(entry.topic, found)
                if size:
                    self.session.rotate(entry)
        for entry, error in self.rejected:
            refused = rejection(entry.index, error)
            self.has_news(entry, refused, 0)
            collected.add(entry.topic, refused)
        return FetchResponse(0, 0, self.session.id, collected.topics)

    @staticmethod
    def has_news(entry: WalkedEntry, data: FetchResponsePartition, size: int) -> bool:
        news = size > 0
        if data.high_watermark != entry.told_high_watermark:
            entry.told_high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != entry.told_log_start:
            entry.told_log_start = data.log_start_offset
            news = True
        if data.error_code:
            entry.told_high_watermark = -1
            return True
        if data.diverging_epoch is not None:
            return True
        if entry.high_watermark < data.high_watermark:
            entry.high_watermark = data.high_watermark
            return True
        return news


class FullWalkSession:
    """A session, opened from the answer to a full fetch."""

    def __init__(
        self,
        world: World,
        request: FetchRequest,
        response: FetchResponse,
        *,
        by_id: bool,
    ) -> None:
        self.world = world
        self.id = response.session_id
        self.by_id = by_id
        self.entries: dict[Key, WalkedEntry] = {}
        self.topics: dict[str | bytes, FetchTopic] = {}
        self.update(request)
        for entry in self.entries.values():
            world.fetch.resolve(entry)
        order: dict[Key, WalkedEntry] = {}
        for topic in response.responses:
            for data in topic.partitions:
                key = (topic.topic_id if by_id else topic.topic, data.partition_index)
                entry = order[key] = self.entries[key]
                FullWalkPoll.has_news(entry, data, 0)
        self.entries = order

    def poll(self, request: FetchRequest, version: int) -> FullWalkPoll:
        self.update(request)
        return FullWalkPoll(self, request, version)

    def update(self, request: FetchRequest) -> None:
        for asked in request.topics:
            name: str | bytes = asked.topic_id if self.by_id else asked.topic
            for partition in asked.partitions:
                entry = self.entries.get((name, partition.partition))
                if entry is not None:
                    entry.update(partition)
                    continue
                topic = self.topics.get(name)
                if topic is None:
                    topic = self.topics[name] = FetchTopic(
                        None if self.by_id else asked.topic, asked.topic_id
                    )
                entry = WalkedEntry(topic, partition)
                entry.told_high_watermark = entry.told_log_start = -1
                self.entries[name, partition.partition] = entry
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                self.entries.pop((gone.topic_id if self.by_id else gone.topic, index), None)
        named = {name for name, _ in self.entries}
        self.topics = {name: topic for name, topic in self.topics.items() if name in named}

    def rotate(self, entry: WalkedEntry) -> None:
        key = (entry.topic.topic_id if self.by_id else entry.topic.name or "", entry.index)
        self.entries[key] = self.entries.pop(key)
