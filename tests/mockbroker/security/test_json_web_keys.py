"""A signature counts by the key that its token names, and by an algorithm that fits the key."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker.security.bearer_token import InvalidTokenError, MissingKeyError
from mockbroker.security.json_web_keys import JsonWebKeys, JwksError, check_signature
from tests.support.signed_tokens import SECRET, ec_key, ed_key, jwk, jwks, rsa_key, signature

DATA = b"what is signed"
RSA = rsa_key("one")
LONG_SECRET = SECRET * 2
SIGNERS = {
    **{f"{kind}{bits}": RSA for kind in ("RS", "PS") for bits in (256, 384, 512)},
    **{f"HS{bits}": LONG_SECRET for bits in (256, 384, 512)},
    "ES256": ec_key("P-256"),
    "ES384": ec_key("P-384"),
    "ES512": ec_key("P-521"),
    "EdDSA": ed_key(),
}


def check(algorithm: str, keys: str, made: bytes, key_id: str | None = "one") -> None:
    found = JsonWebKeys.parse(keys).find(algorithm, key_id)
    check_signature(algorithm, found, DATA, made)


@pytest.mark.parametrize("algorithm", SIGNERS)
def test_each_algorithm(algorithm: str) -> None:
    key = SIGNERS[algorithm]
    keys, made = jwks(jwk(key, kid="one")), signature(algorithm, key, DATA)
    check(algorithm, keys, made)
    check(algorithm, keys, made, None)
    for wrong in (
        made[:-1] + bytes([made[-1] ^ 1]),
        made[:-1],
        b"",
        made + b"\0",
        bytes(len(made)),
    ):
        with pytest.raises(InvalidTokenError, match="The signature is not one of the key"):
            check(algorithm, keys, wrong)


def test_a_public_key_is_no_secret() -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(MissingKeyError, match="There is no key of the id 'one' for HS256"):
        check("HS256", jwks(jwk(RSA, kid="one")), signature("HS256", pem, DATA))


@pytest.mark.parametrize(
    ("members", "key_id", "algorithm"),
    [
        ({"kid": "two"}, "one", "RS256"),
        ({}, "one", "RS256"),
        ({"use": "enc"}, None, "RS256"),
        ({"key_ops": ["encrypt"]}, None, "RS256"),
        ({"key_ops": "verify"}, None, "RS256"),
        ({}, None, "ES256"),
        ({}, None, "EdDSA"),
    ],
)
def test_a_key_that_is_for_something_else(
    members: dict[str, object], key_id: str | None, algorithm: str
) -> None:
    with pytest.raises(MissingKeyError):
        JsonWebKeys.parse(jwks(jwk(RSA, **members))).find(algorithm, key_id)


def test_of_several_keys_the_first_that_fits_is_asked() -> None:
    keys = JsonWebKeys.parse(
        jwks(
            jwk(RSA, kid="a", alg="RS512"),
            jwk(RSA, kid="b"),
            jwk(ec_key("P-384"), kid="c"),
            jwk(ec_key("P-256"), kid="d"),
        )
    )
    assert [keys.find(one, None).id for one in ("RS256", "RS512", "ES256")] == ["b", "a", "d"]
    assert keys.find("RS256", "a").id == "a"  # the only one: what it is said to be for is no bar


@pytest.mark.parametrize(
    ("algorithm", "key", "problem"),
    [
        ("RS256", rsa_key("small", 1024), "The key has 1024 bits, and needs 2048"),
        ("HS512", SECRET, "The key has 256 bits, and needs 512"),
        ("ES256", ec_key("P-384"), "ES256 is not for a key of 'P-384'"),
    ],
)
def test_a_key_that_is_too_weak_or_of_another_curve(
    algorithm: str, key: object, problem: str
) -> None:
    with pytest.raises(InvalidTokenError, match=problem):
        check(algorithm, jwks(jwk(key, kid="one")), b"x")


def test_keys_that_cannot_be_read_are_left_out() -> None:
    broken = [
        {"kty": "WHAT"},
        {},
        {"kty": "RSA", "n": "!", "e": "AQAB"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AQ"},
        {"kty": "EC", "crv": "P-1"},
        {"kty": "OKP", "crv": "X25519", "x": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
    ]
    assert [each.id for each in JsonWebKeys.parse(jwks(*broken, jwk(RSA, kid=1))).keys] == [1]
    assert JsonWebKeys.parse('{"keys": [7, null]}').keys == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "no JSON"), ("[]", 'no list "keys"'), ('{"keys": {}}', 'no list "keys"')],
)
def test_a_text_that_is_no_set(text: str, problem: str) -> None:
    with pytest.raises(JwksError, match=problem):
        JsonWebKeys.parse(text)


def test_a_key_prints_without_itself() -> None:
    (key,) = JsonWebKeys.parse(jwks(jwk(SECRET, kid="one"))).keys
    assert repr(key) == "JsonWebKey(oct, 'one')"
