"""Tokens of OAUTHBEARER that the broker makes for a test.

Where the keys of a listener are the broker's own they are signed, where it wants no signatures
they have none. What a token says fits what the listener expects, as its configs are at that
moment; a test may have it say something else.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from json import dumps
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from mockbroker.config.jaas import parse_jaas
from mockbroker.config.listeners import listener_text, security_protocol
from mockbroker.config.logins import JAAS, JWKS_URL, checks_signatures, enabled_mechanisms
from mockbroker.security.signed_jws import TokenRules
from mockbroker.security.unsecured_jws import ClaimNames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.config.broker import BrokerConfig

_MECHANISM: Final = "OAUTHBEARER"
_ISSUER: Final = "https://mockbroker.test"


class WantedToken(NamedTuple):
    """What a token is to say; `claims` go before all else, and one that is None is left out."""

    principal: str
    listener: str | None
    lifetime_ms: int
    claims: Mapping[str, object] | None


class Signer(Protocol):
    """The keys of a listener, where the broker made them: `server.own_keys`."""

    def text(self) -> str | None: ...
    def missing(self) -> None: ...

    def header(self) -> Mapping[str, object]:
        """What a token says of the key that signed it."""

    def sign(self, data: bytes) -> bytes:
        """The signature of what a token says."""


def make_token(
    config: BrokerConfig, listeners: Sequence[str], wanted: WantedToken, wall_ms: int
) -> str:
    """A token for one of the listeners, the first with OAUTHBEARER unless it is named.

    Raises ValueError where there is none that the broker can make.
    """
    able = [
        name
        for name in listeners
        if security_protocol(config, name).has_sasl
        and _MECHANISM in enabled_mechanisms(config, name)
    ]
    name = next(iter(able), None) if wanted.listener is None else wanted.listener.upper()
    if name is None or name not in able:
        which = "no listener" if wanted.listener is None else f"no listener {wanted.listener}"
        message = f"there is {which} with OAUTHBEARER; allowed: {', '.join(able) or 'none'}"
        raise ValueError(message)
    issued = wall_ms // 1000
    times = {"iat": issued, "exp": (wall_ms + wanted.lifetime_ms) // 1000}
    text = listener_text(config, name, JAAS, _MECHANISM)
    options = {} if text is None else parse_jaas(text).options
    if not checks_signatures(config, name):
        names = ClaimNames.of(options)
        claims = {names.principal: wanted.principal, **times, **_scope(names.scope, names.required)}
        return f"{_encoded({'alg': 'none'}, _changed(claims, wanted.claims))}."
    keys = config.token_keys.get(name)
    if keys is None or not hasattr(keys, "sign"):
        url = listener_text(config, name, JWKS_URL, _MECHANISM)
        message = f"the keys that sign tokens for {name} are at {url}; allowed: {JWKS_URL}=auto"
        raise ValueError(message)
    rules = TokenRules.of(config, name, options.get("validatorRequiredScope", ""))
    claims = {
        "iss": rules.issuer or _ISSUER,
        rules.subject_claim: wanted.principal,
        **times,
        **({"aud": rules.audiences[0]} if rules.audiences else {}),
        **_scope(rules.scope_claim, rules.required_scope),
    }
    signer = cast("Signer", keys)
    told = _encoded(signer.header(), _changed(claims, wanted.claims))
    return f"{told}.{_in_base64(signer.sign(told.encode()))}"


def _scope(name: str, required: str) -> dict[str, object]:
    wanted = required.split()
    return {name: wanted} if wanted else {}


def _changed(
    claims: Mapping[str, object], others: Mapping[str, object] | None
) -> dict[str, object]:
    changed = {**claims, **(others or {})}
    return {name: value for name, value in changed.items() if value is not None}


def _encoded(*parts: Mapping[str, object]) -> str:
    return ".".join(_in_base64(dumps(part).encode()) for part in parts)


def _in_base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
