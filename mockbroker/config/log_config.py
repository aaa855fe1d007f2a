"""What one partition's log asks of its topic's configuration, typed once per topic.

`config.topic` builds it from the effective topic configs and hands the same object to every
partition of the topic; a change of configs hands over a new one. `UnifiedLog`, `Segment` and
`LogValidator` read it on the hot path, so the words that Kafka uses ("producer", "LogAppendTime",
"compact,delete") are taken apart before.
"""

from __future__ import annotations

from typing import Any, Final

INT64_MAX: Final = (1 << 63) - 1
_WEEK_MS: Final = 7 * 86_400_000

CODECS: Final = {"producer": -1, "uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
"""The codec that batches of a compression.type are stored in; -1: as they came."""

FIELDS: Final = (
    "compact",
    "compression_level",
    "delete",
    "delete_retention_ms",
    "flush_messages",
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
)


class LogConfig:
    """Topic configs under Kafka's names (dots are underscores, message.timestamp.* shortened).

    `log_append_time` says message.timestamp.type, `compact` and `delete` cleanup.policy,
    `target_compression` and `compression_level` compression.type and its level. `max_segment_ms` is
    when to roll: a compacted log does so in time for max.compaction.lag.ms.
    """

    __slots__ = FIELDS

    def __init__(
        self,
        *,
        segment_bytes: int = 1 << 30,
        segment_ms: int = _WEEK_MS,
        max_segment_ms: int = _WEEK_MS,
        segment_jitter_ms: int = 0,
        index_interval_bytes: int = 4096,
        max_message_bytes: int = 1_048_588,
        max_decompressed_message_bytes: int = 2_147_483_639,
        log_append_time: bool = False,
        timestamp_before_max_ms: int = INT64_MAX,
        timestamp_after_max_ms: int = 3_600_000,
        target_compression: int = CODECS["producer"],
        compression_level: int | None = None,
        compact: bool = False,
        delete: bool = True,
        retention_ms: int = _WEEK_MS,
        retention_bytes: int = -1,
        min_cleanable_dirty_ratio: float = 0.5,
        min_compaction_lag_ms: int = 0,
        max_compaction_lag_ms: int = INT64_MAX,
        delete_retention_ms: int = 86_400_000,
        flush_messages: int = INT64_MAX,
    ) -> None:
        self.segment_bytes = segment_bytes
        self.segment_ms = segment_ms
        self.max_segment_ms = max_segment_ms
        self.segment_jitter_ms = segment_jitter_ms
        self.index_interval_bytes = index_interval_bytes
        self.max_message_bytes = max_message_bytes
        self.max_decompressed_message_bytes = max_decompressed_message_bytes
        self.log_append_time = log_append_time
        self.timestamp_before_max_ms = timestamp_before_max_ms
        self.timestamp_after_max_ms = timestamp_after_max_ms
        self.target_compression = target_compression
        self.compression_level = compression_level
        self.compact = compact
        self.delete = delete
        self.retention_ms = retention_ms
        self.retention_bytes = retention_bytes
        self.min_cleanable_dirty_ratio = min_cleanable_dirty_ratio
        self.min_compaction_lag_ms = min_compaction_lag_ms
        self.max_compaction_lag_ms = max_compaction_lag_ms
        self.delete_retention_ms = delete_retention_ms
        self.flush_messages = flush_messages

    def replace(self, **changes: object) -> LogConfig:
        """The same with these fields changed; TypeError for one that there is not."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in FIELDS}
        return LogConfig(**{**fields, **changes})


DEFAULT_LOG_CONFIG: Final = LogConfig()
"""Kafka's defaults: a topic without configs of its own on a broker without any."""
