"""Values that start a broker: good ones are read, bad ones are named in one line."""

from __future__ import annotations

import pytest

from mockbroker.server.values import (
    SettingsError,
    check_topic_name,
    choice,
    parse_configs,
    parse_count,
    parse_faults,
    parse_flag,
    parse_list,
    parse_pair,
    parse_port,
    parse_ports,
    parse_size,
    parse_spin,
    parse_tables,
    parse_token,
    parse_topic,
    parse_topics,
    parse_users,
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
    assert choice("debug", "info")("--log-level", "DEBUG") == "debug"
    with pytest.raises(SettingsError, match="'loud' is unknown; allowed: debug, info"):
        choice("debug", "info")("--log-level", "loud")


def test_a_pair_keeps_what_follows_the_first_equals_sign() -> None:
    assert parse_pair("--set", "a.b = c=d ") == ("a.b", "c=d")


@pytest.mark.parametrize("text", ["a.b", "=c", " =c"])
def test_a_pair_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="allowed: KEY=VALUE"):
        parse_pair("--set", text)


@pytest.mark.parametrize(
    ("value", "ports"), [("1, 2", [1, 2]), ([0, 0], [0, 0]), (7, [7]), ("7", [7])]
)
def test_ports_are_a_list(value: object, ports: list[int]) -> None:
    assert parse_ports("port", value) == ports
    with pytest.raises(SettingsError, match=r"^port: 1,1 names a port twice"):
        parse_ports("port", "1,1")


@pytest.mark.parametrize(
    "value",
    [{"a": 2, "b": None}, ["a:2", "b"], "a:2, b", ("a:2", "b"), {"a:2": 0, "b": 0}.keys()],
)
def test_topics_are_a_mapping_a_list_or_text(value: object) -> None:
    assert parse_topics("topics", value) == {"a": 2, "b": None}


@pytest.mark.parametrize(
    "value", [{"a.b": 1, "c.d": True}, ["a.b=1", "c.d=true"], "a.b=1\nc.d=true"]
)
def test_configs_are_a_mapping_a_list_or_lines(value: object) -> None:
    assert parse_configs("config", value) == {"a.b": "1", "c.d": "true"}


def test_what_was_read_is_read_again_to_itself() -> None:
    for read in (parse_topics, parse_configs, parse_ports, parse_list, parse_faults):
        given = (
            "1" if read is parse_ports else '{"latency_ms": 1}' if read is parse_faults else "a=1"
        )
        given = "a:1" if read is parse_topics else given
        once = read("x", given)
        assert read("x", once) == once


@pytest.mark.parametrize("token", ["short", "long enough but spaces", "süßlicher"])
def test_a_token_that_could_be_guessed_is_refused(token: str) -> None:
    assert parse_token("t", "secret-token") == "secret-token"
    with pytest.raises(SettingsError, match="8 and more visible ASCII"):
        parse_token("t", token)


def test_tables_are_a_list() -> None:
    assert parse_tables("records", [{"topic": "t"}]) == [{"topic": "t"}]
    with pytest.raises(SettingsError, match=r"^records: it is not a list"):
        parse_tables("records", "t")


@pytest.mark.parametrize(
    ("written", "size"),
    [(1, 1), ("4096", 4096), ("512M", 512 << 20), ("1.5 GiB", 3 << 29), ("10kb", 10 << 10)],
)
def test_a_size_is_bytes_or_has_a_unit(written: object, size: int) -> None:
    assert parse_size("memory-limit", written) == size


@pytest.mark.parametrize("written", ["", "M", "-1", "0", "2T", "1e9", "9999999999G"])
def test_another_size_is_refused(written: str) -> None:
    with pytest.raises(SettingsError, match=r"^memory-limit: .*512M or 2G"):
        parse_size("memory-limit", written)


@pytest.mark.parametrize(("text", "found"), [("0", 0), ("200", 200), (100_000, 100_000)])
def test_a_spin_is_so_many_microseconds_or_none(text: object, found: int) -> None:
    assert parse_spin("--spin", text) == found
    for wrong in ("-1", "100001", "2ms"):
        with pytest.raises(SettingsError, match=r"allowed: a whole number from 0 to 100000$"):
            parse_spin("--spin", wrong)


@pytest.mark.parametrize(
    "value", [{"alice": "a:b", "bob": "c"}, ["alice:a:b", "bob:c"], "alice:a:b\n\nbob:c\n"]
)
def test_users_have_passwords(value: object) -> None:
    assert parse_users("--user", value) == {"alice": "a:b", "bob": "c"}


@pytest.mark.parametrize("value", [["bob:x", "alice"], "bob:x\n:alice", {"bob": "x", "alice": ""}])
def test_a_user_without_one_is_told_by_its_place(value: object) -> None:
    with pytest.raises(SettingsError, match=r"^--user: user 2 lacks a name or a password; allowed"):
        parse_users("--user", value)
