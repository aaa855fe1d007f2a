"""What holds for a group."""

from __future__ import annotations

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.group.consumer.settings import SETTLE_MS, ConsumerSettings


def made(clock: Clock, **values: str) -> ConsumerSettings:
    config = BrokerConfig({name.replace("_", "."): text for name, text in values.items()})
    return ConsumerSettings(clock, config, lambda _, name: config.int(f"group.{name}"))


def test_members_of_a_group_that_moves_are_asked_to_come_sooner() -> None:
    clock = Clock()
    settings = made(clock)
    group = ConsumerGroup("g")
    group.epoch = group.assignment_epoch = 2
    member = ConsumerMember("m", epoch=2)
    assert settings.heartbeat_interval_ms(group, member) == 5000
    group.bumped_ms = 0
    assert settings.heartbeat_interval_ms(group, member) == 100
    clock.now_ms = SETTLE_MS + 1
    assert settings.heartbeat_interval_ms(group, member) == 5000
    group.epoch = 3
    assert settings.heartbeat_interval_ms(group, member) == 100


def test_kafkas_interval_can_be_had() -> None:
    settings = made(Clock(), mockbroker_group_settling_heartbeat_interval_ms="0")
    group = ConsumerGroup("g")
    assert settings.heartbeat_interval_ms(group, ConsumerMember("m")) == 5000


def test_the_rest_are_the_brokers() -> None:
    settings = made(Clock(), group_consumer_migration_policy="upgrade")
    assert settings.session_timeout_ms("g") == 45_000
    assert settings.assignment_interval_ms("g") == 0
    assert (settings.default_assignor(), settings.assignors()) == ("uniform", ("uniform", "range"))
    assert settings.migration_policy() == "UPGRADE"
    assert settings.regex_refresh_ms() == 600_000
    assert settings.max_size() == settings.classic_max_size() == 2**31 - 1
