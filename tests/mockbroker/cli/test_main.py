"""The command line: which source wins, and how a mistake is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.cli.main import main, read_options
from mockbroker.faults import Fault
from mockbroker.server.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


def test_defaults_are_loopback_and_kafkas_port() -> None:
    options = read_options({}, {})
    assert (options.settings.host, options.settings.port) == ("127.0.0.1", 9092)
    assert (options.log_level, options.log_format, options.ready_file) == ("info", "auto", None)
    assert options.settings.config == {}


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
    options = read_options({}, environment)
    settings = options.settings
    assert (settings.host, settings.port, settings.seed) == ("0.0.0.0", 19092, 7)
    assert settings.advertised_host == "kafka"
    assert settings.freeze_clock
    assert (settings.journal, settings.journal_option) == ("lines", "MOCKBROKER_JOURNAL")
    assert settings.topics == {"orders": 6, "logs": None}
    assert settings.config == {
        "auto.create.topics.enable": "false",
        "num.partitions": "3",
        "log.retention.ms": "5",
        "message.max.bytes": "100",
    }
    assert (options.log_level, options.log_format) == ("debug", "json")
    assert options.ready_file == "ready.json"


def test_fault_rules_come_as_json_from_flags_and_files(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    file.write_text('[{"preset": "throttled"}, {"api": "Fetch", "drop": true}]')
    options = read_options({"fault": [f"@{file}", '{"latency_ms": 5}']}, {})
    acts = [fault.acts for fault in options.settings.faults if isinstance(fault, Fault)]
    assert acts == [("throttle_ms",), ("drop",), ("latency_ms",)]
    assert options.settings.fault_option == "--fault"


def test_the_flag_wins_over_the_variable_and_the_variable_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('port = 1\nhost = "::1"\nlog-level = "error"\n')
    options = read_options(
        {"config": str(file), "port": "3"}, {"MOCKBROKER_PORT": "2", "MOCKBROKER_HOST": "127.0.0.2"}
    )
    assert options.settings.port == 3
    assert options.settings.host == "127.0.0.2"
    assert options.log_level == "error"


def test_a_file_holds_topics_and_configs(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(
        'auto-create = false\n[topics]\norders = 6\n[config]\n"log.retention.ms" = 60000\n'
        '"delete.topic.enable" = true\n'
    )
    settings = read_options({}, {"MOCKBROKER_CONFIG": str(file)}).settings
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
        ({"config": "/no/such.toml"}, {}, "--config: /no/such.toml: No such file"),
    ],
)
def test_a_bad_value_names_its_option(
    flags: dict[str, object], environment: dict[str, str], line: str
) -> None:
    with pytest.raises(SettingsError, match=line):
        read_options(flags, environment)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("prot = 1", "unknown key 'prot'; allowed: admin-host, admin-port, admin-token, adv"),
        ("port = ", "allowed: a valid TOML file"),
        ("topics = 3", "topics: it is not a table"),
        ("records = 3", r"broker\.toml: records: it is not a list; allowed: \[\[records\]\]"),
        ("[[records]]\nvalue = 1", r"broker\.toml: records\[0\]\.topic: None is no name"),
        ("[topics.a]\nparts = 1", r"broker\.toml: topics\.a\.parts: it is unknown; allowed"),
        ('[topics."a b"]\n', r"broker\.toml: topics: 'a b' is not a topic name"),
        ("[[faults]]\nnope = 1", r"broker\.toml: faults\[0\]: .*nope"),
        ('restore = "/no/file"', r"broker\.toml: restore: /no/file: No such file"),
        ('[config]\n"no.such.key" = 1', r"broker\.toml: config: .*no\.such\.key"),
    ],
)
def test_a_bad_file_is_told(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=line):
        read_options({"config": str(file)}, {})


def test_a_mistake_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "none"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "mockbroker: --port: 'none' is not a number; allowed: 0 (any free port) to 65535\n"
    )


def test_an_unknown_flag_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "--prot", "1"])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--prot" in error
    assert "see mockbroker serve --help" in error, "where the flags are listed"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from mockbroker import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mockbroker {__version__}\n"


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "--help"])
    assert stopped.value.code == 0
    assert "mockbroker serve --port 0 --ready-file broker.json" in capsys.readouterr().out
