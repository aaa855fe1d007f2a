"""Kafka's defaults and codecs; what a topic's configs become is `test_topic`'s."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.log_config import CODECS, DEFAULT_LOG_CONFIG, FIELDS
from mockbroker.config.topic import TopicConfig


def test_defaults_are_kafkas() -> None:
    assert TopicConfig({}, BrokerConfig()).log_config is DEFAULT_LOG_CONFIG
    built = TopicConfig({"cleanup.policy": "delete"}, BrokerConfig()).log_config
    assert built is not DEFAULT_LOG_CONFIG
    for name in FIELDS:
        assert getattr(built, name) == getattr(DEFAULT_LOG_CONFIG, name), name


def test_codecs_have_kafkas_numbers() -> None:
    assert CODECS == {
        "producer": -1,
        "uncompressed": 0,
        "gzip": 1,
        "snappy": 2,
        "lz4": 3,
        "zstd": 4,
    }


def test_a_copy_has_what_was_changed_and_all_else() -> None:
    changed = DEFAULT_LOG_CONFIG.replace(compact=True, retention_ms=5)
    assert (changed.compact, changed.retention_ms) == (True, 5)
    assert changed.segment_bytes == DEFAULT_LOG_CONFIG.segment_bytes
    assert not DEFAULT_LOG_CONFIG.compact
    with pytest.raises(TypeError):
        DEFAULT_LOG_CONFIG.replace(no_such_field=1)
