"""The users of `--user` as Kafka's configs have them, and where they log in.

`Settings` adds what they bring to the configs; what they need that is there already stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.logins import ENABLED, JAAS
from mockbroker.config.security_protocol import PROTOCOL_MAP, SecurityProtocol
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.server.listeners import Listener

_PACKAGE: Final = "org.apache.kafka.common.security"
_MODULES: Final = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_PACKAGE}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_PACKAGE}.scram.ScramLoginModule",
}


def default_listener(config: Mapping[str, str], *, tls: bool) -> str | None:
    """The listener at `--port` where users log in; None: one that the configs say."""
    if PROTOCOL_MAP in config:
        return None
    return (SecurityProtocol.SASL_SSL if tls else SecurityProtocol.SASL_PLAINTEXT).name


def user_configs(
    option: str, users: Mapping[str, str], config: Mapping[str, str]
) -> dict[str, str]:
    """The configs by which they are known to each mechanism. Raises SettingsError."""
    known = " ".join(f'user_{name}="{_quoted(users[name])}"' for name in users)
    found = {ENABLED: ",".join(_MODULES)}
    for mechanism, module in _MODULES.items():
        key = f"{mechanism.lower()}.{JAAS}"
        if key in config:
            raise SettingsError(option, f"not beside {key}", "one of them")
        found[key] = f"{module} required {known};"
    return {**found, **config}


def check_listeners(option: str, listeners: Iterable[Listener]) -> None:
    """Refuse users where nobody logs in."""
    if not any(listener.protocol.has_sasl for listener in listeners):
        allowed = "--listener SASL_PLAINTEXT://HOST:PORT, or no --listener"
        raise SettingsError(option, "no listener has SASL", allowed)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
