"""How clients of a listener are secured (Kafka: SecurityProtocol, SocketServerConfigs).

`listener.security.protocol.map` gives each listener one of four protocols; `server` opens them by
it.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mockbroker.config.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL_MAP: Final = "listener.security.protocol.map"


class SecurityProtocol(IntEnum):
    """The four, by the ids that they have in the metadata log."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_tls(self) -> bool:
        """Whether bytes are encrypted."""
        return bool(self & SecurityProtocol.SSL)

    @property
    def has_sasl(self) -> bool:
        """Whether a client has to authenticate before it is served."""
        return bool(self & SecurityProtocol.SASL_PLAINTEXT)


@lru_cache(maxsize=16)
def parse_protocol_map(text: str) -> Mapping[str, SecurityProtocol]:
    """The protocols of `NAME:PROTOCOL,...` by the listeners' names in upper case. ConfigError."""
    found: dict[str, SecurityProtocol] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = (part.strip().upper() for part in entry.rpartition(":"))
        if not colon or protocol not in SecurityProtocol.__members__:
            raise ConfigError(f"{entry!r} is no entry")
        found[name] = SecurityProtocol[protocol]
    return found


def default_protocol(listener: str) -> SecurityProtocol:
    """That of a listener where no map is set: a name that is a protocol says it, others none."""
    return SecurityProtocol.__members__.get(listener, SecurityProtocol.PLAINTEXT)
