"""What a broker's configs say of logins at a SASL listener, and whether that can be served.

`security` goes by it at each login; `server` looks at it before a listener is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.config.errors import ConfigError
from mockbroker.config.jaas import parse_jaas
from mockbroker.config.listeners import listener_text
from mockbroker.config.registry import BROKER

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig

ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
SERVED_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""GSSAPI is not: it needs a Kerberos."""
_HANDLER: Final = "sasl.server.callback.handler.class"
_JAAS_FORM: Final = 'LOGIN.MODULE required NAME="VALUE" ...;'


def enabled_mechanisms(config: BrokerConfig, listener: str) -> tuple[str, ...]:
    """What `sasl.enabled.mechanisms` says for a listener."""
    found = BROKER.require(ENABLED).parse(listener_text(config, listener, ENABLED))
    assert isinstance(found, tuple)
    return found


class LoginProblem(NamedTuple):
    """Why nobody could log in: the config, what is wrong with it, what is allowed."""

    key: str
    problem: str
    allowed: str


def login_problem(config: BrokerConfig, listener: str) -> LoginProblem | None:
    """What is wrong with the configs of a SASL listener; None: clients can log in."""
    prefix = f"listener.name.{listener.lower()}."
    for name in enabled_mechanisms(config, listener):
        if name not in SERVED_MECHANISMS:
            named = config.configured(prefix + ENABLED) is not None
            return LoginProblem(
                f"{prefix}{ENABLED}" if named else ENABLED,
                f"{name} is not served at {listener}",
                ", ".join(SERVED_MECHANISMS),
            )
        if listener_text(config, listener, _HANDLER, name) is not None:
            key = f"{prefix}{name.lower()}.{_HANDLER}"
            return LoginProblem(key, f"no class of Java checks {name} here", "none of them")
        text = listener_text(config, listener, JAAS, name)
        key = f"{prefix}{name.lower()}.{JAAS}"
        if text is None:
            if name == "PLAIN":
                return LoginProblem(key, f"{name} has no users at {listener}", _JAAS_FORM)
            continue
        try:
            parse_jaas(text)
        except ConfigError as error:
            return LoginProblem(key, str(error), _JAAS_FORM)
    return None
