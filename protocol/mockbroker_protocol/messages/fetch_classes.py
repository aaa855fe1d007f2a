"""The classes of Fetch, written out: one of each is made for every partition.

`fetch` declares their layout, and is what to import. Compiled they are native.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.native import mypyc_attr
from mockbroker_protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from mockbroker_protocol.messages.fetch_parts import (
        AbortedTransaction,
        EpochEndOffset,
        FetchRequestForgottenTopic,
        LeaderIdAndEpoch,
        NodeEndpoint,
        ReplicaState,
        SnapshotId,
    )
    from mockbroker_protocol.primitives import Buffer

    Tags = dict[int, bytes] | None

NO_HIGH_WATERMARK: Final = 2**63 - 1
"""What a reader says who knows none."""
_NONE_GIVEN: Final[list[AbortedTransaction]] = []


class FetchRequest:
    """Read partitions, whole or as a change to a fetch session."""

    __slots__ = (
        "cluster_id",
        "forgotten_topics_data",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_id",
        "replica_state",
        "session_epoch",
        "session_id",
        "topics",
        "unknown_tags",
    )

    def __init__(
        self,
        replica_id: int = -1,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2**31 - 1,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchRequestTopic] | None = None,
        forgotten_topics_data: list[FetchRequestForgottenTopic] | None = None,
        rack_id: str = "",
        cluster_id: str | None = None,
        replica_state: ReplicaState | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is None else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is None else forgotten_topics_data
        self.rack_id = rack_id
        self.cluster_id = cluster_id
        self.replica_state = replica_state
        self.unknown_tags = unknown_tags


class FetchRequestTopic:
    """Partitions of one topic to read."""

    __slots__ = ("partitions", "topic", "topic_id", "unknown_tags")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchRequestPartition] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is None else partitions
        self.unknown_tags = unknown_tags


@mypyc_attr(acyclic=True)
class FetchRequestPartition:
    """Where to read a partition and how much of it at most."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "last_fetched_epoch",
        "log_start_offset",
        "partition",
        "partition_max_bytes",
        "replica_directory_id",
        "unknown_tags",
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = NO_HIGH_WATERMARK,
        unknown_tags: Tags = None,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark
        self.unknown_tags = unknown_tags


class FetchResponse:
    """Data, and changed positions of the partitions of the session."""

    __slots__ = (
        "error_code",
        "node_endpoints",
        "responses",
        "session_id",
        "throttle_time_ms",
        "unknown_tags",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchResponseTopic] | None = None,
        node_endpoints: list[NodeEndpoint] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is None else responses
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tags = unknown_tags


class FetchResponseTopic:
    """Adjacent partitions of one topic; the topic may come again later."""

    __slots__ = ("partitions", "topic", "topic_id", "unknown_tags")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchResponsePartition] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is None else partitions
        self.unknown_tags = unknown_tags


@mypyc_attr(acyclic=True)
class FetchResponsePartition:
    """Offsets and records of a partition; records may be chunks, unjoined."""

    __slots__ = (
        "aborted_transactions",
        "current_leader",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "partition_index",
        "preferred_read_replica",
        "records",
        "snapshot_id",
        "unknown_tags",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        aborted_transactions: list[AbortedTransaction] | None = _NONE_GIVEN,
        preferred_read_replica: int = -1,
        records: Buffer | list[Buffer] | None = None,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        if aborted_transactions is _NONE_GIVEN:
            aborted_transactions = []
        self.aborted_transactions = aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id
        self.unknown_tags = unknown_tags
