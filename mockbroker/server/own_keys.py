"""A key with which the broker signs tokens for a test, as the keys of an identity provider.

`token_keys` makes one for each listener whose `sasl.oauthbearer.jwks.endpoint.url` is `auto`, and
`security.own_tokens` has it sign. Needs `cryptography` (the extra `tls`).
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from json import dumps
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY_ID: Final = "mockbroker"
_ALGORITHM: Final = "ES256"
_HALF_BYTES: Final = 32


class OwnKeys:
    """One key of the curve P-256, which no file has. It prints without itself."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        place = self._key.public_key().public_numbers()
        x, y = (_in_base64(_half(each)) for each in (place.x, place.y))
        public = {"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": _KEY_ID, "alg": _ALGORITHM}
        self._text = dumps({"keys": [public]})

    def text(self) -> str:
        """The set of keys that checks what it signs."""
        return self._text

    def missing(self) -> None:
        """A token names another key: there is none."""

    def header(self) -> Mapping[str, object]:
        """What a token says of the key that signed it."""
        return {"alg": _ALGORITHM, "kid": _KEY_ID, "typ": "JWT"}

    def sign(self, data: bytes) -> bytes:
        """The signature of what a token says."""
        pair = decode_dss_signature(self._key.sign(data, ec.ECDSA(hashes.SHA256())))
        return b"".join(map(_half, pair))


def _half(number: int) -> bytes:
    return number.to_bytes(_HALF_BYTES, "big")


def _in_base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
