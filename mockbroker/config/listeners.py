"""What a broker's configs say of one listener, by its name.

`node` asks when a client connects, `security` when it proves who it is. A key that is set for the
listener, as `listener.name.NAME.KEY`, goes before the key for all (Kafka:
AbstractConfig.valuesWithPrefixOverride); listeners are written in lower case there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.config.errors import ConfigError
from mockbroker.config.registry import BROKER
from mockbroker.config.security_protocol import PROTOCOL_MAP, SecurityProtocol, parse_protocol_map

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.definition import ConfigDefinition


def security_protocol(config: BrokerConfig, listener: str) -> SecurityProtocol:
    """The protocol of a listener; PLAINTEXT where the map does not name it. ConfigError."""
    protocols = parse_protocol_map(config.str(PROTOCOL_MAP))
    return protocols.get(listener, SecurityProtocol.PLAINTEXT)


def listener_text(
    config: BrokerConfig, listener: str, name: str, mechanism: str | None = None
) -> str | None:
    """The text in force for a key at a listener; None where nothing is set and none is default.

    What is set for a mechanism goes before what is set for all of them. A text that cannot be read
    does not count: a request may have set it, as with Apache Kafka, which looks at it when the
    listener is opened.
    """
    definition = BROKER.require(name)
    for key in (name,) if mechanism is None else (f"{mechanism.lower()}.{name}", name):
        for each in (f"listener.name.{listener.lower()}.{key}", key):
            text = config.configured(each)
            if text is not None and _can_be_read(definition, text):
                return text
    return config.text(name)


def _can_be_read(definition: ConfigDefinition, text: str) -> bool:
    try:
        definition.parse(text)
    except ConfigError:
        return False
    return True


def listener_int(
    config: BrokerConfig, listener: str, name: str, mechanism: str | None = None
) -> int:
    """The same of an INT or a LONG that has a value."""
    value = BROKER.require(name).parse(listener_text(config, listener, name, mechanism))
    assert isinstance(value, int)
    return value
