"""`mockbroker serve`: its flags, which source wins, and how a mistake is told."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from mockbroker.cli.serve import add_flags, read_options
from mockbroker.faults import Fault
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mockbroker.server.settings import Settings


def read(flags: Mapping[str, object], environment: Mapping[str, str]) -> Settings:
    return read_options(flags, environment)[0]


def options() -> list[argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False)
    add_flags(parser)
    return list(parser._actions)


def test_every_flag_names_its_variable() -> None:
    missing = [
        action.dest
        for action in options()
        if f"[MOCKBROKER_{action.dest.upper()}" not in str(action.help)
    ]
    assert missing == []


def test_a_flag_that_is_not_given_leaves_room_for_its_variable() -> None:
    assert {action.dest: action.default for action in options() if action.default is not None} == {}


def test_defaults_are_loopback_and_kafkas_port() -> None:
    settings = read({}, {})
    assert (settings.host, settings.ports) == ("127.0.0.1", [9092])
    options = settings.options
    assert (options["log_level"], options["log_format"]) == ("info", "auto")
    assert (options["ready_file"], settings.config) == (None, {})


def test_a_variable_stands_in_for_each_flag() -> None:
    environment = {
        "MOCKBROKER_HOST": "0.0.0.0",
        "MOCKBROKER_PORT": "19092",
        "MOCKBROKER_TOPIC": "orders:6, logs",
        "MOCKBROKER_AUTO_CREATE": "false",
        "MOCKBROKER_DEFAULT_PARTITIONS": "3",
        "MOCKBROKER_SET": "log.retention.ms=5\nmessage.max.bytes=100",
        "MOCKBROKER_ADVERTISED_HOST": "kafka",
        "MOCKBROKER_READY_FILE": "ready.json",
        "MOCKBROKER_SEED": "7",
        "MOCKBROKER_FREEZE_CLOCK": "yes",
        "MOCKBROKER_JOURNAL": "lines",
        "MOCKBROKER_LOG_LEVEL": "debug",
        "MOCKBROKER_LOG_FORMAT": "json",
    }
    settings = read({}, environment)
    options = settings.options
    assert (settings.host, settings.ports, options["seed"]) == ("0.0.0.0", [19092], 7)
    assert options["advertised_host"] == "kafka"
    assert options["freeze_clock"]
    assert (options["journal"], settings.written("journal")) == ("lines", "MOCKBROKER_JOURNAL")
    assert settings.topics == {"orders": 6, "logs": None}
    assert settings.config == {
        "auto.create.topics.enable": "false",
        "num.partitions": "3",
        "log.retention.ms": "5",
        "message.max.bytes": "100",
    }
    assert (options["log_level"], options["log_format"]) == ("debug", "json")
    assert options["ready_file"] == "ready.json"


def test_fault_rules_come_as_json_from_flags_and_files(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    file.write_text('[{"preset": "throttled"}, {"api": "Fetch", "drop": true}]')
    settings = read({"fault": [f"@{file}", '{"latency_ms": 5}']}, {})
    acts = [fault.acts for fault in settings.faults if isinstance(fault, Fault)]
    assert acts == [("throttle_ms",), ("drop",), ("latency_ms",)]
    assert settings.written("faults") == "--fault"


def test_the_flag_wins_over_the_variable_and_the_variable_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('port = 1\nhost = "::1"\nlog-level = "error"\n')
    settings = read(
        {"config": str(file), "port": "3"}, {"MOCKBROKER_PORT": "2", "MOCKBROKER_HOST": "127.0.0.2"}
    )
    assert settings.ports == [3]
    assert settings.host == "127.0.0.2"
    assert settings.options["log_level"] == "error"


def test_a_file_holds_topics_and_configs(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(
        'auto-create = false\n[topics]\norders = 6\n[config]\n"log.retention.ms" = 60000\n'
        '"delete.topic.enable" = true\n'
    )
    settings = read({}, {"MOCKBROKER_CONFIG": str(file)})
    assert settings.topics == {"orders": 6}
    assert settings.config == {
        "log.retention.ms": "60000",
        "delete.topic.enable": "true",
        "auto.create.topics.enable": "false",
    }


@pytest.mark.parametrize(
    ("flags", "environment", "line"),
    [
        ({"port": "x"}, {}, r"--port: 'x' is not a number; allowed: 0 \(any free port\) to 65535"),
        ({}, {"MOCKBROKER_PORT": "70000"}, "MOCKBROKER_PORT: 70000 is not a port"),
        ({"topic": ["a b"]}, {}, "--topic: 'a b' is not a topic name"),
        ({"set": ["k"]}, {}, "--set: 'k' has no value; allowed: KEY=VALUE"),
        ({"set": ["log.retention.msx=5"]}, {}, r"^--set: .*log\.retention\.msx.*; allowed: "),
        ({"set": ["num.partitions=none"]}, {}, r"^--set: .*none.*num\.partitions.*; allowed: "),
        ({}, {"MOCKBROKER_SET": "no.such.key=1"}, r"^MOCKBROKER_SET: .*no\.such\.key"),
        ({"log_level": "loud"}, {}, "--log-level: 'loud' is unknown; allowed: debug, info"),
        ({"seed": "s"}, {}, "--seed: 's' is not a number"),
        ({"fault": ["{"]}, {}, "--fault: not JSON"),
        ({"fault": ["@no/file"]}, {}, "--fault: @no/file: no such file"),
        ({}, {"MOCKBROKER_FAULT": '{"api": "Fetsch"}'}, "MOCKBROKER_FAULT: api: 'Fetsch' is no"),
        ({}, {"MOCKBROKER_FREEZE_CLOCK": "maybe"}, "MOCKBROKER_FREEZE_CLOCK: 'maybe' is neither"),
        ({"host": " "}, {}, "--host: it is empty"),
        (
            {"set": ["listeners=A:1"]},
            {},
            "^--set listeners: 'A:1' is no listener; allowed: NAME://HOST:PORT",
        ),
        (
            {},
            {"MOCKBROKER_SET": "advertised.listeners=A://a:1"},
            "^MOCKBROKER_SET advertised.listeners: there is no listener A; allowed: one of PLAIN",
        ),
        (
            {},
            {"MOCKBROKER_TOPICS": "orders:6"},
            "^MOCKBROKER_TOPICS: there is no such variable; allowed: MOCKBROKER_TOPIC,",
        ),
        ({"config": "/no/such.toml"}, {}, "--config: /no/such.toml: No such file"),
    ],
)
def test_a_bad_value_names_its_option(
    flags: dict[str, object], environment: dict[str, str], line: str
) -> None:
    with pytest.raises(SettingsError, match=line):
        read(flags, environment)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("prot = 1", "has an unknown key 'prot'; allowed: port$"),
        ("port = ", "allowed: a valid TOML file"),
        ("topics = 3", "topics: it is not a table"),
        ("records = 3", r"broker\.toml: records: it is not a list; allowed: \[\[records\]\]"),
        ("[[records]]\nvalue = 1", r"broker\.toml: records\[0\]\.topic: None is no name"),
        ("[topics.a]\nparts = 1", r"broker\.toml: topics\.a\.parts: it is unknown; allowed"),
        ('[topics."a b"]\n', r"broker\.toml: topics: 'a b' is not a topic name"),
        ("[[faults]]\nnope = 1", r"broker\.toml: faults\[0\]: .*nope"),
        ('restore = "/no/file"', r"broker\.toml: restore: /no/file: No such file"),
        ('[config]\nlisteners = "A:1"', r"broker\.toml: config listeners: 'A:1' is no listener"),
        ('[config]\n"no.such.key" = 1', r"broker\.toml: config: .*no\.such\.key"),
    ],
)
def test_a_bad_file_is_told(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=line):
        read({"config": str(file)}, {})


def test_values_of_the_file_and_of_flags_are_one(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(
        'topic = ["a:1"]\n[topics]\norders = 6\n[config]\n"num.partitions" = 2\n'
        '"log.retention.ms" = 1\n[[faults]]\nlatency_ms = 1\n'
    )
    flags = {
        "config": str(file),
        "topic": ["orders:3", "logs"],
        "default_partitions": "4",
        "set": ["log.retention.ms=2"],
        "fault": ['{"latency_ms": 5}'],
    }
    settings = read(flags, {})
    assert settings.topics == {"orders": 3, "logs": None}
    assert settings.config == {"num.partitions": "4", "log.retention.ms": "2"}
    assert [type(fault) for fault in settings.faults] == [Fault, Fault]
    flags["set"] = ["num.partitions=5"]
    assert read(flags, {}).config == {"num.partitions": "5", "log.retention.ms": "1"}


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("MOCKBROKER_TEST_KAFKA", "h:1"),
        ("MOCKBROKER_BOOTSTRAP", "h:1"),
        ("MOCKBROKER_ADMIN", "http://h:1"),
        ("MOCKBROKER_UNKNOWN", ""),
        ("MOCKBROKER_SERVICE_HOST", "10.0.0.1"),
        ("MOCKBROKER_PORT_9092_TCP", "tcp://10.0.0.1:9092"),
        ("MOCKBROKER_PORT", "tcp://10.0.0.1:9092"),
    ],
)
def test_a_variable_that_is_no_option_of_ours_is_left_alone(variable: str, text: str) -> None:
    assert read({}, {variable: text}).ports == [9092]


def test_actions_on_the_cluster_come_from_the_file_and_from_flags(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('brokers = 3\n[[cluster]]\naction = "kill"\nnode_id = 2\n')
    flags = {"config": str(file), "cluster_action": ['{"action": "fence", "node_id": 1}']}
    settings = read(flags, {})
    assert [one["action"] for one in settings.options["cluster_actions"]] == ["kill", "fence"]
    file.write_text('[[cluster]]\naction = "kil"\n')
    with pytest.raises(SettingsError, match=r"broker\.toml: cluster.action: 'kil' is unknown"):
        read({"config": str(file)}, {})
