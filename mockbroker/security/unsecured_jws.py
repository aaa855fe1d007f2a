"""Tokens of OAUTHBEARER that nobody signed, for tests (RFC 7515; KIP-255).

What makes a token valid follows OAuthBearerUnsecuredValidatorCallbackHandler, which Apache Kafka
uses where no other is configured. Reasons are for the broker's log: a client is told none.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.security.bearer_token import InvalidTokenError, Token, check_scope, object_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.security.bearer_token import Claims

_OPTION: Final = "unsecuredValidator"
_PARTS: Final = 3


class ClaimNames(NamedTuple):
    """Which claims say whose a token is and what it is for, and the scope that it has to have."""

    principal: str
    scope: str
    required: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ClaimNames:
        """Those of a JAAS entry."""
        return cls(
            _named(options, "PrincipalClaimName", "sub"),
            _named(options, "ScopeClaimName", "scope"),
            _named(options, "RequiredScope", ""),
        )


def validate(text: str, options: Mapping[str, str], now_ms: int) -> Token:
    """The token of a compact serialization. `options` are those of the JAAS entry.

    Raises InvalidTokenError.
    """
    claims = _claims(text)
    issued, expires = _seconds(claims, "iat"), _seconds(claims, "exp")
    if expires is None:
        raise InvalidTokenError("No expiration time in JWT")
    names = ClaimNames.of(options)
    principal = _text(claims, names.principal)
    skew_ms = _skew_ms(options)
    if issued is not None and 1000 * issued > now_ms + skew_ms:
        raise InvalidTokenError(f"It is issued at {issued:f} s, after the time of {now_ms} ms")
    if now_ms - skew_ms >= 1000 * expires:
        raise InvalidTokenError(f"It expired at {expires:f} s, at or before {now_ms} ms")
    if issued is not None and expires <= issued:
        raise InvalidTokenError("It expires before it is issued")
    check_scope(_scope(claims.get(names.scope)), names.required)
    return Token(principal, round(expires * 1000))


def _named(options: Mapping[str, str], name: str, default: str) -> str:
    return options.get(_OPTION + name, "").strip() or default


def _skew_ms(options: Mapping[str, str]) -> int:
    text = _named(options, "AllowableClockSkewMs", "0")
    if not (text.isascii() and text.isdigit()):
        # Kafka: OAuthBearerConfigException, at each login too.
        raise InvalidTokenError(f"{_OPTION}AllowableClockSkewMs is no number of milliseconds")
    return int(text)


def _claims(text: str) -> Claims:
    parts = text.split(".")
    if len(parts) != _PARTS or not parts[1]:
        raise InvalidTokenError("It has not three values with dots between them")
    header, claims = (object_of(part) for part in parts[:2])
    if header.get("alg") != "none":
        raise InvalidTokenError("Unsecured JWS must have 'none' for an algorithm")
    if parts[2]:
        raise InvalidTokenError("Unsecured JWS must not contain a digital signature")
    return claims


def _text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    if isinstance(value, bool):
        value = str(value).lower()  # as Jackson's asText has it
    if not isinstance(value, str) or not value.strip():
        raise InvalidTokenError(f"No principal name in JWT claim: {name}")
    return value


def _seconds(claims: Claims, name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTokenError(f"The '{name}' claim was not of type Number")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = float("inf")
    if not isfinite(seconds * 1000):
        raise InvalidTokenError(f"The '{name}' claim is no time")
    return seconds


def _scope(value: object) -> set[str]:
    """One text is one scope, as Kafka takes it; a list has several."""
    listed = value if isinstance(value, list) else [value]
    return {one.strip() for one in listed if isinstance(one, str)}
