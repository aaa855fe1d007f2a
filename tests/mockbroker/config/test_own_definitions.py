"""What Apache Kafka does not have is settable, and not listed."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.definition import ConfigDefinition
from mockbroker.config.describe import describe_broker
from mockbroker.config.errors import ConfigError
from mockbroker.config.own_definitions import OWN_DEFINITIONS


def test_own_configs_are_not_listed() -> None:
    own = [ConfigDefinition.from_row(row) for row in OWN_DEFINITIONS.splitlines()]
    listed = {row.name for row in describe_broker(BrokerConfig())}
    assert all(definition.internal for definition in own)
    assert not listed.intersection(definition.name for definition in own)


def test_the_version_profile_is_one_of_two() -> None:
    assert BrokerConfig().str("mockbroker.version.profile") == "widest"
    assert BrokerConfig({"mockbroker.version.profile": "4.4"}).str("mockbroker.version.profile")
    with pytest.raises(ConfigError, match="one of: widest, 4\\.4"):
        BrokerConfig({"mockbroker.version.profile": "0.8"})
