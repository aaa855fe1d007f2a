"""One partition of a fetch: what its reader last asked, and the partition it was found to be.

The fetch contexts make entries, `LogReader` reads them, `delayed_fetch` weighs them while their
fetch is parked. A session's entries live on between requests and are told of changes: they are
linked into their `Partition`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.replica.hosted_log import PartitionReader

if TYPE_CHECKING:
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


class FetchEntry(PartitionReader):
    """A partition of a fetch (Kafka: FetchRequest.PartitionData and its TopicIdPartition).

    `high_watermark` is the one that its sender knows (KIP-1166).
    """

    __slots__ = (
        "current_leader_epoch",
        "high_watermark",
        "index",
        "last_fetched_epoch",
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
