"""The variables of Apache Kafka's image: what they become, and how a mistake is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.cli.serve import read_options
from mockbroker.config.security_protocol import SecurityProtocol
from mockbroker.server.kafka_environment import config_key, translate
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

# What the compose file of Apache Kafka's own examples sets for a single node.
SINGLE_NODE = {
    "KAFKA_NODE_ID": "7",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT"
    ),
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT_HOST://localhost:9092,PLAINTEXT://broker:19092",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:29093",
    "KAFKA_LISTENERS": "CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_LOG_DIRS": "/tmp/kraft-combined-logs",
}
IMAGE = {"MOCKBROKER_KAFKA_ENV": "true", "MOCKBROKER_HOST": "0.0.0.0"}


def test_the_example_of_a_single_node_is_understood_whole() -> None:
    settings, ignored = read_options({}, {**IMAGE, **SINGLE_NODE})
    assert [(each.name, each.host, each.ports) for each in settings.listeners] == [
        ("PLAINTEXT_HOST", "0.0.0.0", [9092]),
        ("PLAINTEXT", "0.0.0.0", [19092]),
    ]
    assert [(each.advertised_host, each.advertised_port) for each in settings.listeners] == [
        ("localhost", 9092),
        ("broker", 19092),
    ]
    assert settings.options["cluster_id"] == "4L6g3nShT-eMCtK--X86sw"
    assert settings.config["node.id"] == "7"
    assert settings.config["offsets.topic.replication.factor"] == "1"
    assert ignored == []


def test_nobodys_shell_is_read_unasked() -> None:
    settings, _ = read_options({}, {**SINGLE_NODE, "KAFKA_HOME": "/opt/kafka"})
    assert [each.name for each in settings.listeners] == ["PLAINTEXT"]
    assert (settings.config, settings.options["cluster_id"]) == ({}, None)
    settings, _ = read_options({"kafka_env": True}, SINGLE_NODE)
    assert settings.config["node.id"] == "7"
    settings, _ = read_options({"kafka_env": False}, {**IMAGE, **SINGLE_NODE})
    assert settings.config == {}


def test_our_own_variables_and_flags_win_and_the_file_loses(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('[config]\n"num.partitions" = 2\n"log.retention.ms" = 5\n')
    environment = {
        **IMAGE,
        "KAFKA_NUM_PARTITIONS": "3",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        "KAFKA_LISTENERS": "A://:1",
        "CLUSTER_ID": "theirs",
    }
    config = read_options({"config": str(file)}, environment)[0].config
    assert config["num.partitions"] == "3"
    assert config["log.retention.ms"] == "5"
    assert config["auto.create.topics.enable"] == "false"
    environment |= {
        "MOCKBROKER_DEFAULT_PARTITIONS": "4",
        "MOCKBROKER_LISTENER": "B://:2,C://:3",
        "MOCKBROKER_ADVERTISED_LISTENER": "C://c:3",
        "MOCKBROKER_CLUSTER_ID": "ours",
    }
    settings = read_options({"cluster_id": "mine"}, environment)[0]
    assert settings.config["num.partitions"] == "4"
    assert [each.name for each in settings.listeners] == ["B", "C"]
    assert settings.listeners[1].advertised_host == "c"
    assert settings.options["cluster_id"] == "mine"


def test_a_listener_alone_may_be_advertised() -> None:
    environment = {**IMAGE, "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9092"}
    (listener,) = read_options({}, environment)[0].listeners
    assert (listener.ports, listener.advertised_host) == ([9092], "kafka")


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_NUM_PARTITIONS", "num.partitions"),
        ("KAFKA_LISTENER_NAME_A___B_MAX_CONNECTIONS", "listener.name.a-b.max.connections"),
        ("KAFKA_SOME__KEY", "some_key"),
    ],
)
def test_a_variable_is_a_config(variable: str, key: str) -> None:
    assert config_key(variable) == key


def test_what_names_nothing_is_listed_and_what_is_the_jvms_is_not() -> None:
    found = translate(
        {
            "KAFKA_HEAP_OPTS": "-Xmx1g",
            "KAFKA_NO_SUCH_THING": "1",
            "KAFKA_PORT": "tcp://10.0.0.1:9092",
            "KAFKA_NUM_PARTITIONS": " ",
            "HOME": "/",
        }
    )
    assert found.ignored == ["KAFKA_NO_SUCH_THING", "KAFKA_PORT"]
    assert found.configs == []


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"KAFKA_NUM_PARTITIONS": "many"}, r"^KAFKA_NUM_PARTITIONS: .*num\.partitions"),
        ({"KAFKA_LISTENERS": "A:9092"}, "^KAFKA_LISTENERS: 'A:9092' is no listener; allowed: NAME"),
        (
            {"KAFKA_LISTENERS": "SASL_SSL://:1"},
            r"sasl\.enabled\.mechanisms: GSSAPI is not served at SASL_SSL",
        ),
        ({"KAFKA_LISTENERS": "CONTROLLER://:1"}, "^KAFKA_LISTENERS: all of them are listeners of"),
        ({"KAFKA_ADVERTISED_LISTENERS": "B://h:1"}, "^KAFKA_ADVERTISED_LISTENERS: there is no"),
        ({"KAFKA_PROCESS_ROLES": "controller"}, "^KAFKA_PROCESS_ROLES: controller: "),
        ({"CLUSTER_ID": "a b"}, "^CLUSTER_ID: 'a b' is no cluster id"),
        (
            {
                "KAFKA_LISTENERS": "IN://:1,OUT://:2",
                "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "IN:PLAINTEXT,OUT:SASL_PLAINTEXT",
                "KAFKA_SASL_ENABLED_MECHANISMS": "GSSAPI",
            },
            "^KAFKA_SASL_ENABLED_MECHANISMS: GSSAPI is not served at OUT; allowed: PLAIN",
        ),
        (
            {
                "KAFKA_LISTENERS": "IN://:1,OUT://:2",
                "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "IN:PLAINTEXT",
            },
            "^KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: it has no protocol of listener OUT; allowed: ",
        ),
        (
            {"KAFKA_INTER_BROKER_LISTENER_NAME": "IN"},
            "^KAFKA_INTER_BROKER_LISTENER_NAME: there is no listener IN",
        ),
        (
            {"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "IN=PLAINTEXT"},
            "^KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'IN=PLAINTEXT' is no entry",
        ),
        (
            {"KAFKA_LISTENERS": "A://:1", "MOCKBROKER_PORT": "2"},
            "^KAFKA_LISTENERS: not beside a port",
        ),
    ],
)
def test_a_mistake_names_its_variable(environment: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_options({}, {**IMAGE, **environment})


def test_a_protocol_that_no_listener_uses_does_no_harm() -> None:
    environment = {
        "KAFKA_LISTENERS": "A://:1",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "A:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
    }
    (listener,) = read_options({}, {**IMAGE, **environment})[0].listeners
    assert listener.protocol is SecurityProtocol.PLAINTEXT
