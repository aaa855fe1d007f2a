"""Values that start a broker: good ones are read, bad ones are named in one line."""

from __future__ import annotations

import pytest

from mockbroker.server.settings import (
    Settings,
    SettingsError,
    check_topic_name,
    parse_choice,
    parse_count,
    parse_flag,
    parse_pair,
    parse_port,
    parse_topic,
)


@pytest.mark.parametrize(("text", "port"), [("0", 0), ("9092", 9092), (65535, 65535)])
def test_a_port_is_read(text: str | int, port: int) -> None:
    assert parse_port("--port", text) == port


@pytest.mark.parametrize("text", ["-1", "65536", "http", ""])
def test_a_bad_port_names_the_option_and_what_is_allowed(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^--port: .*allowed: 0 \(any free port\) to 65535$"):
        parse_port("--port", text)


@pytest.mark.parametrize("text", ["0", "-3", "six", "1.5", "100001"])
def test_a_bad_count_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^N: .*allowed: a whole number from 1 to 100000$"):
        parse_count("N", text)


def test_a_topic_has_a_name_and_perhaps_a_count() -> None:
    assert parse_topic("--topic", "orders") == ("orders", None)
    assert parse_topic("--topic", "orders:6") == ("orders", 6)


@pytest.mark.parametrize("text", ["", ":3", "a b", "..", "x" * 250, "a/b:2"])
def test_a_bad_topic_name_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is not a topic name"):
        parse_topic("--topic", text)


def test_a_bad_partition_count_names_its_topic() -> None:
    with pytest.raises(SettingsError, match=r"^--topic orders:none: 'none' is not a whole number"):
        parse_topic("--topic", "orders:none")


def test_a_topic_name_may_use_all_of_kafkas_letters() -> None:
    check_topic_name("topics", "a.B_9-z")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("NO", False), (" on ", True)])
def test_a_flag_is_read(text: str, value: bool) -> None:
    assert parse_flag("MOCKBROKER_AUTO_CREATE", text) is value


def test_a_bad_flag_is_refused() -> None:
    with pytest.raises(
        SettingsError, match="'maybe' is neither yes nor no; allowed: true or false"
    ):
        parse_flag("MOCKBROKER_AUTO_CREATE", "maybe")


def test_a_choice_is_read_in_any_case_and_a_bad_one_refused() -> None:
    assert parse_choice("--log-level", "DEBUG", ("debug", "info")) == "debug"
    with pytest.raises(SettingsError, match="'loud' is unknown; allowed: debug, info"):
        parse_choice("--log-level", "loud", ("debug", "info"))


def test_a_pair_keeps_what_follows_the_first_equals_sign() -> None:
    assert parse_pair("--set", "a.b = c=d ") == ("a.b", "c=d")


@pytest.mark.parametrize("text", ["a.b", "=c", " =c"])
def test_a_pair_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="allowed: KEY=VALUE"):
        parse_pair("--set", text)


def test_settings_keep_their_own_copies() -> None:
    topics: dict[str, int | None] = {"orders": 6}
    settings = Settings(topics=topics)
    topics["orders"] = 7
    assert settings.topics == {"orders": 6}
