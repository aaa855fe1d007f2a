"""A topic's effective configs: its own over its broker's synonyms over defaults.

`MetadataStore` keeps one for each topic; the log reads it on every append, so a value is parsed
once and is a plain dict entry from then on. When the broker's dynamic configs change, the store
makes new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.definition import ConfigType
from mockbroker.config.errors import ConfigError
from mockbroker.config.log_config import CODECS, DEFAULT_LOG_CONFIG, LogConfig
from mockbroker.config.lookups import TypedLookups
from mockbroker.config.registry import TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.config.broker import BrokerConfig


# The fields of LogConfig that are a config of the same name.
_INTS: Final = (
    "segment_ms",
    "segment_jitter_ms",
    "index_interval_bytes",
    "max_message_bytes",
    "max_decompressed_message_bytes",
    "retention_ms",
    "retention_bytes",
    "min_compaction_lag_ms",
    "max_compaction_lag_ms",
    "delete_retention_ms",
    "flush_messages",
)
# What topics inherit from their broker, but min.insync.replicas, which is not for their logs: where
# none of it is set, the logs of a topic without configs of its own go by the defaults.
SYNONYMS: Final = frozenset(
    {
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "log.cleaner.delete.retention.ms",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.min.cleanable.ratio",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleanup.policy",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.flush.scheduler.interval.ms",
        "log.index.interval.bytes",
        "log.index.size.max.bytes",
        "log.local.retention.bytes",
        "log.local.retention.ms",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.type",
        "log.preallocate",
        "log.remote.copy.lag.bytes",
        "log.remote.copy.lag.ms",
        "log.retention.bytes",
        "log.retention.hours",
        "log.retention.minutes",
        "log.retention.ms",
        "log.roll.hours",
        "log.roll.jitter.hours",
        "log.roll.jitter.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "log.segment.delete.delay.ms",
        "max.decompressed.message.bytes",
        "message.max.bytes",
        "unclean.leader.election.enable",
    }
)
_CODECS_WITH_LEVEL: Final = frozenset({"gzip", "lz4", "zstd"})

# A negative time of any unit means no limit (Kafka: KafkaConfig.logRetentionTimeMillis).
_UNLIMITED_WHEN_NEGATIVE: Final = "retention.ms"


class TopicConfig(TypedLookups):
    """The configs of one topic. `overrides` are its own, already validated by `validate`."""

    __slots__ = ("_log_config", "broker", "overrides")

    def __init__(self, overrides: Mapping[str, str], broker: BrokerConfig) -> None:
        super().__init__(lambda name: TOPIC.require(name).parse(self.text(name)))
        self.overrides = overrides
        self.broker = broker
        self._log_config: LogConfig | None = None

    @property
    def log_config(self) -> LogConfig:
        """What the logs of this topic's partitions go by: one object for all of them."""
        config = self._log_config
        if config is None:
            by_default = self._is_by_default()
            config = DEFAULT_LOG_CONFIG if by_default else self._build_log_config()
            self._log_config = config
        return config

    def _is_by_default(self) -> bool:
        """Whether nothing was set that the topic's logs go by, here or at the broker."""
        return not self.overrides and all(map(SYNONYMS.isdisjoint, self.broker.levels()))

    def text(self, name: str) -> str | None:
        """The text in force."""
        text = self.overrides.get(name)
        if text is None:
            text, _ = self.inherited(name)
        return text

    def validate(self) -> None:
        """Check the overrides, alone and together (Kafka: LogConfig.validate); ConfigError."""
        if self._is_by_default():
            return
        for name in self.overrides:
            if self.broker.hides(TOPIC.require(name)):
                raise TOPIC.unknown(name)
        for name in self.overrides:
            self.value(name)
        low, high = self.int("min.compaction.lag.ms"), self.int("max.compaction.lag.ms")
        if low > high:
            raise ConfigError(
                f"conflict topic config setting min.compaction.lag.ms ({low}) > "
                f"max.compaction.lag.ms ({high})"
            )
        if self.bool("remote.storage.enable") and not self.broker.bool(
            "remote.log.storage.system.enable"
        ):
            raise ConfigError(
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            )

    def _build_log_config(self) -> LogConfig:
        compression_type = self.str("compression.type")
        segment_bytes = self.value("internal.segment.bytes") or self.value("segment.bytes")
        level = None
        if compression_type in _CODECS_WITH_LEVEL:
            level = self.int(f"compression.{compression_type}.level")
        assert isinstance(segment_bytes, int)
        policies, max_segment_ms = self.list("cleanup.policy"), self.int("segment.ms")
        if "compact" in policies:
            max_segment_ms = min(max_segment_ms, self.int("max.compaction.lag.ms"))
        return LogConfig(
            segment_bytes=segment_bytes,
            max_segment_ms=max_segment_ms,
            log_append_time=self.str("message.timestamp.type") == "LogAppendTime",
            timestamp_before_max_ms=self.int("message.timestamp.before.max.ms"),
            timestamp_after_max_ms=self.int("message.timestamp.after.max.ms"),
            target_compression=CODECS[compression_type],
            compression_level=level,
            compact="compact" in policies,
            delete="delete" in policies,
            min_cleanable_dirty_ratio=self.float("min.cleanable.dirty.ratio"),
            **{name: self.int(name.replace("_", ".")) for name in _INTS},
        )

    def inherited(self, name: str) -> tuple[str | None, str | None]:
        """What holds without an override: the text, and the broker config that gives it, if any."""
        definition = TOPIC.require(name)
        for synonym, factor in definition.behind:
            text = self.broker.configured(synonym)
            if text is not None:
                if definition.type is ConfigType.LONG:
                    number = int(text) * factor
                    unlimited = number < 0 and name == _UNLIMITED_WHEN_NEGATIVE
                    text = "-1" if unlimited else f"{number}"
                return text, synonym
        return definition.default, None
