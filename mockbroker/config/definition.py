"""What one config key is: its type, default, check and flags (Kafka: ConfigDef.ConfigKey).

Read from rows of the files in `tables`: `name TYPE default check flags behind documentation`, where

- default is the text as in a properties file; `-` is null, `''` the empty text, `!` none at all;
- check is `-` (none), `1..` or `1..9` (a range), `1..9|-1` (a range or one other value),
  `=a|b` (one of, per element for a LIST), `~A|B` (one of, in any case), `nonempty`, `replicas`
  (`*` or partition:broker pairs);
- flags are an importance (H, M, L), `d` when the broker accepts it at run time, and `i` when it
  is internal: known and settable, but not described; `x` when it is of the extension: where
  that is off, no client knows it;
- behind are the broker configs that a topic's or a group's falls back to, the first that is set
  first, as `a|b*1000`: the number turns it into the unit of this one (Kafka:
  ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS), or `-`;
- documentation is in our own words; `-` is none.

A value that fails raises `ConfigError` with the text that Apache Kafka sends for it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeAlias

from mockbroker.config.errors import ConfigError

ConfigValue: TypeAlias = int | float | bool | str | tuple[str, ...] | None


class ConfigType(IntEnum):
    """Types by their number in DescribeConfigs (Kafka: DescribeConfigsResponse.ConfigType)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_BITS: Final = {ConfigType.INT: 31, ConfigType.SHORT: 15, ConfigType.LONG: 63}
_REPLICAS_SYNTAX: Final = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


class ConfigDefinition:
    """One key. `default` is text as in a properties file; None is Kafka's null."""

    __slots__ = (
        "_last",
        "behind",
        "check",
        "default",
        "documentation",
        "dynamic",
        "extension",
        "internal",
        "name",
        "type",
    )

    def __init__(
        self,
        name: str,
        type: ConfigType,
        default: str | None,
        *,
        check: str = "-",
        flags: str = "",
        behind: tuple[tuple[str, int], ...] = (),
        documentation: str | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.check = check
        self.dynamic = "d" in flags
        self.internal = "i" in flags
        self.extension = "x" in flags
        self.behind = behind
        self.documentation = documentation
        self._last: tuple[str | None, ConfigValue] = None, None
        """The text that was parsed last, most often the default, and its value."""

    @classmethod
    def from_row(cls, row: str) -> ConfigDefinition:
        """Read one row of a definition table."""
        name, type_name, default, check, flags, behind, documentation = row.split(" ", 6)
        return cls(
            name,
            ConfigType[type_name],
            None if default in ("-", "!") else "" if default == "''" else default,
            check=check,
            flags=flags,
            behind=() if behind == "-" else tuple(map(_factored, behind.split("|"))),
            documentation=None if documentation == "-" else documentation,
        )

    @property
    def sensitive(self) -> bool:
        """Whether the value is never shown (Kafka: KafkaConfig.maybeSensitive)."""
        return self.type is ConfigType.PASSWORD

    def parse(self, text: str | None) -> ConfigValue:
        """The value that the text stands for, checked; ConfigError when it is not allowed."""
        if text is None:
            return None
        last_text, value = self._last
        if text != last_text:
            value = self._convert(text)
            if self.check != "-":
                self._validate(value)
            self._last = text, value
        return value

    def _convert(self, text: str) -> ConfigValue:
        # Kafka: ConfigDef.parseType, which trims each text but a password.
        kind = self.type
        trimmed = text.strip()
        if kind in _BITS:
            return self._whole_number(trimmed)
        if kind is ConfigType.BOOLEAN:
            lowered = trimmed.lower()
            if lowered not in ("true", "false"):
                raise self._invalid(text, "Expected value to be either true or false")
            return lowered == "true"
        if kind is ConfigType.LIST:
            return tuple(part.strip() for part in trimmed.split(",")) if trimmed else ()
        if kind is ConfigType.DOUBLE:
            try:
                return float(trimmed)
            except ValueError:
                raise self._invalid(text, "Not a number of type DOUBLE") from None
        return text if kind is ConfigType.PASSWORD else trimmed

    def _whole_number(self, text: str) -> int:
        digits = text[1:] if text[:1] in ("+", "-") else text
        if digits.isascii() and digits.isdigit():
            value = int(text)
            limit = 1 << _BITS[self.type]
            if -limit <= value < limit:
                return value
        raise self._invalid(text, f"Not a number of type {self.type.name}")

    def _validate(self, value: ConfigValue) -> None:
        check = self.check
        if check[0] == "=":
            allowed = check[1:].split("|")
            for item in value if isinstance(value, tuple) else (value,):
                if item not in allowed:
                    raise self._invalid(item, f"String must be one of: {', '.join(allowed)}")
        elif check[0] == "~":
            allowed = check[1:].split("|")
            if not isinstance(value, str) or value.upper() not in allowed:
                names = ", ".join(allowed)
                raise self._invalid(value, f"String must be one of (case insensitive): {names}")
        elif check == "nonempty":
            if not value:
                raise self._invalid(value, "String must be non-empty")
        elif check == "replicas":
            self._validate_replicas(value)
        elif isinstance(value, int | float):
            self._validate_range(value)

    def _validate_range(self, value: float) -> None:
        bounds, _, other = self.check.partition("|")
        low, _, high = bounds.partition("..")
        if other:
            # Kafka: compression.gzip.level takes a range, or -1 for the codec's own default.
            if value != int(other) and not int(low) <= value <= int(high):
                allowed = f"Value must be between {low} and {high} or equal to {other}"
                raise self._invalid(value, allowed)
        elif value < float(low):
            raise self._invalid(value, f"Value must be at least {low}")
        elif high and value > float(high):
            raise self._invalid(value, f"Value must be no more than {high}")

    def _validate_replicas(self, value: ConfigValue) -> None:
        # Kafka: ThrottledReplicaListValidator.
        assert isinstance(value, tuple)
        if value != ("*",) and not all(_is_pair(item) for item in value):
            raise self._invalid(
                value,
                f"{self.name} must be the literal '*' or a list of replicas in the following "
                f"format: {_REPLICAS_SYNTAX}",
            )

    def _invalid(self, value: ConfigValue, allowed: str) -> ConfigError:
        shown = f"[{', '.join(value)}]" if isinstance(value, tuple) else format_value(value)
        return ConfigError(f"Invalid value {shown} for configuration {self.name}: {allowed}")


def format_value(value: ConfigValue) -> str | None:
    """The value as configs show it (Kafka: ConfigDef.convertToString); null stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _format_double(value)
    return str(value)


def _format_double(value: float) -> str:
    # Java's Double.toString: plain digits from 10^-3 up to 10^7, else d.dddEn.
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{value:.17e}".partition("e")
    for precision in range(17):
        digits, _, exponent = f"{value:.{precision}e}".partition("e")
        if float(f"{digits}e{exponent}") == value:
            break
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _factored(behind: str) -> tuple[str, int]:
    name, _, factor = behind.partition("*")
    return name, int(factor or 1)


def _is_pair(item: str) -> bool:
    partition, colon, broker = item.partition(":")
    return bool(colon) and partition.isdigit() and broker.isdigit()
