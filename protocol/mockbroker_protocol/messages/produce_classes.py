"""The classes of Produce, written out: one of each is made for every partition.

`produce` declares their layout, and is what to import. Compiled they are native.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.native import mypyc_attr
from mockbroker_protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker_protocol.messages.produce_parts import (
        BatchIndexAndErrorMessage,
        LeaderIdAndEpoch,
        NodeEndpoint,
    )
    from mockbroker_protocol.primitives import Buffer

    Tags = dict[int, bytes] | None


class ProduceRequest:
    """Record batches to append; acks is 0, 1 or -1 (all in-sync replicas)."""

    __slots__ = ("acks", "timeout_ms", "topic_data", "transactional_id", "unknown_tags")

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[ProduceRequestTopic] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is None else topic_data
        self.unknown_tags = unknown_tags


class ProduceRequestTopic:
    """What goes to one topic."""

    __slots__ = ("name", "partition_data", "topic_id", "unknown_tags")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: list[ProduceRequestPartition] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is None else partition_data
        self.unknown_tags = unknown_tags


@mypyc_attr(acyclic=True)
class ProduceRequestPartition:
    """The bytes for one partition: one batch from v3 on."""

    __slots__ = ("index", "records", "unknown_tags")

    def __init__(
        self,
        index: int = 0,
        records: Buffer | list[Buffer] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.index = index
        self.records = records
        self.unknown_tags = unknown_tags


class ProduceResponse:
    """What became of each partition; not sent at all when acks was 0."""

    __slots__ = ("node_endpoints", "responses", "throttle_time_ms", "unknown_tags")

    def __init__(
        self,
        responses: list[ProduceResponseTopic] | None = None,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.responses = [] if responses is None else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tags = unknown_tags


class ProduceResponseTopic:
    """The results of one topic."""

    __slots__ = ("name", "partition_responses", "topic_id", "unknown_tags")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: list[ProduceResponsePartition] | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is None else partition_responses
        self.unknown_tags = unknown_tags


@mypyc_attr(acyclic=True)
class ProduceResponsePartition:
    """Base offset and append time, or the error with its culprits (KIP-467)."""

    __slots__ = (
        "base_offset",
        "current_leader",
        "error_code",
        "error_message",
        "index",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "unknown_tags",
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: Sequence[BatchIndexAndErrorMessage] | None = None,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        unknown_tags: Tags = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is None else record_errors
        self.error_message = error_message
        self.current_leader = current_leader
        self.unknown_tags = unknown_tags
