"""Texts become values as Apache Kafka's ConfigDef makes them, and are refused in its words."""

from __future__ import annotations

import pytest

from mockbroker.config.definition import ConfigDefinition, ConfigType, ConfigValue, format_value
from mockbroker.config.errors import ConfigError


def row(rest: str) -> ConfigDefinition:
    return ConfigDefinition.from_row(f"key {rest} - -")


@pytest.mark.parametrize(
    ("definition", "text", "value"),
    [
        ("INT 1 - M", " 5 ", 5),
        ("INT 1 - M", "+5", 5),
        ("LONG 1 - M", "9223372036854775807", 2**63 - 1),
        ("SHORT 1 0.. M", "32767", 32767),
        ("BOOLEAN true - M", "TRUE", True),
        ("BOOLEAN true - M", "false", False),
        ("DOUBLE 1.0 0..1 M", "0.25", 0.25),
        ("LIST '' - M", "", ()),
        ("LIST '' =compact|delete M", " compact , delete ", ("compact", "delete")),
        ("LIST '' replicas M", "*", ("*",)),
        ("LIST '' replicas M", "0:1,1:2", ("0:1", "1:2")),
        ("STRING - =a|b M", " a ", "a"),
        ("STRING - ~UP|DOWN M", "down", "down"),
        ("PASSWORD - - M", " secret ", " secret "),
        ("INT -1 1..9|-1 M", "-1", -1),
        ("INT -1 1..9|-1 M", "9", 9),
    ],
)
def test_text_is_trimmed_and_converted(definition: str, text: str, value: ConfigValue) -> None:
    assert row(definition).parse(text) == value


@pytest.mark.parametrize(
    ("definition", "text", "shown", "allowed"),
    [
        ("INT 1 - M", "abc", "abc", "Not a number of type INT"),
        ("INT 1 - M", "", "", "Not a number of type INT"),
        ("INT 1 - M", "1_0", "1_0", "Not a number of type INT"),
        ("INT 1 - M", "2147483648", "2147483648", "Not a number of type INT"),
        ("LONG 1 - M", "1.5", "1.5", "Not a number of type LONG"),
        ("DOUBLE 1.0 - M", "x", "x", "Not a number of type DOUBLE"),
        ("DOUBLE 1.0 0..1 M", "2", "2.0", "Value must be no more than 1"),
        ("INT 1 1.. M", "0", "0", "Value must be at least 1"),
        ("INT -1 1..9|-1 M", "0", "0", "Value must be between 1 and 9 or equal to -1"),
        ("BOOLEAN true - M", "maybe", "maybe", "Expected value to be either true or false"),
        ("STRING a =a|b M", "c", "c", "String must be one of: a, b"),
        ("STRING a ~A|B M", "c", "c", "String must be one of (case insensitive): A, B"),
        ("STRING a nonempty M", "", "", "String must be non-empty"),
        ("LIST a =a|b M", "a,c", "c", "String must be one of: a, b"),
    ],
)
def test_what_is_not_allowed_is_refused_in_kafkas_words(
    definition: str, text: str, shown: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        row(definition).parse(text)
    assert str(caught.value) == f"Invalid value {shown} for configuration key: {allowed}"


def test_throttled_replicas_show_the_syntax() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value \[x\] .*\[partitionId\]:\[brokerId\]"):
        row("LIST '' replicas M").parse("x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (7, "7"),
        (("a", "b"), "a,b"),
        (0.5, "0.5"),
        (1e-05, "1.0E-5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (12345678.0, "1.2345678E7"),
        ("text", "text"),
    ],
)
def test_values_are_shown_as_java_shows_them(value: ConfigValue, text: str | None) -> None:
    assert format_value(value) == text


def test_a_row_carries_its_flags() -> None:
    definition = row("PASSWORD - - Hdi")
    assert definition.type is ConfigType.PASSWORD
    assert definition.sensitive
    assert definition.dynamic
    assert definition.internal
    assert definition.default is None
    assert row("INT ! - L").default is None
    assert row("STRING '' - L").default == ""


def test_a_row_tells_what_is_behind_and_what_it_is_for() -> None:
    definition = ConfigDefinition.from_row("a.ms LONG 1 - M b.ms|c.hours*3600000 Wait so long.")
    assert definition.behind == (("b.ms", 1), ("c.hours", 3600000))
    assert definition.documentation == "Wait so long."
    assert row("INT 1 - M").behind == ()
    assert row("INT 1 - M").documentation is None


def test_null_is_none_without_a_check() -> None:
    assert row("STRING - nonempty M").parse(None) is None


def test_what_was_read_last_is_read_again_and_what_was_refused_is_refused_again() -> None:
    definition = ConfigDefinition.from_row("a INT 1 1..9 - - -")
    assert [definition.parse(text) for text in ("5", "5", "6", None, "5")] == [5, 5, 6, None, 5]
    for _ in range(2):
        with pytest.raises(ConfigError):
            definition.parse("10")
    assert definition.parse("5") == 5
