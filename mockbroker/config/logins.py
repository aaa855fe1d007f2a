"""What a broker's configs say of logins at a SASL listener, and whether that can be served.

`security` goes by it at each login; `server` looks at it before a listener is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.config.errors import ConfigError
from mockbroker.config.jaas import parse_jaas
from mockbroker.config.listeners import listener_text, security_protocol
from mockbroker.config.registry import BROKER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.config.broker import BrokerConfig

ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
SERVED_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""GSSAPI is not: it needs a Kerberos."""
OAUTH: Final = "sasl.oauthbearer"
JWKS_URL: Final = f"{OAUTH}.jwks.endpoint.url"
_HANDLER: Final = "sasl.server.callback.handler.class"
_VALIDATOR: Final = f"{OAUTH}.jwt.validator.class"
_JAAS_FORM: Final = 'LOGIN.MODULE required NAME="VALUE" ...;'
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
SIGNED: Final = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
"""Kafka's class that checks signatures; without one tokens are unsecured."""
_UNSECURED: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_VALIDATORS: Final = tuple(f"{_PACKAGE}.{name}JwtValidator" for name in ("Default", "Broker"))
OWN_KEYS: Final = "auto"
"""In place of an address: the broker makes them, and signs what a test asks for."""
_URL_FORM: Final = f"file:/PATH, http://HOST/PATH, https://HOST/PATH or {OWN_KEYS}"


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


def checks_signatures(config: BrokerConfig, listener: str) -> bool:
    """Whether tokens of OAUTHBEARER are to be signed at a listener."""
    return listener_text(config, listener, _HANDLER, "OAUTHBEARER") == SIGNED


def expected_audiences(config: BrokerConfig, listener: str) -> tuple[str, ...]:
    """For whom tokens may be made; none: for anybody."""
    key = f"{OAUTH}.expected.audience"
    found = BROKER.require(key).parse(listener_text(config, listener, key, "OAUTHBEARER"))
    assert isinstance(found, tuple)
    return found


def jwks_url(config: BrokerConfig, listener: str) -> str | None:
    """Where the keys are that sign tokens; None where none are to be signed."""
    if "OAUTHBEARER" not in enabled_mechanisms(config, listener):
        return None
    if not checks_signatures(config, listener):
        return None
    return listener_text(config, listener, JWKS_URL, "OAUTHBEARER")


def login_problem(config: BrokerConfig, listener: str) -> LoginProblem | None:
    """What is wrong with the configs of a SASL listener; None: clients can log in."""
    return next(_problems(config, listener), None)


def _problems(config: BrokerConfig, listener: str) -> Iterator[LoginProblem]:
    prefix = f"listener.name.{listener.lower()}."
    for name in enabled_mechanisms(config, listener):
        if name not in SERVED_MECHANISMS:
            named = config.configured(prefix + ENABLED) is not None
            key = f"{prefix}{ENABLED}" if named else ENABLED
            served = ", ".join(SERVED_MECHANISMS)
            yield LoginProblem(key, f"{name} is not served at {listener}", served)
        handler = listener_text(config, listener, _HANDLER, name)
        known = (SIGNED, _UNSECURED) if name == "OAUTHBEARER" else ()
        if handler is not None and handler not in known:
            key = f"{prefix}{name.lower()}.{_HANDLER}"
            allowed = " or ".join(known) or "none of them"
            yield LoginProblem(key, f"no class of Java checks {name} here", allowed)
        text = listener_text(config, listener, JAAS, name)
        key = f"{prefix}{name.lower()}.{JAAS}"
        if text is not None:
            try:
                parse_jaas(text)
            except ConfigError as error:
                yield LoginProblem(key, str(error), _JAAS_FORM)
        elif name == "PLAIN":
            yield LoginProblem(key, f"{name} has no users at {listener}", _JAAS_FORM)
        if handler == SIGNED:
            yield from _signature_problems(config, listener)


def _signature_problems(config: BrokerConfig, listener: str) -> Iterator[LoginProblem]:
    """What keeps signed tokens from being checked (Kafka: BrokerJwtValidator.configure)."""
    prefix = f"listener.name.{listener.lower()}.oauthbearer."

    def text(key: str) -> str:
        return (listener_text(config, listener, key, "OAUTHBEARER") or "").strip()

    if text(_VALIDATOR) not in _VALIDATORS:
        problem = "no other class of Java checks tokens here"
        yield LoginProblem(prefix + _VALIDATOR, problem, " or ".join(_VALIDATORS))
    scheme, _, rest = text(JWKS_URL).partition(":")
    is_url = scheme.lower() in ("file", "http", "https") and rest.strip("/")
    if text(JWKS_URL) != OWN_KEYS and not is_url:
        problem = "it does not say where the keys are that sign tokens"
        yield LoginProblem(prefix + JWKS_URL, problem, _URL_FORM)
    for kind, example in (("audience", "kafka"), ("issuer", "https://HOST/REALM")):
        key = f"{OAUTH}.expected.{kind}"
        anybody = f"{OAUTH}.allow.unverified.{kind}"
        if not text(key) and text(anybody).lower() != "true":
            problem = f"nothing says which {kind} a token may have"
            yield LoginProblem(prefix + key, problem, f"{example}, or {anybody}=true")
    skew = f"{OAUTH}.clock.skew.seconds"
    if text(skew).startswith("-"):
        yield LoginProblem(prefix + skew, f"{text(skew)} is no skew", "seconds, 0 or more")


def inter_broker_principal(config: BrokerConfig) -> str | None:
    """Who a broker is to the others by the listener between them; None: ANONYMOUS.

    Kafka: the client's option `username` of that listener's JAAS entry, or the certificate of its
    key store, if the listener asks for one.
    """
    named = config.text("inter.broker.listener.name")
    listener = named or config.str("security.inter.broker.protocol")
    protocol = security_protocol(config, listener)
    if not protocol.has_sasl:
        shows = config.certificate_principals.get(listener)
        return shows() if shows is not None and protocol.has_tls else None
    mechanism = config.text("sasl.mechanism.inter.broker.protocol")
    text = listener_text(config, listener, JAAS, mechanism)
    name = "" if not text else parse_jaas(text).options.get("username", "")
    return f"User:{name}" if name else None
