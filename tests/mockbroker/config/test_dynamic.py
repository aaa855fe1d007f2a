"""What a running broker lets itself be told."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.dynamic import check_dynamic, find_definition
from mockbroker.config.errors import ConfigError


@pytest.mark.parametrize("cluster_default", [True, False])
@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"background.threads": "5"},
        {"background.threads": "20"},
        {"log.retention.ms": "-1"},
        {"log.cleaner.threads": "2"},
        {"a.plug-in.key": "anything"},
        {"listener.name.x.max.connections": "9"},
    ],
)
def test_what_is_dynamic_may_change(texts: dict[str, str], cluster_default: bool) -> None:
    check_dynamic(BrokerConfig(), texts, cluster_default=cluster_default)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            {"num.partitions": "2", "node.id": "2", "ssl.keystore.type": "x"},
            r"Cannot update these configs dynamically: \[node.id, num.partitions\]",
        ),
        ({"ssl.keystore.type": "x", "background.threads": "x"}, "per-listener .*ssl.keystore.type"),
        ({"background.threads": "many"}, "Not a number of type INT"),
        ({"listener.name.x.num.network.threads": "many"}, "Not a number of type INT"),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        ({"log.flush.interval.ms": "-1"}, "log.flush.interval.ms must be greater"),
        ({"log.retention.ms": "0"}, "log.retention.ms must be unlimited"),
        ({"background.threads": "4"}, "at least half the current value 10"),
        ({"background.threads": "21"}, "not be greater than double the current value 10"),
        ({"log.cleaner.threads": "0"}, "should be at least 1"),
        ({"log.cleaner.threads": "3"}, "more than double the current value 1"),
    ],
)
def test_the_first_failing_check_is_told(texts: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_dynamic(BrokerConfig(), texts, cluster_default=False)


@pytest.mark.parametrize("name", ["listener.name.x.ssl.keystore.type", "listeners", "ssl.protocol"])
def test_a_listener_belongs_to_one_broker(name: str) -> None:
    config = BrokerConfig()
    check_dynamic(config, {name: "a"}, cluster_default=False)
    with pytest.raises(ConfigError, match="broker id must be specified"):
        check_dynamic(config, {name: "a"}, cluster_default=True)


def test_threads_are_measured_at_what_is_in_force() -> None:
    config = BrokerConfig({"log.cleaner.threads": "8"})
    with pytest.raises(ConfigError, match="less than half the current value 8"):
        check_dynamic(config, {"log.cleaner.threads": "3"}, cluster_default=True)
    config.replace_dynamic({"log.cleaner.threads": "4"}, cluster_default=False)
    check_dynamic(config, {"log.cleaner.threads": "1"}, cluster_default=True)
    check_dynamic(config, {}, cluster_default=False)


def test_without_the_extension_its_keys_are_kept_unchecked() -> None:
    off, on = BrokerConfig(), BrokerConfig({"coop.extension.enable": "true"})
    segments = "individual.commit.log.segment.bytes"
    check_dynamic(off, {"accept.individual.commit": "tomato", segments: "1"}, cluster_default=True)
    with pytest.raises(ConfigError, match="Cannot update these configs dynamically"):
        check_dynamic(on, {segments: "20"}, cluster_default=True)
    with pytest.raises(ConfigError, match="either true or false"):
        check_dynamic(on, {"accept.individual.commit": "tomato"}, cluster_default=True)


def test_a_definition_is_found_or_not() -> None:
    assert find_definition("nope") is None
    found = find_definition("listener.name.x.ssl.protocol")
    assert found is not None
    assert found.name == "ssl.protocol"


def test_a_listener_that_is_open_keeps_its_protocol() -> None:
    config = BrokerConfig({"listener.security.protocol.map": "A:PLAINTEXT,B:SSL"})
    config.set_static({"listeners": "A://h:1,B://h:2"})
    name = "listener.security.protocol.map"
    check_dynamic(config, {name: "B:SSL,A:PLAINTEXT,C:SASL_SSL"}, cluster_default=False)
    for text in ("A:SSL,B:SSL", "A:PLAINTEXT"):
        with pytest.raises(ConfigError) as caught:
            check_dynamic(config, {name: text}, cluster_default=False)
        listener = "A" if "A:SSL" in text else "B"
        assert str(caught.value) == (
            "Invalid value org.apache.kafka.common.config.ConfigException: Security protocol cannot"
            f" be updated for existing listener ListenerName({listener}) for configuration Invalid"
            " dynamic configuration"
        )
