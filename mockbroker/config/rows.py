"""Rows of a config listing, as DescribeConfigs and CreateTopics answer them.

`config.describe` makes them; the handlers turn them into messages.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mockbroker.config.definition import ConfigType


class ConfigSource(IntEnum):
    """Where a value comes from (Kafka: DescribeConfigsResponse.ConfigSource)."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class ConfigSynonym(NamedTuple):
    """One place that sets a config; the first of a row's synonyms is the one in force."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigRow(NamedTuple):
    """One described config; the value of a sensitive one is None."""

    name: str
    value: str | None
    source: ConfigSource
    type: ConfigType
    sensitive: bool
    read_only: bool
    synonyms: tuple[ConfigSynonym, ...]
