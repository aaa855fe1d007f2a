"""What one partition's log asks of its topic's configuration, typed once per topic.

The config room builds it from the effective topic configs and hands the same object to every
partition of the topic; a change of configs hands over a new one. `UnifiedLog`, `Segment` and
`LogValidator` read it on the hot path, so the words that Kafka uses ("producer", "LogAppendTime",
"compact,delete") are taken apart here. Nothing changes it after it was made.
"""

from __future__ import annotations

PRODUCER_COMPRESSION = -1
"""compression.type=producer: batches are stored as they came."""

INT64_MAX = (1 << 63) - 1

_CODECS = {
    "producer": PRODUCER_COMPRESSION,
    "uncompressed": 0,
    "gzip": 1,
    "snappy": 2,
    "lz4": 3,
    "zstd": 4,
}


class LogConfig:
    """Topic configs under Kafka's names (dots are underscores, message.timestamp.* shortened).

    Derived from them: `log_append_time`, `compact`, `delete`; `max_segment_ms`, since a compacted
    log must roll in time for max.compaction.lag.ms; and `target_compression`, the codec to store
    in (-1: that of the producer).
    """

    __slots__ = (
        "cleanup_policy",
        "compact",
        "compression_level",
        "compression_type",
        "delete",
        "delete_retention_ms",
        "index_interval_bytes",
        "log_append_time",
        "max_compaction_lag_ms",
        "max_decompressed_message_bytes",
        "max_message_bytes",
        "max_segment_ms",
        "min_cleanable_dirty_ratio",
        "min_compaction_lag_ms",
        "retention_bytes",
        "retention_ms",
        "segment_bytes",
        "segment_jitter_ms",
        "segment_ms",
        "target_compression",
        "timestamp_after_max_ms",
        "timestamp_before_max_ms",
        "timestamp_type",
    )

    def __init__(
        self,
        *,
        segment_bytes: int = 1 << 30,
        segment_ms: int = 7 * 86_400_000,
        max_message_bytes: int = 1_048_588,
        max_decompressed_message_bytes: int = 2_147_483_639,
        timestamp_type: str = "CreateTime",
        timestamp_before_max_ms: int = INT64_MAX,
        timestamp_after_max_ms: int = 3_600_000,
        compression_type: str = "producer",
        compression_level: int | None = None,
        cleanup_policy: str = "delete",
        retention_ms: int = 7 * 86_400_000,
        retention_bytes: int = -1,
        index_interval_bytes: int = 4096,
        segment_jitter_ms: int = 0,
        min_cleanable_dirty_ratio: float = 0.5,
        min_compaction_lag_ms: int = 0,
        max_compaction_lag_ms: int = INT64_MAX,
        delete_retention_ms: int = 86_400_000,
    ) -> None:
        self.segment_bytes = segment_bytes
        self.segment_ms = segment_ms
        self.max_message_bytes = max_message_bytes
        self.max_decompressed_message_bytes = max_decompressed_message_bytes
        self.timestamp_type = timestamp_type
        self.timestamp_before_max_ms = timestamp_before_max_ms
        self.timestamp_after_max_ms = timestamp_after_max_ms
        self.compression_type = compression_type
        self.compression_level = compression_level
        self.cleanup_policy = cleanup_policy
        self.retention_ms = retention_ms
        self.retention_bytes = retention_bytes
        self.index_interval_bytes = index_interval_bytes
        self.segment_jitter_ms = segment_jitter_ms
        self.min_cleanable_dirty_ratio = min_cleanable_dirty_ratio
        self.min_compaction_lag_ms = min_compaction_lag_ms
        self.max_compaction_lag_ms = max_compaction_lag_ms
        self.delete_retention_ms = delete_retention_ms
        policies = [policy.strip() for policy in cleanup_policy.split(",")]
        self.compact = "compact" in policies
        self.delete = "delete" in policies
        self.max_segment_ms = min(segment_ms, max_compaction_lag_ms) if self.compact else segment_ms
        self.log_append_time = timestamp_type == "LogAppendTime"
        self.target_compression = _CODECS[compression_type]


DEFAULT_LOG_CONFIG = LogConfig()
"""Kafka's defaults: a topic without configs of its own on a broker without any."""
