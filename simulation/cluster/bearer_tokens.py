"""Tokens of OAUTHBEARER for the cluster's simulation: right ones, and what may be wrong with one.

`unsecured` and `signed` draw one with whose it is, or nobody's, by construction. `Keys` are those
of an identity provider, which come and go; a broker reads them as it reads those of an address.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from functools import cache
from hmac import digest as hmac_digest
from json import dumps
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    Claims = dict[str, object]
    Sign = Callable[[bytes], bytes]

SCOPE: Final = "read"
ISSUER, AUDIENCE = "https://issuer.test", "brokers"
SUBJECT: Final = "olga"
LIVES_S: Final = 60
INVALID: Final = b'{"status":"invalid_token"}'
OTHER_SCOPE: Final = b'{"status":"insufficient_scope", "scope":"[read]"}'


class BearerToken(NamedTuple):
    """`principal` None: it is not valid, and `status` is answered; `expires_ms`: since 1970."""

    text: str
    what: str
    principal: str | None
    expires_ms: int
    status: bytes = INVALID
    misses_key: bool = False


def in_base64(data: bytes) -> str:
    """As tokens have it."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def part_of(value: object) -> str:
    """An object as one value of a token."""
    return in_base64(dumps(value).encode())


# -- nobody signed it ----------------------------------------------------------------------------


UNSECURED_CLAIMS: Final[Mapping[str, Claims]] = {
    "expired": {"exp": -10},
    "of later": {"iat": 10},
    "over before it begins": {"iat": 0.09, "exp": 0.08},
    "without an end": {"exp": None},
    "with a text for its end": {"exp": "soon"},
    "with a truth for its end": {"exp": True},
    "that never ends": {"exp": 10**400},
    "of nobody": {"sub": None},
    "of a blank": {"sub": " "},
    "of a number": {"sub": 7},
    "with two scopes in one text": {"scope": "read write"},
    "of another scope": {"scope": ["write"]},
    "without a scope": {"scope": None},
}
"""What is said otherwise; times are seconds from now on, None is left out."""
OTHER_SCOPES: Final = frozenset(
    ("with two scopes in one text", "of another scope", "without a scope")
)
VALID_CLAIMS: Final[Mapping[str, Claims]] = {
    "as it should be": {},
    "with one scope as a text": {"scope": " read "},
    "with more scopes": {"scope": ["write", "read"]},
    "of a truth": {"sub": True},
    "that just ended": {"exp": -0.05, "iat": None},
    "without a beginning": {"iat": None},
}


def _claims(changes: Claims, now_ms: int) -> Claims:
    claims: Claims = {"sub": SUBJECT, "iat": -1, "exp": LIVES_S, "scope": [SCOPE], **changes}
    for name in ("iat", "exp"):
        value = claims[name]
        is_far = isinstance(value, int) and value > LIVES_S
        if isinstance(value, int | float) and not isinstance(value, bool) and not is_far:
            claims[name] = now_ms / 1000 + value
    return {name: value for name, value in claims.items() if value is not None}


def unsecured(rng: Random, now_ms: int) -> BearerToken:
    """One that needs no signature."""
    roll = rng.random()
    if roll < 0.4:
        what = rng.choice([*VALID_CLAIMS])
        claims = _claims(VALID_CLAIMS[what], now_ms)
        principal = "true" if claims["sub"] is True else SUBJECT
        text = f"{part_of({'alg': 'none'})}.{part_of(claims)}."
        return BearerToken(text, what, principal, round(float(str(claims["exp"])) * 1000))
    if roll < 0.75:
        what = rng.choice([*UNSECURED_CLAIMS])
        text = f"{part_of({'alg': 'none'})}.{part_of(_claims(UNSECURED_CLAIMS[what], now_ms))}."
        return BearerToken(text, what, None, 0, OTHER_SCOPE if what in OTHER_SCOPES else INVALID)
    claims = _claims({}, now_ms)
    head, body = part_of({"alg": "none"}), part_of(claims)
    forms = {
        "of two values": f"{head}.{body}",
        "of four values": f"{head}.{body}.x.y",
        "without claims": f"{head}..",
        "with a signature": f"{head}.{body}.c2ln",
        "by an algorithm": f"{part_of({'alg': 'HS256'})}.{body}.",
        "of no JSON": f"{head}.{in_base64(b'{')}.",
        "of a list": f"{head}.{part_of([claims])}.",
        "of no Base64": f"{head}.{body[:-1]}~.",
        "of a part of Base64": f"{head}.a.",
    }
    what = rng.choice([*forms])
    return BearerToken(forms[what], what, None, 0)


# -- signed ones ---------------------------------------------------------------------------------


class SigningKey(NamedTuple):
    """One key: what is told of it, and how it signs by an algorithm."""

    algorithm: str
    public: Mapping[str, str]
    sign: Sign


@cache
def signing_keys() -> Mapping[str, SigningKey]:
    """By their ids; made once a process."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    curve = ec.generate_private_key(ec.SECP256R1())
    place = curve.public_key().public_numbers()
    edwards = ed25519.Ed25519PrivateKey.generate()
    numbers = rsa.generate_private_key(65_537, 2_048)
    of_rsa = numbers.public_key().public_numbers()
    secret = b"a secret that is long enough by far"

    def by_curve(data: bytes) -> bytes:
        pair = decode_dss_signature(curve.sign(data, ec.ECDSA(hashes.SHA256())))
        return b"".join(number.to_bytes(32, "big") for number in pair)

    def by_rsa(data: bytes) -> bytes:
        return numbers.sign(data, padding.PKCS1v15(), hashes.SHA256())

    def by_rsa_with_salt(data: bytes) -> bytes:
        salted = padding.PSS(padding.MGF1(hashes.SHA512()), padding.PSS.DIGEST_LENGTH)
        return numbers.sign(data, salted, hashes.SHA512())

    rsa_public = {"kty": "RSA", "n": _number(of_rsa.n, 256), "e": _number(of_rsa.e, 3)}
    curve_public = {"kty": "EC", "crv": "P-256", "x": _number(place.x), "y": _number(place.y)}
    raw = in_base64(edwards.public_key().public_bytes_raw())
    known = {
        "curve": SigningKey("ES256", {**curve_public, "alg": "ES256"}, by_curve),
        "edwards": SigningKey("EdDSA", {"kty": "OKP", "crv": "Ed25519", "x": raw}, edwards.sign),
        "secret": SigningKey(
            "HS256",
            {"kty": "oct", "k": in_base64(secret)},
            lambda data: hmac_digest(secret, data, "sha256"),
        ),
        "rsa": SigningKey("RS256", rsa_public, by_rsa),
        "rsa-pss": SigningKey("PS512", {**rsa_public, "use": "sig"}, by_rsa_with_salt),
    }
    return {name: key._replace(public={**key.public, "kid": name}) for name, key in known.items()}


def _number(value: int, size: int = 32) -> str:
    return in_base64(value.to_bytes(size, "big"))


USELESS: Final = (
    {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA", "kid": "of-no-curve"},
    {"kty": "OKP", "crv": "X25519", "x": "AA", "kid": "of-no-signature"},
    {"kty": "oct", "kid": "empty"},
    {"kid": "of-no-type"},
    7,
)
"""Keys that a set may have beside the others: they are left out."""


class Keys:
    """The keys of a provider, as `config.token_keys` has them; it signs as an own one does."""

    def __init__(self) -> None:
        self.there = [*signing_keys()]
        self.asked_anew = 0
        self.is_readable = True

    def text(self) -> str | None:
        """The set."""
        if not self.is_readable:
            return None
        known = [signing_keys()[name].public for name in self.there]
        return dumps({"keys": [*USELESS, *known]})

    def missing(self) -> None:
        """A token named a key that is not there."""
        self.asked_anew += 1

    def header(self) -> Mapping[str, object]:
        """Of tokens that a broker makes for a test."""
        return {"alg": "ES256", "kid": "curve"}

    def sign(self, data: bytes) -> bytes:
        """As it signs them."""
        return signing_keys()["curve"].sign(data)

    def change(self, rng: Random) -> None:
        """One goes, one comes, or none can be read for a while."""
        self.is_readable = rng.random() < 0.9
        self.there = [name for name in signing_keys() if rng.random() < 0.8]


SIGNED_VALID: Final[Mapping[str, Claims]] = {
    "as it should be": {},
    "for several": {"aud": ["others", AUDIENCE]},
    "that has begun": {"nbf": -1},
    "with an id": {"jti": "one"},
    "with one scope as a text": {"scope": " read "},
    "with blanks around its subject": {"sub": f" {SUBJECT} "},
    "that just ended": {"exp": -1, "iat": -2},
}
SIGNED_INVALID: Final[Mapping[str, Claims]] = {
    "expired": {"exp": -10, "iat": -20},
    "that has not begun": {"nbf": 10},
    "over before it begins": {"nbf": 1, "exp": 0},
    "over before it was issued": {"iat": 20, "exp": 10},
    "without an end": {"exp": None},
    "without a beginning": {"iat": None},
    "with a text for its end": {"exp": "soon"},
    "that never ends": {"exp": 1 << 60},
    "of before 1970": {"exp": 5.0e9, "iat": -5.0e9},
    "of another issuer": {"iss": "https://other.test"},
    "of a number for an issuer": {"iss": 7},
    "for others": {"aud": "others"},
    "for numbers": {"aud": [7]},
    "for nobody": {"aud": None},
    "of nobody": {"sub": None},
    "of a blank": {"sub": " "},
    "of a number": {"sub": 7},
    "with a number for an id": {"jti": 7},
    "with a scope twice": {"scope": ["read", "read"]},
    "with an empty scope": {"scope": ["read", " "]},
    "of another scope": {"scope": "write"},
    "with a number for a scope": {"scope": 7},
}
SIGNED_OTHER_SCOPES: Final = frozenset(("of another scope", "with a number for a scope"))


def signed(rng: Random, now_ms: int, keys: Keys) -> BearerToken:
    """One that has to be signed by a key that is there."""
    name = rng.choice([*signing_keys()])
    key = signing_keys()[name]
    known = keys.is_readable
    roll = rng.random()
    if roll < 0.4:
        what, changes = rng.choice([*SIGNED_VALID.items()])
    elif roll < 0.7:
        what, changes = rng.choice([*SIGNED_INVALID.items()])
    else:
        return _badly_signed(rng, now_ms, keys, name)
    claims = _signed_claims(changes, now_ms)
    token = _signed(key, name, dumps(claims).encode())
    is_there = known and name in keys.there
    if not is_there:
        return BearerToken(token, f"by {name}, which is gone", None, 0, misses_key=known)
    if what in SIGNED_INVALID:
        status = OTHER_SCOPE if what in SIGNED_OTHER_SCOPES else INVALID
        return BearerToken(token, what, None, 0, status)
    return BearerToken(token, what, SUBJECT, int(str(claims["exp"])) * 1000)


def _signed_claims(changes: Claims, now_ms: int) -> Claims:
    claims: Claims = {
        "sub": SUBJECT,
        "iat": -1,
        "exp": LIVES_S,
        "scope": [SCOPE],
        "iss": ISSUER,
        "aud": AUDIENCE,
        **changes,
    }
    for name in ("iat", "exp", "nbf"):
        value = claims.get(name)
        if isinstance(value, int | float) and value < 1 << 53:
            claims[name] = now_ms // 1000 + int(value)
    return {name: value for name, value in claims.items() if value is not None}


def _signed(key: SigningKey, name: str, claims: bytes, **header: object) -> str:
    says = {"alg": key.algorithm, "kid": name, **header}
    told = f"{part_of({k: v for k, v in says.items() if v is not None})}.{in_base64(claims)}"
    return f"{told}.{in_base64(key.sign(told.encode()))}"


def _badly_signed(rng: Random, now_ms: int, keys: Keys, name: str) -> BearerToken:
    key = signing_keys()[name]
    body = dumps(_signed_claims({}, now_ms)).encode()
    good = _signed(key, name, body)
    head, claims, signature = good.split(".")
    forms = {
        "of nobody's key": _signed(key, "nobody", body),
        "by no algorithm": _signed(key, name, body, alg="none"),
        "by one that there is not": _signed(key, name, body, alg="ES257"),
        "by a number": _signed(key, name, body, alg=7),
        "of a number for a key": _signed(key, name, body, kid=7),
        "with a header that must be understood": _signed(key, name, body, crit=["x"]),
        "of an unencoded body": _signed(key, name, body, b64=False),
        "that says something twice": _signed(key, name, b'{"sub": "olga", ' + body[1:]),
        "that says no object": _signed(key, name, b"[]"),
        "with another signature": f"{head}.{claims}.{in_base64(key.sign(b'x'))}",
        "with a part of its signature": f"{head}.{claims}.{signature[:20]}",
        "with no signature": f"{head}.{claims}.",
        "with other claims": f"{head}.{part_of({'sub': 'admin'})}.{signature}",
        "of two values": f"{head}.{claims}",
    }
    what = rng.choice([*forms])
    looks = keys.is_readable and what not in {
        "by no algorithm", "by one that there is not", "by a number", "of a number for a key",
        "with a header that must be understood", "of an unencoded body", "with no signature",
        "of two values",
    }  # fmt: skip
    misses = looks and (name not in keys.there or what == "of nobody's key")
    return BearerToken(forms[what], f"{what}, of {name}", None, 0, misses_key=misses)
