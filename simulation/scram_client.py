"""The client's half of SCRAM, by the book (RFC 5802), for simulations and tests of the server."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import cache

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


@cache
def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """`SaltedPassword` of RFC 5802, which is costly on purpose: once for all tests."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


class ScramClient:
    """Proves that it knows a password; `first`, `last`, and then `is_server` of what came."""

    def __init__(
        self, mechanism: str, user: str, password: str, nonce: str = "fyko+d2lbbFgON"
    ) -> None:
        self._mechanism = mechanism
        self._hash = HASHES[mechanism]
        self._password = password
        self._bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._message = b""
        self._salted = b""

    def first(self, authzid: str = "", extensions: str = "") -> bytes:
        self._bare += extensions
        return f"n,{authzid},{self._bare}".encode()

    def last(self, answer: bytes) -> bytes:
        nonce, salt, iterations = (part[2:] for part in answer.decode().split(","))
        self._salted = salted_password(
            self._mechanism, self._password, base64.b64decode(salt), int(iterations)
        )
        unproved = f"c=biws,r={nonce}"
        self._message = f"{self._bare},{answer.decode()},{unproved}".encode()
        key = self._hmac(self._salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._hash, key).digest(), self._message)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{unproved},p={base64.b64encode(proof).decode()}".encode()

    def is_server(self, answer: bytes) -> bool:
        signature = self._hmac(self._hmac(self._salted, b"Server Key"), self._message)
        return answer == b"v=" + base64.b64encode(signature)

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash)
