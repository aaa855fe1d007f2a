"""Kafka's defaults and codecs; what a topic's configs become is `test_topic`'s."""

from __future__ import annotations

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.log_config import CODECS, DEFAULT_LOG_CONFIG, LogConfig
from mockbroker.config.topic import TopicConfig


def test_defaults_are_kafkas() -> None:
    assert TopicConfig({}, BrokerConfig()).log_config is DEFAULT_LOG_CONFIG
    built = TopicConfig({"cleanup.policy": "delete"}, BrokerConfig()).log_config
    assert built is not DEFAULT_LOG_CONFIG
    for name in (name for name in dir(LogConfig) if not name.startswith("_")):
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
