"""What a running broker lets itself be told."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.dynamic import check_dynamic, find_definition
from mockbroker.config.errors import ConfigError
from mockbroker.config.listeners import listener_int


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


def in_words(text: str) -> str:
    """What a broker says of a config that it cannot follow."""
    return (
        f"Invalid value org.apache.kafka.common.config.ConfigException: {text} for configuration"
        " Invalid dynamic configuration"
    )


def with_listeners() -> BrokerConfig:
    config = BrokerConfig({"listener.security.protocol.map": "A:PLAINTEXT,B:SSL"})
    config.set_static({"listeners": "A://h:1,B://h:2"})
    return config


MAP = "listener.security.protocol.map"
OPEN = "[A://h:1, B://h:2]"
UNDEFINED = "No security protocol defined for listener"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "A:SSL,B:SSL",
            in_words("Security protocol cannot be updated for existing listener ListenerName(A)"),
        ),
        (
            "A:PLAINTEXT",
            f"Error creating broker listeners from '{OPEN}': {UNDEFINED} B",
        ),
        (
            "A:PLAINTEXT,B",
            f"Error parsing configuration property '{MAP}': begin 0, end -1, length 1",
        ),
        (
            "A:PLAINTEXT,B:TLS",
            f"Invalid security protocol `TLS` defined in {MAP}",
        ),
    ],
)
def test_a_listener_that_is_open_keeps_its_protocol(text: str, message: str) -> None:
    config = with_listeners()
    check_dynamic(config, {MAP: "B:SSL,A:PLAINTEXT,C:SASL_SSL"}, cluster_default=False)
    with pytest.raises(ConfigError) as caught:
        check_dynamic(config, {MAP: text}, cluster_default=False)
    assert str(caught.value) == message


DEFAULT_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


@pytest.mark.parametrize("key", ["principal.builder.class", "ssl.engine.factory.class"])
def test_a_class_that_is_not_there_is_refused(key: str) -> None:
    config = with_listeners()
    missing = f"Invalid value com.example.Ours for configuration {key}: Class com.example.Ours"
    for name in (key, f"listener.name.a.{key}", f"listener.name.other.{key}"):
        check_dynamic(config, {name: DEFAULT_BUILDER}, cluster_default=False)
        for cluster_default in (True, False):
            with pytest.raises(ConfigError, match=f"^{missing} could not be found.$"):
                check_dynamic(config, {name: "com.example.Ours"}, cluster_default=cluster_default)


def test_a_class_that_is_there_may_be_no_builder() -> None:
    for text in ("java.lang.String", "org.apache.kafka.common.Uuid"):
        with pytest.raises(ConfigError, match="must implement KafkaPrincipalSerde"):
            check_dynamic(BrokerConfig(), {"principal.builder.class": text}, cluster_default=False)


def test_values_of_a_listener_that_is_open_are_looked_at_and_others_are_not() -> None:
    config = with_listeners()
    key = "connections.max.reauth.ms"
    for prefix in ("listener.name.a.", "listener.name.a.plain."):
        with pytest.raises(ConfigError) as caught:
            check_dynamic(config, {prefix + key: "soon"}, cluster_default=False)
        problem = f"Invalid value soon for configuration {key}: Not a number of type LONG"
        assert str(caught.value) == in_words(problem)
        check_dynamic(config, {prefix + key: "7"}, cluster_default=False)
    for prefix in ("listener.name.other.", "listener.name.other.plain.", "plain."):
        check_dynamic(config, {prefix + key: "soon"}, cluster_default=False)


def test_a_value_that_nobody_can_read_does_not_count() -> None:
    config = BrokerConfig({"connections.max.reauth.ms": "9"})
    config.replace_dynamic({"plain.connections.max.reauth.ms": "soon"}, cluster_default=False)
    assert listener_int(config, "A", "connections.max.reauth.ms", "PLAIN") == 9


def test_keys_of_an_open_listener_stay_beside_what_has_it_looked_at() -> None:
    config = with_listeners()
    own = {"listener.name.a.principal.builder.class": DEFAULT_BUILDER}
    check_dynamic(config, own, cluster_default=False)
    stays = in_words(
        "Configs cannot be updated dynamically for existing listener ListenerName(A), restart "
        "broker or create a new listener for update"
    )
    with pytest.raises(ConfigError) as caught:
        check_dynamic(config, {**own, "max.connections": "9"}, cluster_default=False)
    assert str(caught.value) == stays
    for key in ("max.connections", "num.network.threads", "ssl.keystore.type"):
        texts = {f"listener.name.a.{key}": "4", "max.connections": "9"}
        check_dynamic(config, texts, cluster_default=False)
    config.replace_dynamic(own, cluster_default=False)
    check_dynamic(config, {**own, "max.connections": "9"}, cluster_default=False)


def test_keys_of_the_authorizer_are_somebodys_own() -> None:
    config = BrokerConfig({"super.users": "User:admin"})
    texts = {"super.users": "alice", "allow.everyone.if.no.acl.found": "perhaps"}
    check_dynamic(config, texts, cluster_default=False)
    config.replace_dynamic(texts, cluster_default=False)
    assert config.str("super.users") == "User:admin"
    assert config.bool("allow.everyone.if.no.acl.found") is False
