"""Kafka's words, taken apart once."""

from __future__ import annotations

import pytest

from mockbroker.config.log_config import DEFAULT_LOG_CONFIG, PRODUCER_COMPRESSION, LogConfig


def test_defaults_are_kafkas() -> None:
    config = DEFAULT_LOG_CONFIG
    assert (config.segment_bytes, config.segment_ms) == (1073741824, 604800000)
    assert (config.max_message_bytes, config.timestamp_after_max_ms) == (1048588, 3600000)
    assert config.timestamp_before_max_ms == 9223372036854775807
    assert (config.retention_ms, config.retention_bytes) == (604800000, -1)
    assert (config.compact, config.delete, config.log_append_time) == (False, True, False)
    assert config.target_compression == PRODUCER_COMPRESSION


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
    config = LogConfig(cleanup_policy=policy)
    assert (config.compact, config.delete) == (compact, delete)


@pytest.mark.parametrize(
    ("name", "codec"),
    [("producer", -1), ("uncompressed", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)],
)
def test_compression_type_names_the_codec_to_store_in(name: str, codec: int) -> None:
    assert LogConfig(compression_type=name).target_compression == codec


def test_timestamp_type() -> None:
    assert LogConfig(timestamp_type="LogAppendTime").log_append_time
    assert not LogConfig(timestamp_type="CreateTime").log_append_time
