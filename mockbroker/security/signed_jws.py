"""Tokens of OAUTHBEARER that an identity provider signed (RFC 7515, 7519; KIP-768).

What makes a token valid follows BrokerJwtValidator and the jose4j that it uses: the signature is by
a key of the provider's set, `exp`, `iat` and a subject are there, the times fit the broker's clock
within the skew, and issuer and audience are those that are expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.config.listeners import listener_text
from mockbroker.config.logins import OAUTH, expected_audiences
from mockbroker.security.bearer_token import (
    InvalidTokenError,
    Token,
    check_scope,
    decoded,
    object_of,
    quoted,
)
from mockbroker.security.json_web_keys import ALGORITHMS, check_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.security.bearer_token import Claims
    from mockbroker.security.json_web_keys import JsonWebKeys

_PARTS: Final = 3
_LARGEST: Final = 1 << 53
"""No time is later, in seconds."""


class TokenRules(NamedTuple):
    """What a listener wants of a token. `issuer` None, no `audiences`: of anybody, for anybody."""

    issuer: str | None
    audiences: Sequence[str]
    skew_seconds: int
    subject_claim: str
    scope_claim: str
    required_scope: str

    @classmethod
    def of(cls, config: BrokerConfig, listener: str, required_scope: str = "") -> TokenRules:
        """Those of the configs as they are now."""

        def text(name: str) -> str | None:
            return listener_text(config, listener, f"{OAUTH}.{name}", "OAUTHBEARER")

        return cls(
            text("expected.issuer"),
            expected_audiences(config, listener),
            int(text("clock.skew.seconds") or 0),
            text("sub.claim.name") or "sub",
            text("scope.claim.name") or "scope",
            required_scope,
        )


def validate(text: str, keys: JsonWebKeys, rules: TokenRules, now_ms: int) -> Token:
    """The token of a compact serialization. Raises InvalidTokenError."""
    claims = _signed(text, keys)
    expires = _check_times(claims, now_ms // 1000, rules.skew_seconds)
    _check_issuer(claims, rules.issuer)
    if rules.audiences:
        _check_audience(claims, rules.audiences)
    for name in ("sub", "jti"):
        if not isinstance(claims.get(name), str | None):
            raise InvalidTokenError(f"The claim {name} is no text")
    scope = _scope(claims.get(rules.scope_claim))
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not subject.strip():
        raise InvalidTokenError(f"There is no subject in the claim {rules.subject_claim}")
    check_scope(scope, rules.required_scope)
    return Token(subject.strip(), expires * 1000)


def _signed(text: str, keys: JsonWebKeys) -> Claims:
    """The claims, of which the signature is right."""
    parts = text.split(".")
    if len(parts) != _PARTS or not all(parts):
        raise InvalidTokenError("It has not three values with dots between them")
    header = object_of(parts[0], unique=True)
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise InvalidTokenError(f"The algorithm {quoted(algorithm)} signs no token")
    if not isinstance(key_id, str | None):
        raise InvalidTokenError("The id of its key is no text")
    if "crit" in header or header.get("b64") is False:
        raise InvalidTokenError("Its header asks for what is not understood")
    signed = f"{parts[0]}.{parts[1]}".encode()
    check_signature(algorithm, keys.find(algorithm, key_id), signed, decoded(parts[2]))
    return object_of(parts[1], unique=True)


def _check_times(claims: Claims, now: int, skew: int) -> int:
    """See that it is valid now; when it expires, in seconds since 1970."""
    expires, issued = _seconds(claims, "exp"), _seconds(claims, "iat")
    begins = _seconds(claims, "nbf")
    if expires is None or issued is None:
        raise InvalidTokenError(f"The claim {'exp' if expires is None else 'iat'} is missing")
    if now - skew >= expires:
        raise InvalidTokenError(f"It expired at {expires} s; it is {now} s, and {skew} s are let")
    if begins is not None and now + skew < begins:
        raise InvalidTokenError(f"It begins at {begins} s; it is {now} s, and {skew} s are let")
    if expires < issued or (begins is not None and expires < begins):
        raise InvalidTokenError("It expires before it begins")
    if expires < 0 or issued < 0:
        raise InvalidTokenError("It is of a time before 1970")
    return expires


def _seconds(claims: Claims, name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTokenError(f"The claim {name} is no number")
    if not -_LARGEST < value < _LARGEST:
        raise InvalidTokenError(f"The claim {name} is no time")
    return int(value)


def _check_issuer(claims: Claims, expected: str | None) -> None:
    issuer = claims.get("iss")
    if not isinstance(issuer, str | None):
        raise InvalidTokenError("The claim iss is no text")
    if expected is not None and issuer != expected:
        raise InvalidTokenError(f"It is issued by {quoted(issuer)}, not by {quoted(expected)}")


def _check_audience(claims: Claims, expected: Sequence[str]) -> None:
    value = claims.get("aud")
    audience = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in audience):
        raise InvalidTokenError("The claim aud is no text, and no list of texts")
    if not set(audience) & set(expected):
        raise InvalidTokenError(f"It is for {quoted(value)}, not for {', '.join(expected)}")


def _scope(value: object) -> set[str]:
    """One text is one scope, as Kafka takes it (ClaimValidationUtils.validateScopes)."""
    if not isinstance(value, str | list):
        return set()
    listed = [value] if isinstance(value, str) else value
    found = [each.strip() for each in listed if isinstance(each, str)]
    if len(found) != len(listed) or not all(found) or len(set(found)) != len(found):
        raise InvalidTokenError("A scope is empty, there twice, or no text")
    return set(found)
