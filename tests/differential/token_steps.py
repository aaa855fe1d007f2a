"""Signed tokens of OAUTHBEARER, right and wrong, and how each is shown: what a broker says then.

Of keys of three kinds, with each algorithm; claims that are missing, of another type, too early or
too late; headers that ask for what is not there; and what is no token at all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.differential.login_steps import ANY, handshake, token
from tests.support.logins import bearer, encoded
from tests.support.signed_tokens import (
    SECRET,
    claims,
    ec_key,
    in_base64,
    jwk,
    jwks,
    rsa_key,
    signature,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

RSA, CURVE, LARGE = rsa_key("one"), ec_key("P-256"), ec_key("P-384")
KEYS: Final = jwks(
    jwk(CURVE, kid="one"),
    jwk(RSA, kid="rsa"),
    jwk(LARGE, kid="large"),
    jwk(SECRET, kid="secret"),
    jwk(rsa_key("two"), kid="for-encryption", use="enc"),
)
_ALGORITHMS: Final[dict[str, tuple[object, str]]] = {
    "RS256": (RSA, "rsa"),
    "RS384": (RSA, "rsa"),
    "RS512": (RSA, "rsa"),
    "PS256": (RSA, "rsa"),
    "PS384": (RSA, "rsa"),
    "PS512": (RSA, "rsa"),
    "ES256": (CURVE, "one"),
    "ES384": (LARGE, "large"),
    "HS256": (SECRET, "secret"),
}
_NOTHING: Final[list[object]] = [None, "", "  ", 5, 1.5, True, [], {}, ["kafka"]]
_TIMES: Final[list[object]] = ["soon", True, [], -5, 1.5]


def _of_claims(now: int) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "right", {}
    for name in ("sub", "iss", "aud", "scope", "jti"):
        for value in _NOTHING:
            if (name, value) != ("scope", {}):
                yield f"{name} is {value!r}", {name: value}
    yield "aud is another", {"aud": "shop"}
    yield "aud is a list with another", {"aud": ["shop", "kafka"]}
    yield "aud is a list of others", {"aud": ["shop", "till"]}
    yield "aud is a list with a number", {"aud": ["kafka", 5]}
    yield "iss is another", {"iss": "https://other.test"}
    yield "scope is there twice", {"scope": ["a", "a"]}
    yield "scope is blank in a list", {"scope": ["a", " "]}
    yield "scope is a list", {"scope": ["a", "b"]}
    for name in ("exp", "iat", "nbf"):
        for value in (None, *_TIMES):
            yield f"{name} is {value!r}", {name: value}
    # What lies within the clock's skew may lie behind it when it is sent.
    for seconds in (-3000, 3000):
        yield f"exp is {seconds} s off", {"exp": now + seconds, "iat": now - 9000}
    for seconds in (-3600, 15, 3000):
        yield f"nbf is {seconds} s off", {"nbf": now + seconds, "exp": now + 3600}
        yield f"iat is {seconds} s off", {"iat": now + seconds, "exp": now + 3600}
    yield "exp is before iat", {"iat": now + 50, "exp": now + 40}


def _of_headers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("none", "None", "HS256", "RS256", "ES384", "ES1", "", 5, None):
        yield f"alg is {name!r}", {"alg": name}
    for name in ("two", "rsa", "for-encryption", "", 5):
        yield f"kid is {name!r}", {"kid": name}
    yield "typ", {"typ": "at+jwt"}
    yield "crit", {"crit": ["exp"]}
    yield "b64", {"b64": False}


def tokens(now: int) -> dict[str, str]:
    """Each by what is right or wrong with it; `now` is in seconds."""
    made = {
        name: signed(claims(now, **{**_patient(now), **members}))
        for name, members in _of_claims(now)
    }
    usual = claims(now, **_patient(now))
    for name, header in _of_headers():
        made[name] = signed(usual, header=header)
    for algorithm, (key, key_id) in _ALGORITHMS.items():
        made[algorithm] = signed(usual, key=key, algorithm=algorithm, key_id=key_id)
        made[f"{algorithm} without a key id"] = signed(
            usual, key=key, algorithm=algorithm, key_id=None
        )
    made["by a stranger"] = signed(usual, key=rsa_key("three"), algorithm="RS256", key_id="rsa")
    made["for encryption"] = signed(
        usual, key=rsa_key("two"), algorithm="RS256", key_id="for-encryption"
    )
    made["a public key as a secret"] = signed(
        usual, key=json.dumps(jwk(CURVE)).encode(), algorithm="HS256", key_id="one"
    )
    made["nobody signed it"] = encoded({"alg": "none"}, usual)
    good = made["right"]
    head, body, end = good.split(".")
    other = in_base64(json.dumps({**usual, "sub": "admin"}).encode())
    made |= {
        "another's claims": f"{head}.{other}.{end}",
        "no signature": f"{head}.{body}.",
        "half a signature": f"{head}.{body}.{end[:43]}",
        "no end": f"{head}.{body}",
        "no claims": f"{head}..{end}",
        "five values": f"{good}.{end}.{end}",
        "one value": head,
    }
    for name, text in (
        ("a list", "[]"),
        ("no JSON", "hello"),
        ("sub twice", '{"sub":"a","sub":"b"}'),
    ):
        start = f"{head}.{in_base64(text.encode())}"
        made[f"claims are {name}"] = (
            f"{start}.{in_base64(signature('ES256', CURVE, start.encode()))}"
        )
    return made


def _patient(now: int) -> dict[str, object]:
    return {"exp": now + 3600}


def token_exchanges(now: int) -> dict[str, list[bytes]]:
    """What one connection sends for each token: its login, and then a request and a farewell."""
    return {
        name: [handshake("OAUTHBEARER"), token(bearer(one), 0), ANY]
        for name, one in tokens(now).items()
    } | {
        f"{name}, and the end": [
            handshake("OAUTHBEARER"),
            token(bearer(one), 0),
            token(b"\x01", 0),
        ]
        for name, one in tokens(now).items()
    }
