"""Makes the exchange of a mechanism, from what a node knows of its users.

`apis.context` has one for a node with a SASL listener. What configs say is read anew for each
exchange, so that a change counts from the next login on; their text is parsed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.jaas import parse_jaas
from mockbroker.config.listeners import listener_text
from mockbroker.config.logins import JAAS
from mockbroker.security.plain import PlainServer

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.jaas import JaasEntry
    from mockbroker.security.mechanism import Mechanism

_TEXTS_KEPT: Final = 64


class Mechanisms:
    """The mechanisms of one node."""

    __slots__ = ("_config", "_parsed")

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._parsed: dict[str, JaasEntry] = {}

    def make(self, mechanism: str, listener: str) -> Mechanism:
        """A new exchange of an enabled mechanism."""
        assert mechanism == "PLAIN"
        return PlainServer(self._jaas(mechanism, listener))

    def _jaas(self, mechanism: str, listener: str) -> JaasEntry | None:
        text = listener_text(self._config, listener, JAAS, mechanism)
        if text is None:
            return None
        entry = self._parsed.get(text)
        if entry is None:
            if len(self._parsed) >= _TEXTS_KEPT:
                self._parsed.clear()
            entry = self._parsed[text] = parse_jaas(text)
        return entry
