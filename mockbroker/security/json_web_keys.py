"""The keys of an identity provider, and which of them checks a token (RFC 7517, 7518, 8037).

`signed_jws` asks. What is chosen and refused follows jose4j as Apache Kafka has it
(VerificationJwkSelector, AlgorithmConstraints.DISALLOW_NONE): the algorithm that a token names has
to fit the type of the key, so a public key never serves as a secret. Signatures are checked by
`cryptography`, of the extra `tls`, which is imported when the first key is read.

Invariant: a key that cannot be used is not among those of its set.
"""

from __future__ import annotations

import hmac
from json import loads
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.security.bearer_token import InvalidTokenError, MissingKeyError, decoded, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.hashes import HashAlgorithm

    Key = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey | bytes

_TYPES: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "HS": "oct"}
_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
ALGORITHMS: Final = (
    *(f"{kind}{bits}" for kind in _TYPES for bits in (256, 384, 512)),
    "EdDSA",
)
"""What may sign a token: all but `none`."""
_LEAST_RSA_BITS: Final = 2048
_BITS_IN_A_BYTE: Final = 8


class JwksError(ValueError):
    """A text that is no set of keys."""


class JsonWebKey:
    """One key and what it is for. It prints without itself: it may be a secret."""

    __slots__ = ("algorithm", "curve", "id", "key", "kind", "operations", "use")

    def __init__(self, members: Mapping[str, object]) -> None:
        """Raises ValueError for one that cannot be used."""
        self.kind = _text(members, "kty")
        self.id = members.get("kid")
        self.use = members.get("use")
        self.algorithm = members.get("alg")
        self.operations = members.get("key_ops")
        self.curve = members.get("crv")
        self.key: Key = _READERS[self.kind](members)

    def __repr__(self) -> str:
        return f"JsonWebKey({self.kind}, {self.id!r})"

    def is_for(self, kind: str, key_id: str | None) -> bool:
        """Whether it may check a signature of that kind, by a key of that id (None: any)."""
        operations = self.operations
        return (
            self.kind == kind
            and key_id in (None, self.id)
            and self.use in (None, "sig")
            and (operations is None or (isinstance(operations, list) and "verify" in operations))
        )


class JsonWebKeys(NamedTuple):
    """A set of them, in its order."""

    keys: Sequence[JsonWebKey]

    @classmethod
    def parse(cls, text: str) -> JsonWebKeys:
        """The set that a JSON text is; keys that are of no use are left out. Raises JwksError."""
        try:
            members = loads(text)
        except (ValueError, RecursionError):
            raise JwksError("it is no JSON") from None
        listed = members.get("keys") if isinstance(members, dict) else None
        if not isinstance(listed, list):
            raise JwksError('it has no list "keys"')
        found = []
        for each in listed:
            try:
                found.append(JsonWebKey(each if isinstance(each, dict) else {}))
            except (KeyError, ValueError, InvalidTokenError):
                continue  # jose4j: JsonWebKeySet leaves out what it cannot read
        return cls(found)

    def find(self, algorithm: str, key_id: str | None) -> JsonWebKey:
        """The key that checks a signature by that algorithm. Raises InvalidTokenError."""
        kind = "OKP" if algorithm == "EdDSA" else _TYPES[algorithm[:2]]
        found = [each for each in self.keys if each.is_for(kind, key_id)]
        if len(found) > 1:
            found = [each for each in found if each.algorithm in (None, algorithm)]
        curve = _CURVES.get(algorithm)
        if len(found) > 1 and curve is not None:
            found = [each for each in found if each.curve == curve]
        if not found:
            named = "" if key_id is None else f" of the id {quoted(key_id)}"
            raise MissingKeyError(f"There is no key{named} for {algorithm}")
        return found[0]


def check_signature(algorithm: str, found: JsonWebKey, signed: bytes, signature: bytes) -> None:
    """See that the key made the signature. Raises InvalidTokenError."""
    if not _is_valid(algorithm, found, signed, signature):
        raise InvalidTokenError(f"The signature is not one of the key, by {algorithm}")


def _is_valid(algorithm: str, found: JsonWebKey, signed: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    key = found.key
    try:
        if isinstance(key, bytes):
            return _is_mac(algorithm, key, signed, signature)
        if isinstance(key, rsa.RSAPublicKey):
            _require_bits(key.key_size, _LEAST_RSA_BITS)
            made = _hash(algorithm)
            salted = padding.PSS(padding.MGF1(made), padding.PSS.DIGEST_LENGTH)
            scheme = salted if algorithm.startswith("PS") else padding.PKCS1v15()
            key.verify(signature, signed, scheme, made)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            if found.curve != _CURVES[algorithm]:
                raise InvalidTokenError(f"{algorithm} is not for a key of {quoted(found.curve)}")
            half = (key.key_size + _BITS_IN_A_BYTE - 1) // _BITS_IN_A_BYTE
            if len(signature) != 2 * half:
                return False
            first, second = signature[:half], signature[half:]
            pair = int.from_bytes(first, "big"), int.from_bytes(second, "big")
            key.verify(encode_dss_signature(*pair), signed, ec.ECDSA(_hash(algorithm)))
        else:
            key.verify(signature, signed)
    except InvalidSignature:
        return False
    return True


def _is_mac(algorithm: str, key: bytes, signed: bytes, signature: bytes) -> bool:
    bits = int(algorithm[2:])
    _require_bits(len(key) * _BITS_IN_A_BYTE, bits)
    return hmac.compare_digest(hmac.digest(key, signed, f"sha{bits}"), signature)


def _require_bits(bits: int, least: int) -> None:
    if bits < least:
        raise InvalidTokenError(f"The key has {bits} bits, and needs {least}")


def _hash(algorithm: str) -> HashAlgorithm:
    from cryptography.hazmat.primitives import hashes

    made = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
    return made[algorithm[2:]]


def _text(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    if isinstance(value, str):
        return value
    raise ValueError(name)


def _number(members: Mapping[str, object], name: str) -> int:
    return int.from_bytes(decoded(_text(members, name)), "big")


def _rsa(members: Mapping[str, object]) -> Key:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

    return RSAPublicNumbers(_number(members, "e"), _number(members, "n")).public_key()


def _ec(members: Mapping[str, object]) -> Key:
    from cryptography.hazmat.primitives.asymmetric import ec

    curves = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
    curve = curves[_text(members, "crv")]
    place = _number(members, "x"), _number(members, "y")
    return ec.EllipticCurvePublicNumbers(*place, curve).public_key()


def _okp(members: Mapping[str, object]) -> Key:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if _text(members, "crv") != "Ed25519":
        raise ValueError("crv")
    return Ed25519PublicKey.from_public_bytes(decoded(_text(members, "x")))


def _oct(members: Mapping[str, object]) -> Key:
    return decoded(_text(members, "k"))


_READERS: Final = {"RSA": _rsa, "EC": _ec, "OKP": _okp, "oct": _oct}
