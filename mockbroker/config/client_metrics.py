"""Subscriptions to clients' metrics: which metrics, how often, of which clients (KIP-714).

The controller validates what a request sets on a CLIENT_METRICS resource; `DescribeConfigs` lists
it and the telemetry room goes by it (Kafka: ClientMetricsConfigs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.definition import ConfigDefinition, ConfigType
from mockbroker.config.errors import ConfigError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.re2.expression import Expression

INTERVAL: Final = "interval.ms"
METRICS: Final = "metrics"
MATCH: Final = "match"

DEFINITIONS: Final = {
    INTERVAL: ConfigDefinition(INTERVAL, ConfigType.INT, "300000"),
    MATCH: ConfigDefinition(MATCH, ConfigType.LIST, ""),
    METRICS: ConfigDefinition(METRICS, ConfigType.LIST, ""),
}

_INTERVALS_MS: Final = range(100, 3_600_001)
MATCH_KEYS: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


class Subscription:
    """One resource, parsed. `patterns` must all match a client; no `metrics` means none."""

    __slots__ = ("interval_ms", "metrics", "name", "patterns")

    def __init__(self, name: str, configs: Mapping[str, str]) -> None:
        self.name = name
        interval = configs.get(INTERVAL, DEFINITIONS[INTERVAL].default)
        self.interval_ms = int(interval or 0)
        self.metrics = _parts(configs.get(METRICS, ""))
        self.patterns = parse_patterns(configs.get(MATCH, ""))


def validate(name: str, configs: Mapping[str, str]) -> None:
    """Raise ConfigError, or InvalidRequestError, unless these may be a subscription's configs."""
    if not name:
        raise InvalidRequestError("Subscription name can't be empty")
    for key, text in configs.items():
        definition = DEFINITIONS.get(key)
        if definition is None:
            raise InvalidRequestError(f"Unknown client metrics configuration: {key}")
        value = definition.parse(text)
        if key == INTERVAL and value not in _INTERVALS_MS:
            raise InvalidRequestError(
                f"Invalid value {value} for {INTERVAL}, interval must be between 100 and 3600000 "
                "(1 hour)"
            )
        if key == MATCH:
            parse_patterns(text)


def parse_patterns(text: str) -> dict[str, Expression]:
    """The `match` config: a pattern by what of the client it is held against."""
    from mockbroker.re2.expression import compiled
    from mockbroker.re2.parser import RegexError

    patterns: dict[str, Expression] = {}
    for part in _parts(text):
        # As Java splits: nothing behind the last '=' does not count.
        names = part.split("=")
        while names and not names[-1]:
            names.pop()
        try:
            name, pattern = (each.strip() for each in names)
            expression = compiled(pattern)
        except (ValueError, RegexError):
            raise _illegal(part) from None
        if name not in MATCH_KEYS:
            raise _illegal(part)
        patterns[name] = expression
    return patterns


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _illegal(part: str) -> ConfigError:
    return ConfigError(f"Illegal client matching pattern: {part}")
