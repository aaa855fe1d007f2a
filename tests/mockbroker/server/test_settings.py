"""What a broker is started with: options that do not go together are named in one line."""

from __future__ import annotations

from typing import cast

import pytest

from mockbroker.server.settings import Settings
from mockbroker.server.values import SettingsError


def test_settings_keep_their_own_copies() -> None:
    topics: dict[str, int | None] = {"orders": 6}
    settings = Settings(topics=topics)
    topics["orders"] = 7
    assert settings.topics == {"orders": 6}


def test_every_option_has_a_value() -> None:
    options = Settings().options
    assert (options["host"], options["freeze_clock"], options["seed"]) == ("127.0.0.1", False, None)
    assert Settings(seed=7).options["seed"] == 7


def test_an_option_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="there is no option 'prot'; did you mean 'port'"):
        Settings(prot=1)  # type: ignore[call-arg]


def test_configs_are_those_given_and_those_of_options() -> None:
    settings = Settings(auto_create=False, default_partitions=3, config={"num.partitions": 4})
    assert settings.config == {"auto.create.topics.enable": "false", "num.partitions": "4"}
    assert Settings().config == {}


def test_ports_count_up_unless_each_is_given() -> None:
    assert Settings(brokers=3, port=9092).ports == [9092, 9093, 9094]
    assert Settings(port=[1, 3]).ports == [1, 3]
    assert Settings(brokers=2).ports == [0, 0]


def test_listeners_may_be_given_as_kafka_names_them_and_the_options_win() -> None:
    config = {
        "listeners": "A://:1, CONTROLLER://:2",
        "advertised.listeners": "A://told:3",
        "listener.security.protocol.map": "A:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "a",
    }
    settings = Settings(config=config)
    (listener,) = settings.listeners
    assert (listener.name, listener.ports, listener.advertised_host) == ("A", [1], "told")
    assert settings.listener_option == "config listeners"
    assert "listeners" not in settings.config
    (listener,) = Settings(listeners=["A://h:7"], config=config).listeners
    assert (listener.host, listener.ports, listener.advertised_host) == ("h", [7], "told")


def test_listeners_take_the_place_of_host_and_port() -> None:
    settings = Settings(
        listeners=["A://:1", "B://h:2"], advertised_listeners=["B://told:3"], host="::1"
    )
    assert [(each.name, each.host, each.ports) for each in settings.listeners] == [
        ("A", "::1", [1]),
        ("B", "h", [2]),
    ]
    assert settings.listeners[1].advertised_host == "told"
    assert settings.named_listeners
    assert not Settings().named_listeners


def test_what_goes_into_a_broker_before_its_clients_is_prepared() -> None:
    assert Settings(topics={"a": 1}).preparation is None
    settings = Settings(topics={"a": 1, "b": {"partitions": 2}})
    assert settings.topics == {"a": 1}
    assert settings.preparation is not None
    assert Settings(records=[{"topic": "a", "value": "one"}]).preparation is not None


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (lambda: Settings(brokers=2, port=[1, 2, 3]), "^brokers: 2 brokers and 3 ports; allowed"),
        (lambda: Settings(brokers=2, racks=["a"]), r"^racks: 1 racks for 2 broker\(s\); allowed"),
        (lambda: Settings(brokers=2, port=65535), "^port: 65535 leaves no room for 2 brokers"),
        (lambda: Settings(listeners=["A://:1"], port=1), "^listeners: not beside a port"),
        (lambda: Settings(advertised_listeners=["B://h:1"]), "^advertised_listeners: there is no"),
        (lambda: Settings(config={"listeners": "A:1"}), "^config listeners: 'A:1' is no listener"),
        (
            lambda: Settings(config={"listeners": "CONTROLLER://:1"}),
            "^config listeners: all of them are listeners of a controller",
        ),
        (
            lambda: Settings(
                listeners=["A://:1"],
                config={
                    "inter.broker.listener.name": "A",
                    "security.inter.broker.protocol": "PLAINTEXT",
                },
            ),
            r"^config inter\.broker\.listener\.name: not beside security\.inter\.broker\.protocol",
        ),
        (
            lambda: Settings(config={"inter.broker.listener.name": "B"}),
            "^config inter.broker.listener.name: there is no listener B; allowed: one of PLAINTEXT",
        ),
        (
            lambda: Settings(config={"listener.name.a.principal.builder.class": "x.Y"}),
            r"^config listener\.name\.a\.principal\.builder\.class: no class of Java .*: x\.Y;",
        ),
        (lambda: Settings(cluster_id="a b"), "^cluster_id: 'a b' is no cluster id"),
        (lambda: Settings(topics={"t": {"parts": 1}}), r"^topics\.t\.parts: it is unknown"),
        (lambda: Settings(records=[{"topic": ""}]), r"^records\[0\]\.topic: '' is no name"),
        (lambda: Settings(restore="/no/file"), "^restore: /no/file: No such file"),
        (
            lambda: Settings({"seed": "--seed"}, seed=cast("int", "x")),
            "^--seed: 'x' is not a number",
        ),
    ],
)
def test_what_cannot_be_together_names_its_option(settings: object, line: str) -> None:
    assert callable(settings)
    with pytest.raises(SettingsError, match=line):
        settings()
