"""One partition of a fetch: what its reader last asked, and the partition it was found to be.

The fetch contexts make entries, `LogReader` reads them, `delayed_fetch` weighs them while their
fetch is parked. A session's entries live on between requests and are told of changes; they are
`WatchingEntry`s, linked into their `Partition`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.fetch import FetchRequestPartition


class FetchTopic:
    """A topic as a fetch names it.

    `name` is None while its id is unknown; `topic_id` is zero when the fetch goes by names.
    """

    __slots__ = ("name", "topic_id")

    def __init__(self, name: str | None, topic_id: bytes) -> None:
        self.name = name
        self.topic_id = topic_id


class FetchEntry:
    """A partition of a fetch (Kafka: FetchRequest.PartitionData and its TopicIdPartition).

    `log_start_offset` is the follower's, `high_watermark` the one its sender knows (KIP-1166).
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "partition",
        "topic",
    )

    def __init__(self, topic: FetchTopic, request: FetchRequestPartition) -> None:
        self.topic = topic
        self.index = request.partition
        self.partition: Partition | None = None
        self.fetch_offset = request.fetch_offset
        self.max_bytes = request.partition_max_bytes
        self.current_leader_epoch = request.current_leader_epoch
        self.last_fetched_epoch = request.last_fetched_epoch
        self.log_start_offset = request.log_start_offset
        self.high_watermark = request.high_watermark

    def update(self, request: FetchRequestPartition) -> None:
        """Take the values of a later request for the same partition."""
        self.fetch_offset = request.fetch_offset
        self.max_bytes = request.partition_max_bytes
        self.current_leader_epoch = request.current_leader_epoch
        self.last_fetched_epoch = request.last_fetched_epoch
        self.log_start_offset = request.log_start_offset
        self.high_watermark = request.high_watermark

    def polled_ms(self) -> float:
        """When its reader last asked for it without being met; 0.0 outside of a session."""
        return 0.0


class WatchingEntry(FetchEntry, ABC):
    """An entry that hears of changes of its partition for as long as it is linked into it."""

    __slots__ = ("linked", "next_watcher", "previous_watcher")

    def __init__(self, topic: FetchTopic, request: FetchRequestPartition) -> None:
        super().__init__(topic, request)
        self.linked = False
        self.next_watcher: WatchingEntry | None = None
        self.previous_watcher: WatchingEntry | None = None

    @abstractmethod
    def mark(self) -> None:
        """Something of the partition changed that a fetch may have to tell."""

    @abstractmethod
    def mark_rolled(self, left_segment: int) -> None:
        """Its partition's log left the segment of this base offset and began another."""

    @abstractmethod
    def wait_key(self) -> Hashable | None:
        """The key under which fetches wait that this entry concerns; None: none waits."""
