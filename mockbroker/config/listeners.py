"""What a broker's configs say of one listener, by its name.

`node` asks when a client connects, `security` when it proves who it is. A key that is set for the
listener, as `listener.name.NAME.KEY`, goes before the key for all (Kafka:
AbstractConfig.valuesWithPrefixOverride); listeners are written in lower case there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.errors import ConfigError

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig

PLAINTEXT: Final = "PLAINTEXT"
PROTOCOLS: Final = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MAP: Final = "listener.security.protocol.map"


def security_protocol(config: BrokerConfig, listener: str) -> str:
    """The security protocol of a listener; PLAINTEXT where the map does not name it.

    Raises ConfigError for a map that cannot be read.
    """
    for entry in config.str(_MAP).split(","):
        name, colon, protocol = (part.strip() for part in entry.partition(":"))
        if name.upper() == listener and colon:
            if protocol.upper() not in PROTOCOLS:
                raise ConfigError(
                    f"Invalid value {config.str(_MAP)} for configuration {_MAP}: "
                    f"{protocol} is no security protocol; allowed: {', '.join(PROTOCOLS)}"
                )
            return protocol.upper()
    return PLAINTEXT


def listener_text(config: BrokerConfig, listener: str, name: str) -> str | None:
    """The text in force for a key at a listener; None where nothing is set and none is default."""
    text = config.configured(f"listener.name.{listener.lower()}.{name}")
    return config.text(name) if text is None else text
