"""Keys of an identity provider made for a test, and tokens that they sign."""

from __future__ import annotations

import base64
import hmac
import json
from functools import cache
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
HANDLER: Final = f"{PACKAGE}.OAuthBearerValidatorCallbackHandler"
ISSUER: Final = "https://idp.test"
AUDIENCE: Final = "kafka"
SECRET: Final = b"0123456789abcdef0123456789abcdef"
_HASHES: Final = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_CURVES: Final = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
_HALF: Final = {"256": 32, "384": 48, "512": 66}


def in_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _number(value: int) -> str:
    return in_base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


@cache
def rsa_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    """One for each name."""
    del name
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key(curve: str) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(_CURVES[curve])


@cache
def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def jwk(key: object, **members: object) -> dict[str, object]:
    """The public half, as a set of keys has it."""
    if isinstance(key, bytes):
        return {"kty": "oct", "k": in_base64(key), **members}
    if isinstance(key, rsa.RSAPrivateKey):
        pair = key.public_key().public_numbers()
        return {"kty": "RSA", "n": _number(pair.n), "e": _number(pair.e), **members}
    if isinstance(key, ec.EllipticCurvePrivateKey):
        place = key.public_key().public_numbers()
        curve = next(name for name, one in _CURVES.items() if one.name == key.curve.name)
        return {"kty": "EC", "crv": curve, "x": _number(place.x), "y": _number(place.y), **members}
    assert isinstance(key, ed25519.Ed25519PrivateKey)
    x = in_base64(key.public_key().public_bytes_raw())
    return {"kty": "OKP", "crv": "Ed25519", "x": x, **members}


def jwks(*keys: Mapping[str, object]) -> str:
    return json.dumps({"keys": keys})


def signature(algorithm: str, key: object, data: bytes) -> bytes:
    made = _HASHES.get(algorithm[2:])
    if isinstance(key, bytes):
        return hmac.digest(key, data, f"sha{algorithm[2:]}")
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(data)
    assert made is not None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        first, second = decode_dss_signature(key.sign(data, ec.ECDSA(made)))
        half = _HALF[algorithm[2:]]
        return first.to_bytes(half, "big") + second.to_bytes(half, "big")
    assert isinstance(key, rsa.RSAPrivateKey)
    if algorithm.startswith("PS"):
        return key.sign(data, padding.PSS(padding.MGF1(made), made.digest_size), made)
    return key.sign(data, padding.PKCS1v15(), made)


def signed(
    claims: Mapping[str, object],
    *,
    key: object = None,
    algorithm: str = "ES256",
    key_id: str | None = "one",
    header: Mapping[str, object] | None = None,
) -> str:
    """A token; without a `key` by that of `P-256`."""
    named = {} if key_id is None else {"kid": key_id}
    head = {"alg": algorithm, **named, **(header or {})}
    text = ".".join(in_base64(json.dumps(part).encode()) for part in (head, claims))
    made = signature(algorithm, ec_key("P-256") if key is None else key, text.encode())
    return f"{text}.{in_base64(made)}"


def claims(now: int, **members: object) -> dict[str, object]:
    """Those of alice; a member that is None is left out."""
    usual = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 60}
    return {name: value for name, value in {**usual, **members}.items() if value is not None}


def configs(listener: str, url: str) -> dict[str, str]:
    """What a broker is configured with that wants such tokens at a listener."""
    prefix = f"listener.name.{listener.lower()}.oauthbearer.sasl."
    return {
        "listener.security.protocol.map": f"{listener}:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}server.callback.handler.class": HANDLER,
        f"{prefix}oauthbearer.jwks.endpoint.url": url,
        f"{prefix}oauthbearer.expected.issuer": ISSUER,
        f"{prefix}oauthbearer.expected.audience": AUDIENCE,
    }
