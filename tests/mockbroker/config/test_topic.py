"""A topic's configs: its own, its broker's, the defaults; and what they mean to its log."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.config.log_config import DEFAULT_LOG_CONFIG
from mockbroker.config.registry import TOPIC
from mockbroker.config.topic import SYNONYMS, TopicConfig


@pytest.mark.parametrize(
    ("broker", "name", "value"),
    [
        ({}, "retention.ms", 604_800_000),
        ({"log.retention.hours": "2"}, "retention.ms", 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "retention.ms", 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, "retention.ms", 4),
        ({"log.retention.hours": "-1"}, "retention.ms", -1),
        ({"log.retention.minutes": "-1"}, "retention.ms", -1),
        ({"log.roll.hours": "1"}, "segment.ms", 3_600_000),
        ({"log.roll.jitter.hours": "1"}, "segment.jitter.ms", 3_600_000),
        ({"log.flush.scheduler.interval.ms": "9"}, "flush.ms", 9),
        ({"message.max.bytes": "99"}, "max.message.bytes", 99),
        (
            {"log.message.timestamp.type": "LogAppendTime"},
            "message.timestamp.type",
            "LogAppendTime",
        ),
        ({"log.cleanup.policy": "compact"}, "cleanup.policy", ("compact",)),
        ({"log.preallocate": "true"}, "preallocate", True),
    ],
)
def test_what_a_topic_leaves_open_its_broker_decides(
    broker: dict[str, str], name: str, value: object
) -> None:
    assert TopicConfig({}, BrokerConfig(broker)).value(name) == value


def test_limits_and_levels_reach_the_log() -> None:
    overrides = {
        "max.message.bytes": "7",
        "max.decompressed.message.bytes": "8",
        "compression.type": "lz4",
        "compression.lz4.level": "12",
        "compression.zstd.level": "1",
    }
    config = TopicConfig(overrides, BrokerConfig()).log_config
    assert (config.max_message_bytes, config.max_decompressed_message_bytes) == (7, 8)
    assert config.compression_level == 12
    broker = BrokerConfig({"max.decompressed.message.bytes": "9"})
    assert TopicConfig({}, broker).log_config.max_decompressed_message_bytes == 9


def test_look_ups_by_type() -> None:
    config = TopicConfig({"retention.ms": "5"}, BrokerConfig())
    assert config.int("retention.ms") == 5
    assert config.bool("preallocate") is False
    assert config.float("min.cleanable.dirty.ratio") == 0.5
    assert config.str("compression.type") == "producer"
    assert config.list("cleanup.policy") == ("delete",)
    assert config.value("internal.segment.bytes") is None


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        (
            {"retention.ms": "-2"},
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        (
            {"min.compaction.lag.ms": "500", "max.compaction.lag.ms": "100"},
            (
                "conflict topic config setting min.compaction.lag.ms (500) > max.compaction.lag.ms "
                "(100)"
            ),
        ),
        (
            {"remote.storage.enable": "true"},
            (
                "Tiered Storage functionality is disabled in the broker. Topic cannot be "
                "configured with remote log storage."
            ),
        ),
    ],
)
def test_bad_overrides_are_refused_in_kafkas_words(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TopicConfig(overrides, BrokerConfig()).validate()
    assert str(caught.value) == message


def test_without_the_extension_its_keys_are_unknown() -> None:
    overrides = {"range.fetch.enable": "false"}
    TopicConfig(overrides, BrokerConfig({"coop.extension.enable": "true"})).validate()
    with pytest.raises(ConfigError, match="Unknown topic config name: range"):
        TopicConfig(overrides, BrokerConfig()).validate()


def test_good_overrides_pass() -> None:
    TopicConfig({"cleanup.policy": "", "retention.ms": " 5 "}, BrokerConfig()).validate()


def test_the_log_is_told_once_for_all_partitions() -> None:
    config = TopicConfig(
        {
            "cleanup.policy": "compact,delete",
            "compression.type": "gzip",
            "compression.gzip.level": "5",
            "segment.bytes": "2000000",
            "message.timestamp.type": "LogAppendTime",
        },
        BrokerConfig(),
    )
    log = config.log_config
    assert log is config.log_config
    assert (log.compact, log.delete, log.log_append_time) == (True, True, True)
    assert (log.target_compression, log.compression_level) == (1, 5)
    assert log.segment_bytes == 2_000_000


def test_an_internal_segment_size_may_be_small() -> None:
    config = TopicConfig({"internal.segment.bytes": "100"}, BrokerConfig())
    assert config.log_config.segment_bytes == 100
    assert config.log_config.compression_level is None


def test_what_is_inherited_names_the_broker_config_behind_it() -> None:
    config = TopicConfig({}, BrokerConfig({"log.retention.hours": "1"}))
    assert config.inherited("retention.ms") == ("3600000", "log.retention.hours")
    assert config.inherited("segment.ms") == ("604800000", None)


@pytest.mark.parametrize(
    ("policy", "compact", "delete"),
    [
        ("delete", False, True),
        ("compact", True, False),
        ("compact,delete", True, True),
        ("delete, compact", True, True),
    ],
)
def test_cleanup_policy_is_a_list(policy: str, compact: bool, delete: bool) -> None:
    config = TopicConfig({"cleanup.policy": policy}, BrokerConfig()).log_config
    assert (config.compact, config.delete) == (compact, delete)


def test_the_words_of_kafka_are_taken_apart() -> None:
    words = {"message.timestamp.type": "LogAppendTime", "compression.type": "zstd"}
    config = TopicConfig(words, BrokerConfig()).log_config
    assert (config.log_append_time, config.target_compression) == (True, 4)


def test_a_compacted_log_rolls_in_time_for_the_longest_lag() -> None:
    times = {"segment.ms": "900", "max.compaction.lag.ms": "500"}
    assert TopicConfig(times, BrokerConfig()).log_config.max_segment_ms == 900
    compacted = TopicConfig({**times, "cleanup.policy": "compact"}, BrokerConfig())
    assert compacted.log_config.max_segment_ms == 500


def test_each_config_that_topics_inherit_is_known() -> None:
    inherited = {synonym for definition in TOPIC for synonym, _ in definition.behind}
    assert inherited - SYNONYMS == {"min.insync.replicas"}
    assert inherited >= SYNONYMS


@pytest.mark.parametrize("cluster_default", [False, True])
def test_logs_share_the_defaults_until_their_broker_has_another(cluster_default: bool) -> None:
    broker = BrokerConfig({"num.partitions": "3"})
    assert TopicConfig({}, broker).log_config is DEFAULT_LOG_CONFIG
    assert TopicConfig({"retention.ms": "5"}, broker).log_config.retention_ms == 5
    broker.replace_dynamic({"log.retention.minutes": "2"}, cluster_default=cluster_default)
    assert TopicConfig({}, broker).log_config.retention_ms == 120_000
    assert TopicConfig({}, BrokerConfig({"log.roll.ms": "7"})).log_config.segment_ms == 7
